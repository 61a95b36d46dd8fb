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
import { countFacets, type Facet, facetsOf } from './facets.ts'
import { domains } from './kinds.ts'
import { type Bind, type DomainName, domainNames, type RecordKeepers, type RecordKind } from './model.ts'
import { orderBy } from './order.ts'
import { type Source, sourceOf } from './source.ts'

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

interface Plan {
  readonly source: Source
  readonly parameters: Parameters
  /** `from … where …` */
  readonly matching: string
  /** Whether the condition looks at the texts of records. */
  readonly readsTexts: boolean
  readonly order: string
  readonly facets: readonly Facet[]
  readonly offset: number
  readonly limit: number
  readonly language: string
  readonly format: string
}

export function createRecordSearch({ db, heavyRequests, languages, keepers, clock: now }: RecordSearchDeps) {
  async function compile(actor: Actor, request: Fields, kinds: readonly RecordKind[]): Promise<Plan> {
    const parameters = new Parameters()
    const bind: Bind = (value) => parameters.add(value)
    const source = await sourceOf(kinds, actor, keepers, bind)
    assertForRecords(request, kinds)
    const clock = { now: now(), zone: timeZoneOf(optional(request, 'timezone', 'string', 'body')) }
    const condition = elementsCondition(request.search, 'search', { source, bind, clock, depth: 0 })
    const asked = request.languages ? stringsAt(request.languages, 'languages', 100) : []
    const first = asked.filter((language) => languages().includes(language))
    const preferred = [...first, ...languages().filter((language) => !first.includes(language))]
    const context = { source, bind, languages: preferred }
    return {
      source,
      parameters,
      matching: `${source.sql} and ${condition}`,
      readsTexts: /\brecord_\w+\(| like /.test(condition),
      order: orderBy(request.sort, context),
      facets: facetsOf(request.aggregations, context),
      ...pageOf(request, false),
      language: preferred[0] ?? '',
      format: choice(optional(request, 'format', 'string', 'body') || 'standard', formatNames, 'format'),
    }
  }

  async function find(plan: Plan, deadline: Deadline) {
    const q = db.within(deadline)
    const [found, aggregations] = await Promise.all([
      plan.readsTexts && plan.limit > 0 ? findAtOnce(q, plan) : findApart(q, plan),
      countFacets(q, plan.facets, plan.matching, plan.parameters),
    ])
    return { ...found, aggregations }
  }

  /** The number and the page, each by itself: an index may have the order of the page. */
  async function findApart(q: Queryable, { source, parameters, matching, order, offset, limit }: Plan) {
    const page = `select ${source.basetype} as basetype, ${source.id} as id ${matching}
       order by ${order} limit ${parameters.add(limit)} offset ${parameters.add(offset)}`
    const [counted, { rows }] = await Promise.all([
      q.query<{ count: number }>(...parameters.statement(`select count(*) as count ${matching}`)),
      limit === 0 ? { rows: [] } : q.query<RecordHit>(...parameters.statement(page)),
    ])
    return { count: counted.rows[0]?.count ?? 0, hits: rows }
  }

  /** Both in one walk, since to look at the texts of each record takes the most time. */
  async function findAtOnce(q: Queryable, plan: Plan) {
    const { source, parameters, matching, order, offset, limit } = plan
    const { rows } = await q.query<RecordHit & { count: number }>(
      ...parameters.statement(`select ${source.basetype} as basetype, ${source.id} as id, count(*) over () as count ${matching}
         order by ${order} limit ${parameters.add(limit)} offset ${parameters.add(offset)}`),
    )
    const [first] = rows
    // Behind the last hit there is no row that says how many there are.
    if (!first && offset > 0) return findApart(q, plan)
    return { count: first?.count ?? 0, hits: rows }
  }

  /** The records in the order of the hits. A record that was deleted meanwhile is missing. */
  async function render(actor: Actor, hits: readonly { basetype: string; id: number }[]): Promise<unknown[]> {
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
        const { count, hits, aggregations } = await find(plan, deadline)
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
          objects: await render(actor, hits),
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
