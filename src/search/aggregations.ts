/** Counts of an engine to the answers of `aggregations`: sorted, cut, and named as the caller may see it. */
import type { Localized, Model } from '../datamodel/model.ts'
import type { Actor } from '../platform/actor.ts'
import type { Db } from '../platform/db.ts'
import type { FacetCounts, SearchOutcome } from './plan.ts'
import type { AggregationRequest } from './request/aggregations.ts'

export interface AggregationDeps {
  readonly db: Db
  readonly databaseName: string
  /** Which of the objects the actor may read. */
  readonly readable: (actor: Actor, systemObjectIds: readonly number[]) => Promise<ReadonlySet<number>>
  /** A pool by its id: its name, and the ids from the root down to it. */
  readonly poolOf: (id: number) => { readonly name: Localized; readonly path: readonly number[] } | undefined
  readonly tagName: (id: number) => Localized | undefined
}

interface Context {
  readonly deps: AggregationDeps
  readonly actor: Actor
  readonly model: Model
  /** Database languages, those that the request asks for first. */
  readonly languages: readonly string[]
}

export async function answerAggregations(
  context: Context,
  requests: readonly AggregationRequest[],
  outcome: SearchOutcome,
): Promise<Record<string, unknown>> {
  const answers: Record<string, unknown> = {}
  for (const request of requests) answers[request.name] = await answer(context, request, outcome)
  return answers
}

async function answer(context: Context, request: AggregationRequest, outcome: SearchOutcome): Promise<unknown> {
  const { plan, type, field } = request
  if (plan.kind === 'ranges') {
    const counts = outcome.ranges.get(request.name) ?? []
    return { type, field, ranges: request.ranges.map((range, index) => ({ ...range, count: counts[index] ?? 0 })) }
  }
  const counted = outcome.facets.get(request.name) ?? { values: [], counts: [] }
  const { kind } = plan.field
  if (type === 'linked_object' && kind === 'field') return linkedObjects(context, request, counted)
  if (type === 'linked_object') return namedIds(context, request, counted, kind === 'pool' ? 'pool' : 'tag')
  const label = (value: number | string): string =>
    kind === 'objecttype' ? (context.model.tablesById.get(value as number)?.name ?? String(value)) : String(value)
  const { count, entries } = select(context, request, counted, label)
  return { type, field, count, terms: entries.map((entry) => ({ term: entry.label, count: entry.count })) }
}

interface Entry {
  readonly value: number | string
  readonly count: number
  readonly label: string
}

/** Number of values, and those of the requested part in the requested order. */
function select(
  { languages }: Context,
  request: AggregationRequest,
  { values, counts }: FacetCounts,
  labelOf: (value: number | string) => string,
): { count: number; entries: Entry[] } {
  let candidates = values.map((_, index) => index)
  if (request.include) {
    const { include } = request
    candidates = candidates.filter((index) => include(labelOf(values[index] as number | string)))
  }
  const count = candidates.length
  if (request.sort === 'count') candidates = mostOrLeast(candidates, counts, request)
  const entries = candidates.map((index): Entry => {
    const value = values[index] as number | string
    return { value, count: counts[index] as number, label: labelOf(value) }
  })
  const { compare } = new Intl.Collator(request.language ?? languages[0], { numeric: true })
  const direction = request.descending ? -1 : 1
  entries.sort((a, b) => {
    const order = request.sort === 'count' ? a.count - b.count : compare(a.label, b.label)
    return order * direction || compare(a.label, b.label) || (a.value < b.value ? -1 : 1)
  })
  return { count, entries: entries.slice(request.offset, request.offset + request.limit) }
}

/** What can be in the requested part: thousands of values need no names and no exact order. */
function mostOrLeast(
  candidates: readonly number[],
  counts: readonly number[],
  { limit, offset, descending }: AggregationRequest,
): number[] {
  const wanted = limit + offset
  if (candidates.length <= wanted || candidates.length < 200) return [...candidates]
  if (wanted === 0) return []
  const sorted = Int32Array.from(candidates, (index) => counts[index] as number).sort()
  const threshold = (descending ? sorted[sorted.length - wanted] : sorted[wanted - 1]) as number
  return candidates.filter((index) =>
    descending ? (counts[index] as number) >= threshold : (counts[index] as number) <= threshold,
  )
}

interface LinkedRow {
  id: number
  ownId: number
  objecttype: number
  parents: number[]
  text: Localized | null
}

async function linkedObjects(context: Context, request: AggregationRequest, counted: FacetCounts): Promise<unknown> {
  const { deps, actor } = context
  const inParent = request.parent === null ? counted : await below(deps.db, counted, request.parent)
  // Names are only needed for all values when they decide.
  const named = request.sort === 'term' || request.include !== null
  const texts = named ? await textsOf(deps.db, inParent.values as readonly number[]) : new Map<number, Localized>()
  const textOf = (text: Localized | null | undefined): string => inLanguage(text, request, context.languages)
  const label = (value: number | string): string => (named ? textOf(texts.get(value as number)) : String(value))
  const { count, entries } = select(context, request, inParent, label)
  const rows = await withAncestors(
    deps.db,
    entries.map((entry) => entry.value as number),
  )
  const readable = actor.isRoot ? null : await deps.readable(actor, [...rows.keys()])
  const show = (id: number): Record<string, unknown> => {
    const row = rows.get(id)
    if (!row) return { _system_object_id: id }
    const objecttype = context.model.tablesById.get(row.objecttype)?.name
    const visible = readable === null || readable.has(id)
    return {
      _objecttype: objecttype,
      _id: row.ownId,
      _system_object_id: id,
      _global_object_id: `${id}@${deps.databaseName}`,
      ...(visible ? { _standard: { '1': { text: row.text ?? {} } } } : {}),
    }
  }
  return {
    type: request.type,
    field: request.field,
    count,
    linked_objects: entries.map((entry) => ({
      _id: rows.get(entry.value as number)?.ownId ?? null,
      _system_object_id: entry.value,
      count: entry.count,
      _path: pathTo(rows, entry.value as number).map(show),
      _linked_object: show(entry.value as number),
    })),
  }
}

function inLanguage(
  text: Localized | null | undefined,
  { language }: AggregationRequest,
  languages: readonly string[],
): string {
  for (const each of language === null ? languages : [language, ...languages]) {
    const found = text?.[each]
    if (found !== undefined) return found
  }
  return Object.values(text ?? {})[0] ?? ''
}

/** Pools and tags: few, and known in memory. */
function namedIds(context: Context, request: AggregationRequest, counted: FacetCounts, kind: 'pool' | 'tag'): unknown {
  const { deps } = context
  const nameOf = (id: number): Localized | undefined => (kind === 'pool' ? deps.poolOf(id)?.name : deps.tagName(id))
  const pathOf = (id: number): readonly number[] => (kind === 'pool' ? (deps.poolOf(id)?.path ?? [id]) : [id])
  const { parent } = request
  const kept = counted.values.flatMap((value, index) =>
    parent === null || (pathOf(value as number).at(-2) ?? 0) === parent ? [index] : [],
  )
  const inParent = {
    values: kept.map((index) => counted.values[index] as number),
    counts: kept.map((index) => counted.counts[index] as number),
  }
  const label = (value: number | string): string => inLanguage(nameOf(value as number), request, context.languages)
  const { count, entries } = select(context, request, inParent, label)
  const show = (id: number): object => ({
    _basetype: kind,
    [kind]: { _id: id, [kind === 'pool' ? 'name' : 'displayname']: nameOf(id) ?? {} },
  })
  return {
    type: request.type,
    field: request.field,
    count,
    linked_objects: entries.map((entry) => ({
      _id: entry.value,
      count: entry.count,
      _path: pathOf(entry.value as number).map(show),
      _linked_object: show(entry.value as number),
    })),
  }
}

/** Those of the values that stand right below an object; 0: at the top. */
async function below(db: Db, { values, counts }: FacetCounts, parent: number): Promise<FacetCounts> {
  const { rows } = await db.query<{ id: number }>(
    `select system_object_id as id from object where system_object_id = any($1::bigint[])
     and ($2::bigint = 0 and parents = '{}' or $2::bigint = any(parents))`,
    [values, parent],
    'search-facet-children',
  )
  const children = new Set<number | string>(rows.map((row) => row.id))
  const kept = values.map((_, index) => index).filter((index) => children.has(values[index] as number))
  return {
    values: kept.map((index) => values[index] as number),
    counts: kept.map((index) => counts[index] as number),
  }
}

async function textsOf(db: Db, ids: readonly number[]): Promise<Map<number, Localized>> {
  const { rows } = await db.query<{ id: number; text: Localized | null }>(
    `select system_object_id as id, standard -> '1' -> 'text' as text from object where system_object_id = any($1::bigint[])`,
    [ids],
    'search-facet-texts',
  )
  return new Map(rows.map((row) => [row.id, row.text ?? {}]))
}

async function withAncestors(db: Db, ids: readonly number[]): Promise<Map<number, LinkedRow>> {
  if (ids.length === 0) return new Map()
  const { rows } = await db.query<LinkedRow>(
    `with recursive shown(id) as (
       select unnest($1::bigint[])
       union
       select parent from shown join object o on o.system_object_id = shown.id, unnest(o.parents) parent
     )
     select o.system_object_id as id, o.id as "ownId", o.objecttype, o.parents, o.standard -> '1' -> 'text' as text
     from shown join object o on o.system_object_id = shown.id`,
    [ids],
    'search-facet-objects',
  )
  return new Map(rows.map((row) => [row.id, row]))
}

/** From the top down to the object; in a polyhierarchy along the first parents. */
function pathTo(rows: ReadonlyMap<number, LinkedRow>, id: number): number[] {
  const path: number[] = []
  for (let at: number | undefined = id; at !== undefined && !path.includes(at); at = rows.get(at)?.parents[0])
    path.unshift(at)
  return path
}
