/** Searches in records: pools, collections, groups, users and the like, each with the fields and rights that kinds.ts declares. */
import { formatNames } from '../../objects/service.ts'
import type { Actor } from '../../platform/actor.ts'
import { badRequest } from '../../platform/errors.ts'
import { type JsonAnswer, JsonWriter, writeJson } from '../../platform/http/json-answer.ts'
import type { Deadline } from '../../platform/limits/deadline.ts'
import type { RequestLimiter } from '../../platform/limits/request-limiter.ts'
import type { Db, Queryable } from '../../platform/postgres/db.ts'
import { createYielder } from '../../platform/process/cooperative-yield.ts'
import { Parameters } from '../postgres/query/sql/sql.ts'
import { pageOf } from '../request/compile.ts'
import { costOf, isHeavy } from '../request/cost.ts'
import { ignoredNames, notKnown, saysSomething } from '../request/known.ts'
import { timeZoneOf } from '../request/moments.ts'
import { choice, type Fields, optional, stringsAt } from '../request/read.ts'
import type { SearchRequest, SearchResponse } from '../schema.ts'
import { elementsCondition } from './elements.ts'
import { type Facet, facetAnswers, facetsOf } from './facets.ts'
import { domains } from './kinds.ts'
import { type Bind, type DomainName, domainNames, type RecordKeepers, type RecordKind } from './model.ts'
import { orderOf } from './order.ts'
import { sourcesOf } from './source.ts'
import {
  countStatement,
  firstStatement,
  type Matching,
  pageStatement,
  type RecordPlan,
  wholeStatement,
} from './statements.ts'

export interface RecordSearchDeps {
  readonly db: Db
  readonly heavyRequests: RequestLimiter
  /** Database languages, first one first. */
  readonly languages: () => readonly string[]
  readonly keepers: RecordKeepers
  readonly clock: () => Date
}

interface RecordHit {
  readonly basetype: string
  readonly id: number
}

export type RecordSearch = ReturnType<typeof createRecordSearch>

interface Plan extends RecordPlan {
  /** Whether the condition looks at the texts of records, which takes the most time. */
  readonly readsTexts: boolean
  /** Whether the order is that of the ids, which an index has. */
  readonly byId: boolean
  /** Whether there may be millions of records. */
  readonly large: boolean
  readonly facets: readonly Facet[]
  readonly language: string
  readonly format: string
}

interface Counted {
  readonly count: number
  readonly aggregations: Record<string, unknown>
}

interface Found extends Counted {
  readonly hits: readonly RecordHit[]
}

interface Answered extends Counted {
  readonly objects: unknown[]
}

/** The number of records that are looked at before all matching ones are put in order. */
const firstRecords = 2000

export function createRecordSearch({ db, heavyRequests, languages, keepers, clock: now }: RecordSearchDeps) {
  async function compile(actor: Actor, request: Fields, kinds: readonly RecordKind[]): Promise<Plan> {
    const parameters = new Parameters()
    const bind: Bind = (value) => parameters.add(value)
    const sources = await sourcesOf(kinds, actor, keepers, bind)
    assertForRecords(request, kinds)
    const clock = { now: now(), zone: timeZoneOf(optional(request, 'timezone', 'string', 'body')) }
    const asked = request.languages ? stringsAt(request.languages, 'languages', 100) : []
    const first = asked.filter((language) => languages().includes(language))
    const preferred = [...first, ...languages().filter((language) => !first.includes(language))]
    const together = sources.length > 1
    let readsTexts = false
    const onTexts = (): void => {
      readsTexts = true
    }
    const conditions = sources.map((source) =>
      elementsCondition(request.search, 'search', { source, bind, clock, depth: 0, onTexts }),
    )
    const matching = sources.map((source, index): Matching => {
      const context = { source, bind, together, languages: preferred }
      return {
        basetype: source.basetype,
        id: source.id,
        table: source.table,
        condition: `${source.readable} and ${conditions[index]}`,
        sql: `from ${source.table} t where ${source.readable} and ${conditions[index]}`,
        order: orderOf(request.sort, context),
        facets: facetsOf(request.aggregations, context),
      }
    })
    const [one, ...others] = matching as [Matching, ...Matching[]]
    return {
      kinds: [one, ...others],
      parameters,
      readsTexts,
      byId: one.order.every(({ value }) => value === one.id),
      large: sources.some(({ large }) => large),
      facets: one.facets,
      ...pageOf(request, false),
      language: preferred[0] ?? '',
      format: choice(optional(request, 'format', 'string', 'body') || 'standard', formatNames, 'format'),
    }
  }

  /** The number of records, the facets and the rendered page. */
  async function answer(actor: Actor, plan: Plan, deadline: Deadline): Promise<Answered> {
    const q = db.within(deadline)
    const whole = async (): Promise<Answered> => {
      const { hits, ...counted } = await findAtOnce(q, plan)
      return { ...counted, objects: await render(actor, hits) }
    }
    const { readsTexts, byId, facets } = plan
    if (readsTexts || (facets.length > 0 && !byId)) return whole()
    // The page is known long before all records are counted, so it is rendered meanwhile.
    const [counted, page] = await Promise.all([
      facets.length > 0 ? findAtOnce(q, plan, { withPage: false }) : countOf(q, plan),
      pageOfHits(q, plan).then(async (hits) => ({ length: hits.length, objects: await render(actor, hits) })),
    ])
    const { count, aggregations } = counted
    const wanted = Math.max(0, Math.min(plan.limit, count - plan.offset))
    return page.length < wanted && plan.large ? whole() : { count, aggregations, objects: page.objects }
  }

  async function countOf(q: Queryable, plan: Plan): Promise<Counted> {
    const { rows } = await q.query<{ count: number }>(...countStatement(plan))
    return { count: rows[0]?.count ?? 0, aggregations: {} }
  }

  /** By itself, as an index may have the order. Of very many records it may be short. */
  async function pageOfHits(q: Queryable, plan: Plan): Promise<readonly RecordHit[]> {
    const { large, byId, offset, limit } = plan
    if (limit === 0) return []
    const most = Math.max(firstRecords, 4 * (offset + limit))
    return (await q.query<RecordHit>(...(large && byId ? firstStatement(plan, most) : pageStatement(plan)))).rows
  }

  async function findAtOnce(q: Queryable, plan: Plan, { withPage = plan.limit > 0 } = {}): Promise<Found> {
    const { rows } = await q.query<{ count: number; page?: [string, number][] }>(...wholeStatement(plan, { withPage }))
    const [row] = rows
    return {
      count: row?.count ?? 0,
      hits: (row?.page ?? []).map(([basetype, id]) => ({ basetype, id })),
      aggregations: facetAnswers(plan.facets, row ?? {}),
    }
  }

  /** The records in the order of the hits. A record that was deleted meanwhile is missing. */
  async function render(actor: Actor, hits: readonly RecordHit[]): Promise<unknown[]> {
    const kinds = [...new Set(hits.map(({ basetype }) => basetype))]
    const rendered = new Map(
      await Promise.all(
        kinds.map(async (kind) => {
          const ids = hits.flatMap(({ basetype, id }) => (basetype === kind ? id : []))
          return [kind, await keepers[kind]?.render(actor, ids)] as const
        }),
      ),
    )
    return hits.flatMap(({ basetype, id }) => rendered.get(basetype)?.get(id) ?? [])
  }

  return {
    /** Finds records that the actor may see. The answer is a `SearchResponse` with records instead of objects. */
    async search(
      actor: Actor,
      type: DomainName,
      request: SearchRequest,
      { deadline, strict }: { readonly deadline: Deadline; readonly strict: boolean },
    ): Promise<JsonAnswer & { readonly ignored: readonly string[] }> {
      const kinds = domains[type]
      const fields = request as Fields
      const cost = costOf(fields)
      const ignored = ignoredNames(fields)
      if (strict && ignored[0] !== undefined) throw notKnown(ignored[0])
      const plan = await compile(actor, fields, kinds)
      const run = async () => {
        const { count, aggregations, objects } = await answer(actor, plan, deadline)
        const response: SearchResponse = {
          type,
          objecttypes: [],
          language: plan.language,
          count,
          offset: plan.offset,
          limit: plan.limit,
          format: plan.format,
          merge_linked_objects: 'none',
          merge_max_depth: 0,
          ...(plan.facets.length > 0 ? { aggregations } : {}),
          objects,
        }
        const writer = new JsonWriter()
        await writeJson(
          writer,
          response,
          createYielder(() => deadline.check()),
        )
        return { body: writer.end(), short: 0, ignored }
      }
      const heavy = isHeavy(cost) || cost.patterns > 0 || plan.facets.length > 0
      return heavy ? heavyRequests.run(deadline, run) : run()
    },
  }
}

/** The domain with the name `type`; null: objects. @throws {AppError} for another name */
export function domainOf(type: string | undefined): DomainName | null {
  if (type === undefined || type === '') return null
  const found = domainNames.find((name) => name === type)
  if (found) return found
  const said = type.slice(0, 100)
  throw badRequest(`type: ${said} is no search domain (${domainNames.join(', ')}).`, { name: 'type', type: said })
}

/** Members of a request that apply to objects only. */
const ofObjects = [
  'objecttypes',
  'field',
  'fields',
  'include_fields',
  'exclude_fields',
  'point_in_time',
  'search_after',
  'include_deleted',
  'merge_max_depth',
  'file_url_expire',
  'highlight',
]

/** Kinds of records that carry the rights of the caller (`_generated_rights`) in every answer. */
const withRights: ReadonlySet<string> = new Set(['pool', 'collection', 'user', 'group'])

/** @throws {AppError} with the name of a member that would have no effect. */
function assertForRecords(request: Fields, kinds: readonly RecordKind[]): void {
  const merges = request.merge_linked_objects !== 'none' && saysSomething(request.merge_linked_objects)
  const rights = request.generate_rights === true && !kinds.every(({ basetype }) => withRights.has(basetype))
  const name =
    ofObjects.find((each) => saysSomething(request[each]) && request[each] !== 0) ??
    (rights ? 'generate_rights' : null) ??
    (merges ? 'merge_linked_objects' : request.best_mask_filter === false ? 'best_mask_filter' : null)
  if (name !== null) throw badRequest(`${name} is for objects only.`, { name })
}
