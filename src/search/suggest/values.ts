/** Suggests whole values of fields that contain the typed text. */
import { AppError } from '../../platform/errors.ts'
import type { Deadline } from '../../platform/limits/deadline.ts'
import type { Queryable } from '../../platform/postgres/db.ts'
import { fold, token, words } from '../document/analyze.ts'
import { foldedText, marked } from '../document/marks.ts'
import { type Place, readTexts } from '../highlight/store.ts'
import { fieldsOf, type SearchField } from '../plan/fields.ts'
import type { Clause, SearchPlan } from '../plan/plan.ts'
import { resolveName } from '../request/names.ts'
import type { SearchRequest } from '../schema.ts'
import { counting, type SuggestContext, searchFor, textElement, typedSpan } from './context.ts'
import { searchVariants } from './patterns.ts'
import type { SuggestedValue, SuggestRequest } from './schema.ts'
import { isLongEnough, piecesOf } from './typed.ts'

/** The number of objects whose values are read: some at first, all if too few values were found. */
const lookedAt = 200
const firstLooked = 48
/** Characters. People do not type values that are longer. */
const longestValue = 1000

export interface ValueContext extends SuggestContext {
  readonly languages: readonly string[]
  readonly q: (deadline: Deadline) => Queryable
}

/** A field, and its languages that count; null: it has none, or all count. */
interface Asked {
  readonly name: string
  readonly field: SearchField
  readonly languages: readonly string[] | null
}

export async function suggestValues(context: ValueContext): Promise<SuggestedValue[]> {
  const asked = askedFields(context.request, context)
  if (asked.length === 0) return []
  return (await context.time.within(() => valuesOf(asked, context))) ?? []
}

function askedFields({ fields = [], languages }: SuggestRequest, { model }: ValueContext): Asked[] {
  return fields.flatMap((name): Asked[] => {
    const named = resolveName(fieldsOf(model), name)
    if (named.kind !== 'field') return []
    const only = named.language === null ? (languages ?? []) : [named.language]
    return [{ name: named.field.name, field: named.field, languages: only.length === 0 ? null : only }]
  })
}

async function valuesOf(asked: readonly Asked[], context: ValueContext): Promise<SuggestedValue[]> {
  const { engine, time, limit } = context
  const found = await matching(asked, context)
  if (found === null) return []
  const holders = new Map<string, number[]>()
  const look = async (ids: readonly number[]): Promise<void> => {
    for (const { id, field, text } of await textsOf({ ...found, ids }, asked, context)) {
      if (text.length > longestValue || !fits(text, field.kind, context.request)) continue
      const known = holders.get(text) ?? []
      holders.set(text, known)
      if (known.at(-1) !== id) known.push(id)
    }
  }
  await look(found.ids.slice(0, firstLooked))
  const isLookedThrough = holders.size < limit || found.ids.length <= firstLooked
  if (isLookedThrough && found.ids.length > firstLooked) await look(found.ids.slice(firstLooked))
  const { query = '' } = context.request
  const partial = context.request.tokens_dont_split_query ? token(query) : (words(query).at(-1) ?? '')
  const chosen = [...holders.keys()].sort(byFit(partial)).slice(0, limit)
  if (chosen.length === 0) return []
  const has = (value: string): Clause => ({
    is: 'or',
    of: asked.map(({ field, languages }) => ({ is: 'value', field, languages, values: [value], below: false })),
  })
  const countAll = async () => {
    const { plan } = await context.compile(searchFor(context.request, []))
    return engine.countEach(counting(plan), chosen.map(has), time.deadline)
  }
  const counts =
    isLookedThrough && isWhole(found, asked, context.request)
      ? chosen.map((value) => (holders.get(value) ?? []).length)
      : await countAll()
  return chosen.flatMap((value, index) => {
    const span = typedSpan(foldedText(value), partial)
    const count = counts[index] ?? 0
    // The value was changed meanwhile.
    if (count === 0) return []
    const _system_object_id = (holders.get(value) ?? []).toSorted((one, other) => one - other).slice(0, limit)
    return [{ field: value, suggest: marked(value, span ? [span] : [], 'b'), count, _system_object_id }]
  })
}

/**
 * Whether the search found all objects with each of its values: it was the widest one and not cut, and finds every text that fits.
 * Parts of the query of several words are searched next to each other, but fit in any order.
 */
function isWhole({ whole: isAll, isWidest }: Matching, asked: readonly Asked[], request: SuggestRequest): boolean {
  const { query = '', tokens_mode: mode = '', tokens_dont_split_query: whole = false } = request
  if (!isWidest || !isAll || asked.some(({ field }) => field.kind === 'string')) return false
  if (words(query).length === 1) return true
  return mode !== 'exact' && !whole && piecesOf(request).every((piece) => words(piece).length === 1)
}

/** The texts of the fields, by object, as far as the caller sees them. */
async function textsOf({ plan, ids }: Matching, asked: readonly Asked[], { engine, time, languages, q }: ValueContext) {
  const places = new Map<string, Place>()
  for (const { name, field, languages: only } of asked) {
    for (const language of field.kind === 'l10n' ? (only ?? languages) : [null])
      places.set(`${name} ${language}`, { field, language })
  }
  const all = [...places.values()]
  const fields = [...new Set(all.map(({ field }) => field))]
  const [texts, shown] = await Promise.all([
    readTexts(q(time.deadline), ids, all),
    // Objects are found by the only field where the caller sees it.
    fields.length === 1 ? null : engine.shows(plan, ids, fields, time.deadline),
  ])
  return texts.flatMap(({ id, place, text }) => {
    const { field } = all[place] as Place
    return shown === null || shown.get(field)?.has(id) ? [{ id, field, text }] : []
  })
}

interface Matching {
  readonly plan: SearchPlan
  readonly ids: readonly number[]
  /** Whether these are all objects that it found. */
  readonly whole: boolean
  /** Whether the widest of the searches for the text was possible. */
  readonly isWidest: boolean
}

/** Objects with the typed text in a field; null: there is nothing to search for. */
async function matching(
  asked: readonly Asked[],
  { request, engine, time, compile }: ValueContext,
): Promise<Matching | null> {
  for (const [index, looked] of searchVariants(request).entries()) {
    const search = looked.map(({ string, mode, phrase }) => elementOf(asked, { string, mode, phrase }, request))
    try {
      const { plan } = await compile({ ...searchFor(request, search), limit: lookedAt } as SearchRequest)
      const { ids, whole } = await engine.some(plan, time.deadline)
      return { plan, ids, whole, isWidest: index === 0 }
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'WildcardExpandedToTooManyTerms') throw error
    }
  }
  return null
}

/** `string` columns have no words: their values are found by their beginnings. */
function elementOf(
  asked: readonly Asked[],
  { string, mode, phrase }: { string: string; mode: 'token' | 'wildcard'; phrase: true | undefined },
  request: SuggestRequest,
): object {
  const names = (isString: boolean): string[] =>
    asked.filter(({ field }) => (field.kind === 'string') === isString).map(({ name }) => name)
  const [texts, strings] = [names(false), names(true)]
  const inTexts = { ...textElement(string, texts, request, mode), ...(phrase ? { phrase } : {}) }
  const typed = (request.query ?? '').trim()
  const whole = request.tokens_mode === 'exact' ? typed : `${typed.replace(/[\\*?]/g, '\\$&')}*`
  const inStrings = textElement(whole, strings, request, request.tokens_mode === 'exact' ? 'token' : 'wildcard')
  const ways = [...(texts.length > 0 ? [inTexts] : []), ...(strings.length > 0 ? [inStrings] : [])]
  return { type: 'complex', search: ways.map((way) => ({ ...way, bool: 'should' })) }
}

/** Whether a value itself contains all typed words. The search may have found another value of the same object. */
function fits(value: string, kind: SearchField['kind'], request: SuggestRequest): boolean {
  const { query = '', tokens_mode: mode = '', tokens_dont_split_query: whole = false } = request
  if (kind === 'string') return mode === 'exact' ? token(value) === token(query) : token(value).startsWith(token(query))
  const [own, typed] = [words(value), words(query)]
  if (whole && typed.length > 1) {
    const [text, sought] = [own, typed].map((list) => ` ${list.join(' ')}`) as [string, string]
    return mode === 'exact' ? `${text} `.includes(`${sought} `) : text.includes(sought)
  }
  const last = typed.at(-1) ?? ''
  const isWithin = mode !== 'edgengram' && isLongEnough(last)
  const hasLast = own.some((word) =>
    mode === 'exact' ? word === last : isWithin ? word.includes(last) : word.startsWith(last),
  )
  return hasLast && typed.slice(0, -1).every((word) => own.includes(word))
}

/** Values that begin with the text first, then shorter ones. */
function byFit(partial: string): (one: string, other: string) => number {
  const begins = (value: string): number => (fold(value).startsWith(partial) ? 0 : 1)
  return (one, other) => begins(one) - begins(other) || one.length - other.length || (one < other ? -1 : 1)
}
