/** Reads stored values of objects, from columns that the caller sees. */
import type { ShownObject } from '../objects/service.ts'
import type { Actor } from '../platform/actor.ts'
import { AppError } from '../platform/errors.ts'
import type { Deadline } from '../platform/limits/deadline.ts'
import type { Queryable } from '../platform/postgres/db.ts'
import type { SearchField } from './plan/fields.ts'
import type { Clause, SearchEngine, SearchPlan, SearchScope } from './plan/plan.ts'

export interface CollectContext {
  readonly engine: SearchEngine
  readonly q: Queryable
  readonly deadline: Deadline
  readonly actor: Actor
  readonly plan: SearchPlan
  /** Database languages: the languages of the request come first. */
  readonly languages: readonly string[]
  readonly databaseName: string
  readonly withAncestors: (
    actor: Actor,
    systemObjectIds: readonly number[],
  ) => Promise<ReadonlyMap<number, ShownObject>>
}

/** The highest number of characters of all values together. */
const longestAnswer = 4_000_000

interface Stored {
  readonly uuid: string
  /** By column. */
  readonly values: readonly (readonly unknown[])[]
}

export async function readStored(
  columns: readonly SearchField[],
  ids: readonly number[],
  { q }: Pick<CollectContext, 'q'>,
): Promise<ReadonlyMap<number, Stored>> {
  const paths = columns.map((_, index) => `jsonb_path_query_array(v.content, $${index + 3}::jsonpath)`)
  const { rows } = await q.query<{ id: number; uuid: string; values: Stored['values'] | null }>(
    `select id, uuid, case when sum(length(found::text)) over () <= $2 then found end as values from (
       select o.system_object_id as id, o.uuid, jsonb_build_array(${paths.join(', ')}) as found
       from object o join object_version v on v.system_object_id = o.system_object_id and v.version = o.version
       where o.system_object_id = any($1::bigint[])) stored`,
    [ids, longestAnswer, ...columns.map(pathOf)],
  )
  return new Map(
    rows.map(({ id, uuid, values }) => {
      if (values === null) throw new AppError('AnswerTooLarge', { name: 'fields', most: longestAnswer })
      return [id, { uuid, values }]
    }),
  )
}

/** JSON path of the values of a column in a content, in the order of the rows. */
function pathOf({ path, column }: SearchField): string {
  return `$.${[...path.map(({ key }) => `${JSON.stringify(key)}[*]`), JSON.stringify(column.key)].join('.')}`
}

/** The objects whose values of one of the columns the caller sees. */
export async function whoShows(
  columns: readonly SearchField[],
  ids: readonly number[],
  context: CollectContext,
): Promise<ReadonlyMap<SearchField, ReadonlySet<number>>> {
  const all = new Set(ids)
  const shown = columns.map(async (field): Promise<[SearchField, ReadonlySet<number>]> => {
    const visibility = context.plan.fieldVisibility.column(field)
    if (typeof visibility === 'string') return [field, visibility === 'always' ? all : new Set()]
    return [field, await among(ids, { is: 'not', of: { is: 'empty', field } }, context)]
  })
  return new Map(await Promise.all(shown))
}

/** The objects that fulfil a condition and that the caller may read. */
export async function among(
  ids: readonly number[],
  where: Clause,
  { engine, plan, deadline }: CollectContext,
  scope: Partial<SearchScope> = {},
): Promise<ReadonlySet<number>> {
  if (ids.length === 0) return new Set()
  const hits = await engine.page(
    {
      ...plan,
      scope: { ...plan.scope, objecttypes: null, ...scope, where: { is: 'and', of: [{ is: 'id', ids }, where] } },
      score: [],
      sort: [{ field: { by: 'id' }, descending: false }],
      after: null,
      offset: 0,
      limit: ids.length,
      aggregations: [],
    },
    deadline,
  )
  return new Set(hits.map(({ id }) => id))
}
