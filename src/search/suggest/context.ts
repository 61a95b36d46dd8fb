/** The context and helpers that all kinds of suggestions share. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Model, Table } from '../../datamodel/model.ts'
import type { Actor } from '../../platform/actor.ts'
import { AppError } from '../../platform/errors.ts'
import { type Deadline, shorter } from '../../platform/limits/deadline.ts'
import { type foldedText, type Span, spanOf } from '../document/marks.ts'
import { fieldsOf, type SearchField } from '../plan/fields.ts'
import type { SearchEngine, SearchPlan } from '../plan/plan.ts'
import type { CompiledSearch } from '../request/compile.ts'
import { notAllowed } from '../request/names.ts'
import { resolvePath } from '../request/paths.ts'
import type { SearchRequest } from '../schema.ts'
import type { SuggestRequest } from './schema.ts'

export interface SuggestContext {
  readonly actor: Actor
  readonly request: SuggestRequest
  /** The highest number of suggestions of each kind. */
  readonly limit: number
  readonly model: Model
  readonly engine: Pick<SearchEngine, 'search' | 'best' | 'some' | 'shows' | 'terms' | 'counts' | 'countEach'>
  readonly compile: (request: SearchRequest) => Promise<CompiledSearch>
  readonly time: Time
}

/** The time of one request. */
export interface Time {
  readonly deadline: Deadline
  /** Milliseconds that are left. */
  left(): number
  /** Whether something was left out because the time was over. */
  readonly timedOut: boolean
  /** Notes that the time was over for some part. */
  end(): void
  /** Waits for work that goes on when the time is over; null: it was over. */
  wait<T extends object>(work: Promise<T>): Promise<T | null>
  /** null: the time was over. */
  within<T>(work: () => Promise<T>): Promise<T | null>
}

/** `whole`: the deadline of the client's request, after which it fails. */
export function timeOf(whole: Deadline, milliseconds: number, now: () => number): Time {
  const begun = now()
  const deadline = shorter(whole, milliseconds)
  let timedOut = false
  const left = (): number => Math.floor(milliseconds - (now() - begun))
  return {
    deadline,
    left,
    get timedOut() {
      return timedOut
    },
    end() {
      timedOut = true
    },
    async wait(work) {
      const ended = new AbortController()
      const options = { ref: false, signal: ended.signal }
      try {
        const found = await Promise.race([work, sleep(Math.max(0, left()), null, options).catch(() => null)])
        if (found === null) timedOut = true
        return found
      } finally {
        ended.abort()
        work.catch(() => {})
      }
    },
    async within(work) {
      if (left() > 0) {
        try {
          return await work()
        } catch (error) {
          if (!deadline.over || whole.over) throw error
        }
      }
      timedOut = true
      return null
    },
  }
}

/** Names of the fields in which words are searched. */
export const namesOf = ({ fields = [] }: SuggestRequest): readonly string[] =>
  fields.length === 0 ? ['_fulltext'] : [...new Set(fields)]

/** Kinds of fields that have words. */
const textKinds: readonly SearchField['kind'][] = ['text', 'string', 'l10n', 'link', 'custom']
const valueKinds: readonly SearchField['kind'][] = ['text', 'string', 'l10n']

/** @throws {AppError} for fields that have no words, and with `fields_suggest` for those that have no texts of the objects themselves. */
export function assertFields({ fields = [], fields_suggest: values = false }: SuggestRequest, model: Model): void {
  const catalogue = fieldsOf(model)
  for (const name of fields) {
    const { steps, named } = resolvePath(catalogue, name)
    if (named.kind === 'system' && named.name === '_fulltext' && !values) continue
    if (
      named.kind !== 'field' ||
      !(values ? valueKinds : textKinds).includes(named.field.kind) ||
      (values && (named.field.part || steps.length > 0))
    )
      throw notAllowed(name, values ? 'fields_suggest' : 'suggest')
  }
}

/** @throws {AppError} `UnknownObjecttype` */
export function typesOf(names: readonly string[], place: string, model: Model): Table[] {
  return [...new Set(names)].map((name) => {
    const table = model.objecttypes.get(name)
    if (!table) throw new AppError('UnknownObjecttype', { name: place, objecttype: name })
    return table
  })
}

/** A search among the objects from which suggestions are taken. */
export function searchFor(
  { objecttypes, pool_ids: pools = [] }: SuggestRequest,
  search: readonly object[],
): SearchRequest {
  const inPools = pools.length === 0 ? [] : [{ type: 'in', fields: ['_pool'], in: [...pools] }]
  return {
    ...(objecttypes ? { objecttypes } : {}),
    search: [...search, ...inPools],
    sort: [{ field: '_system_object_id' }],
  }
}

/** A text element; the words must be adjacent. */
export function textElement(
  string: string,
  fields: readonly string[],
  { languages }: SuggestRequest,
  mode = 'token',
): object {
  return { type: 'text', mode, string, fields: [...fields], ...(languages ? { languages } : {}) }
}

/** The plan without a page and aggregations: only the count. */
export const counting = (plan: SearchPlan): SearchPlan => ({
  ...plan,
  score: [],
  sort: [{ field: { by: 'id' }, descending: false }],
  after: null,
  offset: 0,
  limit: 0,
  aggregations: [],
})

/** The position of the typed text in a text, at the beginning of a word if there is one. */
export function typedSpan(folded: ReturnType<typeof foldedText>, partial: string): Span | null {
  if (partial === '') return null
  const isWordStart = (at: number): boolean => at === 0 || !/[\p{L}\p{N}\p{M}]/u.test(folded.text[at - 1] as string)
  let first = -1
  for (let at = folded.text.indexOf(partial); at !== -1; at = folded.text.indexOf(partial, at + 1)) {
    if (first === -1) first = at
    if (isWordStart(at)) {
      first = at
      break
    }
  }
  return first === -1 ? null : spanOf(folded, first, partial.length)
}
