/** Values of hits that a request asks for beside them (`fields`), as far as the caller sees them. */
import type { Localized } from '../datamodel/model.ts'
import type { ShownObject } from '../objects/service.ts'
import type { Actor } from '../platform/actor.ts'
import { AppError } from '../platform/errors.ts'
import type { Deadline } from '../platform/limits/deadline.ts'
import type { Queryable } from '../platform/postgres/db.ts'
import { customLabel } from './document/values.ts'
import type { SearchField } from './plan/fields.ts'
import type { SearchEngine, SearchPlan } from './plan/plan.ts'
import type { FieldRequest } from './request/fields.ts'

export type CollectedFields = Readonly<Record<string, readonly unknown[]>>

interface CollectContext {
  readonly engine: SearchEngine
  readonly q: Queryable
  readonly deadline: Deadline
  readonly actor: Actor
  readonly plan: SearchPlan
  /** Database languages, those that the request asks for first. */
  readonly languages: readonly string[]
  readonly databaseName: string
  readonly withAncestors: (
    actor: Actor,
    systemObjectIds: readonly number[],
  ) => Promise<ReadonlyMap<number, ShownObject>>
}

/** Characters of all values together. */
const longestAnswer = 4_000_000

export async function collectFields(
  requests: readonly FieldRequest[],
  ids: readonly number[],
  context: CollectContext,
): Promise<ReadonlyMap<number, CollectedFields>> {
  if (requests.length === 0 || ids.length === 0) return new Map()
  const columns = [...new Set(requests.flatMap(({ field }) => field ?? []))]
  const [stored, visible] = await Promise.all([readStored(columns, ids, context), whoShows(columns, ids, context)])
  const valuesOf = (field: SearchField, id: number): readonly unknown[] =>
    visible.get(field)?.has(id) ? (stored.get(id)?.values[columns.indexOf(field)] ?? []) : []
  const objects = await context.withAncestors(context.actor, objectsIn(requests, ids, valuesOf))
  return new Map(
    ids.map((id) => [
      id,
      Object.fromEntries(
        requests.map((request) => {
          const { field, part } = request
          const values = field === null ? [id] : valuesOf(field, id)
          return [
            request.key,
            part === null
              ? storedValues(request, values, context)
              : values.flatMap((each) =>
                  ofObject(each as number, request, stored.get(id)?.uuid ?? null, objects, context),
                ),
          ]
        }),
      ),
    ]),
  )
}

/** Objects of which something is shown that they do not have by themselves. */
function objectsIn(
  requests: readonly FieldRequest[],
  ids: readonly number[],
  valuesOf: (field: SearchField, id: number) => readonly unknown[],
): readonly number[] {
  const wanted = requests.filter(
    ({ part, withPath }) => part !== null && (withPath || !['id', 'globalId', 'uuid'].includes(part)),
  )
  const found = wanted.flatMap(({ field }) =>
    field === null ? ids : ids.flatMap((id) => valuesOf(field, id) as readonly number[]),
  )
  return [...new Set(found)]
}

interface Stored {
  readonly uuid: string
  /** By column. */
  readonly values: readonly (readonly unknown[])[]
}

async function readStored(
  columns: readonly SearchField[],
  ids: readonly number[],
  { q }: CollectContext,
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

/** Where the values of a column stand in a content, in the order of the rows. */
function pathOf({ path, column }: SearchField): string {
  return `$.${[...path.map(({ key }) => `${JSON.stringify(key)}[*]`), JSON.stringify(column.key)].join('.')}`
}

/** The objects whose values of a column the caller sees. */
async function whoShows(
  columns: readonly SearchField[],
  ids: readonly number[],
  { engine, plan, deadline }: CollectContext,
): Promise<ReadonlyMap<SearchField, ReadonlySet<number>>> {
  const all = new Set(ids)
  const shown = columns.map(async (field): Promise<[SearchField, ReadonlySet<number>]> => {
    const visibility = plan.fieldVisibility.column(field)
    if (typeof visibility === 'string') return [field, visibility === 'always' ? all : new Set()]
    const filled = { is: 'not', of: { is: 'empty', field } } as const
    const hits = await engine.page(
      {
        ...plan,
        scope: { ...plan.scope, where: { is: 'and', of: [{ is: 'id', ids }, filled] } },
        score: [],
        sort: [{ field: { by: 'id' }, descending: false }],
        after: null,
        offset: 0,
        limit: ids.length,
        aggregations: [],
      },
      deadline,
    )
    return [field, new Set(hits.map(({ id }) => id))]
  })
  return new Map(await Promise.all(shown))
}

function storedValues(request: FieldRequest, values: readonly unknown[], context: CollectContext): readonly unknown[] {
  const shown = values.flatMap((value) => storedValue(request, value, context))
  return request.withPath ? shown.map((value) => [value]) : shown
}

function storedValue({ field, end, language }: FieldRequest, value: unknown, { languages }: CollectContext): unknown[] {
  if (field?.kind === 'l10n') return inLanguage(value as Localized, language, languages)
  if (field?.kind === 'custom') return [customLabel(value) ?? []].flat()
  if (field?.kind !== 'date') return [value]
  const { value: whole, ...range } = value as { value?: string; from?: string; to?: string }
  if (whole !== undefined) return [whole]
  if (end !== null) return [range[end] ?? []].flat()
  return [`${range.from ?? '..'}/${range.to ?? '..'}`]
}

function inLanguage(text: Localized, language: string | null, languages: readonly string[]): string[] {
  if (language !== null) return text[language] === undefined ? [] : [text[language]]
  const first = languages.find((each) => text[each] !== undefined)
  return first === undefined ? Object.values(text).slice(0, 1) : [text[first] as string]
}

/** What is asked of an object, or of it and all above it. */
function ofObject(
  id: number,
  request: FieldRequest,
  uuid: string | null,
  objects: ReadonlyMap<number, ShownObject>,
  context: CollectContext,
): unknown[] {
  const show = (each: number): unknown[] => partOf(each, request, uuid, objects.get(each), context)
  if (!request.withPath) return show(id)
  // Where an object stands only its readers know.
  return [pathTo(objects, id).flatMap(show)]
}

function pathTo(objects: ReadonlyMap<number, ShownObject>, id: number): readonly number[] {
  const path: number[] = []
  for (let at: number | undefined = id; at !== undefined && !path.includes(at); ) {
    path.unshift(at)
    const object: ShownObject | undefined = objects.get(at)
    at = object?.readable ? object.parents[0] : undefined
  }
  return path
}

function partOf(
  id: number,
  { part, objecttype, language }: FieldRequest,
  uuid: string | null,
  object: ShownObject | undefined,
  { plan, languages, databaseName }: CollectContext,
): unknown[] {
  if (part === 'id') return [id]
  if (part === 'globalId') return [`${id}@${databaseName}`]
  if (part === 'uuid') return uuid === null ? [] : [uuid]
  if (!object?.readable) return []
  if (part === 'title') return inLanguage(object.text, language, languages)
  if (part === 'objecttype') return [object.objecttype]
  const type = objecttype === null ? null : plan.model.tablesById.get(objecttype)?.name
  return type === null || type === object.objecttype ? [object.ownId] : []
}
