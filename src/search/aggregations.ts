/** Turns the counts of an engine into the answers of `aggregations`: sorted, cut, and named as the caller may see them. */

import type { ShownObject } from '../objects/service.ts'
import type { Actor } from '../platform/actor.ts'
import type { JsonAnswer } from '../platform/http/json-answer.ts'
import type { Deadline } from '../platform/limits/deadline.ts'
import type { Db, Queryable } from '../platform/postgres/db.ts'
import { sortYielding, type Yielder } from '../platform/process/cooperative-yield.ts'
import type { Localized } from '../platform/values/localized.ts'
import type { CallerRights } from '../rights/service.ts'
import { partsOf } from './facet-parts.ts'
import type { HitOptions } from './hits.ts'
import { boundsAnswer, cellBounds, countsOf, statsCounts } from './measured.ts'
import { type FacetCounts, noCounts, type SearchEngine, type SearchOutcome, type SearchPlan } from './plan/plan.ts'
import type { AggregationRequest } from './request/aggregations.ts'

export interface AggregationDeps {
  readonly db: Db
  readonly engine: Pick<SearchEngine, 'measure'>
  /** Objects in a format, rendered as hits are. Objects that the actor may not see are left out. */
  readonly renderHits: (
    actor: Actor,
    systemObjectIds: readonly number[],
    options: HitOptions,
    context: {
      readonly additions: (systemObjectId: number) => Readonly<Record<string, unknown>>
      readonly deadline: Deadline
    },
  ) => Promise<JsonAnswer>
  readonly databaseName: string
  /** The objects that the actor may read. */
  readonly readable: (
    actor: Actor,
    systemObjectIds: readonly number[],
    deadline?: Deadline,
  ) => Promise<ReadonlySet<number>>
  /** Objects in the form in which others show them, and all objects above them in hierarchies. */
  readonly withAncestors: (
    actor: Actor,
    systemObjectIds: readonly number[],
  ) => Promise<ReadonlyMap<number, ShownObject>>
  /** A pool by its id: its name, and the ids from the root down to it. */
  readonly poolOf: (id: number) => { readonly name: Localized; readonly path: readonly number[] } | undefined
  readonly tagName: (id: number) => Localized | undefined
}

interface Context {
  readonly deps: AggregationDeps
  readonly plan: SearchPlan
  readonly actor: Actor
  readonly caller: CallerRights
  /** Database languages: the languages of the request come first. */
  readonly languages: readonly string[]
  /** The database within the deadline. */
  readonly q: Queryable
  readonly deadline: Deadline
  readonly yielder: Yielder
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
  const { plan, measure, type, field } = request
  if (plan === null || measure !== null) return measuredAnswer(context, request)
  if (plan.kind === 'ranges' && (type === 'range' || type === 'date_range')) {
    const counts = outcome.ranges.get(request.name) ?? []
    return { type, field, ranges: request.ranges.map((range, index) => ({ ...range, count: counts[index] ?? 0 })) }
  }
  // The aggregation is about files, and no searched field has any.
  if (plan.kind === 'ranges') return { type, field, count: 0, terms: [] }
  let counted = outcome.facets.get(request.name) ?? noCounts
  for (const { name } of request.more) counted = await addedUp(context, counted, outcome.facets.get(name) ?? noCounts)
  const { kind } = plan.field
  if (type === 'linked_object' && kind === 'field') return linkedObjects(context, request, counted)
  if (type === 'linked_object') return namedIds(context, request, counted, kind === 'pool' ? 'pool' : 'tag')
  const label = (value: number | string): string =>
    kind === 'objecttype' ? (context.plan.model.tablesById.get(value as number)?.name ?? String(value)) : String(value)
  const { count, entries } = await select(context, request, counted, label)
  return { type, field, count, terms: entries.map((entry) => ({ term: entry.label, count: entry.count })) }
}

async function measuredAnswer(context: Context, request: AggregationRequest): Promise<unknown> {
  const { type, field, measure, valueField } = request
  if (measure === null) throw new Error(`${type} is neither counted nor measured`)
  const measured = await context.deps.engine.measure(context.plan, measure, context.deadline)
  if (measured.kind === 'bounds') {
    return { type, field, count: measured.count, bounds: measured.bounds && boundsAnswer(measured.bounds) }
  }
  if (measured.kind === 'stats') {
    const { count, entries } = await select(context, request, statsCounts(measured.terms), String)
    const byTerm = new Map(measured.terms.map((each) => [each.term, each]))
    return { type, field, value_field: valueField, count, terms: entries.map(({ label }) => byTerm.get(label)) }
  }
  const { counts, label, byValue } = countsOf(measure, measured)
  const { count, entries } = await select(context, request, counts, label, byValue)
  if (measure.kind !== 'grid') {
    return { type, field, count, terms: entries.map((entry) => ({ term: entry.label, count: entry.count })) }
  }
  const cells = entries.map((entry) => ({
    key: entry.label,
    count: entry.count,
    bounds: cellBounds(measure, entry.label),
  }))
  return { type, field, precision: measure.precision, count, cells }
}

/** The sum of the counts of two columns. */
async function addedUp({ q }: Context, one: FacetCounts, other: FacetCounts): Promise<FacetCounts> {
  const sums = new Map<number | string, number>()
  for (const facet of [one, other]) {
    for await (const { from, to, value } of partsOf(q, facet)) {
      for (let index = from; index < to; index++) {
        sums.set(value(index), (sums.get(value(index)) ?? 0) + (facet.counts[index] as number))
      }
    }
  }
  const entries = [...sums]
  return {
    counts: Int32Array.from(entries, ([, count]) => count),
    bytes: one.bytes + other.bytes,
    value: (index) => (entries[index] as [number | string, number])[0],
  }
}

interface Entry {
  readonly value: number | string
  readonly count: number
  readonly label: string
}

/** The number of values, and the values of the requested part in the requested order. */
async function select(
  context: Context,
  request: AggregationRequest,
  facet: FacetCounts,
  labelOf: (value: number | string) => string,
  byValue = false,
): Promise<{ count: number; entries: Entry[] }> {
  const { languages, q, yielder } = context
  const { include, limit, offset } = request
  const included = include ? await only(context, facet, (value) => include(labelOf(value))) : facet
  const isCandidate =
    request.sort === 'count' ? amongFirst(included.counts, limit + offset, request.descending) : () => true
  const collator = new Intl.Collator(request.language ?? languages[0], { numeric: true })
  const compare = (a: Entry, b: Entry): number =>
    byValue ? Number(a.value) - Number(b.value) : collator.compare(a.label, b.label)
  const direction = request.descending ? -1 : 1
  const inOrder = (a: Entry, b: Entry): number => {
    const order = request.sort === 'count' ? a.count - b.count : compare(a, b)
    return order * direction || compare(a, b) || (a.value < b.value ? -1 : 1)
  }
  let first: Entry[] = []
  for await (const { from, to, value: valueAt } of partsOf(q, included, isCandidate)) {
    const entries = first
    for (let index = from; index < to; index++) {
      const count = included.counts[index] as number
      if (index % 64 === 0 && yielder.due()) await yielder.yield()
      if (!isCandidate(count)) continue
      const value = valueAt(index)
      entries.push({ value, count, label: labelOf(value) })
    }
    first = (await sortYielding(entries, inOrder, yielder)).slice(0, offset + limit)
  }
  return { count: included.counts.length, entries: first.slice(offset) }
}

/** The values that fulfil a condition, with their counts. */
async function only(
  { q, yielder }: Pick<Context, 'q' | 'yielder'>,
  facet: FacetCounts,
  pass: (value: number | string) => boolean,
): Promise<FacetCounts> {
  const kept: number[] = []
  for await (const { from, to, value } of partsOf(q, facet)) {
    for (let index = from; index < to; index++) {
      if (index % 64 === 0 && yielder.due()) await yielder.yield()
      if (pass(value(index))) kept.push(index)
    }
  }
  const { bytes, counts, value, read } = facet
  const places = (indexes: readonly number[]): number[] => indexes.map((index) => kept[index] as number)
  return {
    bytes,
    counts: Int32Array.from(kept, (index) => counts[index] as number),
    value: (index) => value(kept[index] as number),
    ...(read && { read: (from: Queryable, indexes: readonly number[]) => read(from, places(indexes)) }),
  }
}

/** Tells whether a count can be among the first `wanted` ones: most values need neither a name nor a position. */
function amongFirst(counts: Int32Array, wanted: number, descending: boolean): (count: number) => boolean {
  if (wanted === 0) return () => false
  if (counts.length <= wanted) return () => true
  if (wanted > 500) {
    const sorted = counts.slice().sort()
    const threshold = (descending ? sorted[sorted.length - wanted] : sorted[wanted - 1]) as number
    return (count) => (descending ? count >= threshold : count <= threshold)
  }
  const sign = descending ? 1 : -1
  /** The best counts so far, the worst one first. */
  const best = new Int32Array(wanted).fill(-2_147_483_648)
  for (const count of counts) {
    const signed = count * sign
    if (signed <= (best[0] as number)) continue
    let at = 1
    while (at < wanted && (best[at] as number) < signed) {
      best[at - 1] = best[at] as number
      at++
    }
    best[at - 1] = signed
  }
  const threshold = best[0] as number
  return (count) => count * sign >= threshold
}

async function linkedObjects(context: Context, request: AggregationRequest, counted: FacetCounts): Promise<unknown> {
  const { deps } = context
  const inParent = request.parent === null ? counted : await below(context, counted, request.parent)
  // The names of all values are needed only if the order or the filter uses them.
  const named = request.sort === 'term' || request.include !== null
  const texts = named
    ? await textsOf(context.q, await readableOf(context, idsOf(inParent)))
    : new Map<number, Localized>()
  const textOf = (text: Localized | null | undefined): string => inLanguage(text, request, context.languages)
  const label = (value: number | string): string => (named ? textOf(texts.get(value as number)) : String(value))
  const { count, entries } = await select(context, request, inParent, label)
  const rows = await deps.withAncestors(
    context.actor,
    entries.map((entry) => entry.value as number),
  )
  const isReadable = (id: number): boolean => rows.get(id)?.readable === true
  const whole = await formatted(context, request, entries.map((entry) => entry.value as number).filter(isReadable))
  const show = (id: number): Record<string, unknown> => {
    const row = rows.get(id)
    if (!row) return { _system_object_id: id }
    const { objecttype } = row
    const global = `${id}@${deps.databaseName}`
    // In the form in which a link to it is shown.
    if (!row.readable)
      return { _objecttype: objecttype, _system_object_id: id, _global_object_id: global, _not_allowed: true }
    return {
      _objecttype: objecttype,
      _id: row.ownId,
      _system_object_id: id,
      _global_object_id: global,
      _standard: { '1': { text: row.text } },
    }
  }
  return {
    type: request.type,
    field: request.field,
    count,
    linked_objects: entries.map((entry) => ({
      _id: isReadable(entry.value as number) ? (rows.get(entry.value as number)?.ownId ?? null) : null,
      _system_object_id: entry.value,
      count: entry.count,
      _path: (isReadable(entry.value as number) ? pathTo(rows, entry.value as number) : [entry.value as number]).map(
        show,
      ),
      _linked_object: whole.get(entry.value as number) ?? show(entry.value as number),
    })),
  }
}

/** Linked objects in the requested format. */
async function formatted(
  { deps, actor, languages, deadline }: Context,
  { format, language }: AggregationRequest,
  ids: readonly number[],
): Promise<ReadonlyMap<number, unknown>> {
  if (format === null || ids.length === 0) return new Map()
  const options: HitOptions = {
    format,
    languages: language === null ? languages : [language],
    mergeLinkedObjects: undefined,
    mergeMaxDepth: undefined,
    generateRights: false,
    allFields: false,
    includeFields: [],
    fileDays: undefined,
    excludeFields: [],
  }
  const { body } = await deps.renderHits(actor, ids, options, { additions: () => ({}), deadline })
  const objects = JSON.parse(Buffer.concat([...body]).toString()) as { _system_object_id: number }[]
  return new Map(objects.map((object) => [object._system_object_id, object]))
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

/** Pools and tags: few, and in memory. */
async function namedIds(
  context: Context,
  request: AggregationRequest,
  facet: FacetCounts,
  kind: 'pool' | 'tag',
): Promise<unknown> {
  const { deps } = context
  const known = kind === 'pool' ? poolsKnownTo(context) : () => true
  const nameOf = (id: number): Localized | undefined => {
    if (kind === 'tag') return deps.tagName(id)
    return known(id) ? deps.poolOf(id)?.name : undefined
  }
  const pathOf = (id: number): readonly number[] =>
    kind === 'pool' && known(id) ? (deps.poolOf(id)?.path ?? [id]) : [id]
  const { parent } = request
  const counted = kind === 'pool' ? countedAsKnown(deps, facet, known) : facet
  const inParent =
    parent === null
      ? counted
      : await only(context, counted, (value) => (pathOf(value as number).at(-2) ?? 0) === parent)
  const label = (value: number | string): string => inLanguage(nameOf(value as number), request, context.languages)
  const { count, entries } = await select(context, request, inParent, label)
  const show = (id: number): object => ({
    _basetype: kind,
    [kind]: known(id) ? { _id: id, [kind === 'pool' ? 'name' : 'displayname']: nameOf(id) ?? {} } : { _id: id },
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

/** Tells the pools whose names and position in the tree of pools the caller may know. */
function poolsKnownTo({ caller }: Context): (id: number) => boolean {
  return (id) => caller.root || caller.mayPool('bag_read', id)
}

/** Counts a pool also for all pools above it, where the caller may know these. */
function countedAsKnown(deps: AggregationDeps, facet: FacetCounts, known: (id: number) => boolean): FacetCounts {
  const ids = idsOf(facet)
  if (ids.every(known)) return facet
  const pathOf = (id: number): readonly number[] => deps.poolOf(id)?.path ?? [id]
  const own = new Map(ids.map((id, index) => [id, facet.counts[index] as number]))
  const total = new Map(own)
  for (const [id, count] of total) {
    const parent = pathOf(id).at(-2)
    if (parent !== undefined && own.has(parent)) own.set(parent, (own.get(parent) as number) - count)
  }
  const counts = new Map<number, number>()
  for (const [id, count] of own) {
    if (count <= 0) continue
    for (const each of known(id) ? pathOf(id) : [id]) counts.set(each, (counts.get(each) ?? 0) + count)
  }
  const found = [...counts]
  return {
    counts: Int32Array.from(found, ([, count]) => count),
    bytes: facet.bytes,
    value: (index) => (found[index] as (typeof found)[number])[0],
  }
}

/** Only the values right below the object `parent`; 0: the values at the top. Only readers of an object may know its parents. */
async function below(context: Context, facet: FacetCounts, parent: number): Promise<FacetCounts> {
  const { rows } = await context.q.query<{ id: number }>(
    `select system_object_id as id from object where system_object_id = any($1::bigint[])
     and ($2::bigint = 0 and parents = '{}' or $2::bigint = any(parents))`,
    [await readableOf(context, idsOf(facet)), parent],
    'search-facet-children',
  )
  const children = new Set<number | string>(rows.map((row) => row.id))
  return only(context, facet, (value) => children.has(value))
}

async function readableOf({ deps, actor, deadline }: Context, ids: readonly number[]): Promise<readonly number[]> {
  return actor.isRoot ? ids : [...(await deps.readable(actor, ids, deadline))]
}

function idsOf({ counts, value }: FacetCounts): number[] {
  return Array.from(counts, (_, index) => value(index) as number)
}

async function textsOf(db: Queryable, ids: readonly number[]): Promise<Map<number, Localized>> {
  const { rows } = await db.query<{ id: number; text: Localized | null }>(
    `select system_object_id as id, standard -> '1' -> 'text' as text from object where system_object_id = any($1::bigint[])`,
    [ids],
    'search-facet-texts',
  )
  return new Map(rows.map((row) => [row.id, row.text ?? {}]))
}

/** From the top down to the object; in a polyhierarchy along the first parents. */
function pathTo(rows: ReadonlyMap<number, ShownObject>, id: number): number[] {
  const path: number[] = []
  for (let at: number | undefined = id; at !== undefined && !path.includes(at); at = rows.get(at)?.parents[0])
    path.unshift(at)
  return path
}
