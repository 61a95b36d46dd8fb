/** Records for harvesters. Writing them excludes reading a page, so that a page shows one moment. */

import type { ReadableSql } from '../objects/service.ts'
import type { Db, Queryable, Tx } from '../platform/postgres/db.ts'
import { numbersText } from '../platform/postgres/literals.ts'
import { secondsText } from '../platform/postgres/moments.ts'
import type { HarvestRecord, Position, Selection } from './model.ts'

export interface State {
  readonly version: number
  readonly active: boolean
  readonly built: boolean
  readonly basis: string | null
  readonly walked: number | null
  readonly followed: { readonly at: number; readonly id: number } | null
}

/** The state after a step. */
export type NextState = Omit<State, 'version' | 'active'>

const lock = `hashtextextended('harvest records', 0)`
const alone = `select pg_advisory_xact_lock(${lock})`
const together = `select pg_advisory_xact_lock_shared(${lock})`

/** Null: harvesting was never switched on. */
export async function readState(q: Queryable): Promise<State | null> {
  const { rows } = await q.query<Omit<State, 'followed'> & { at: number | null; id: number | null }>(
    `select version, active, built_at is not null as built, basis, walked, followed_at as at, followed_id as id from harvest_state`,
    [],
    'harvest-state',
  )
  const [row] = rows
  if (!row) return null
  const { at, id, ...state } = row
  return { ...state, followed: at === null || id === null ? null : { at, id } }
}

/** A value that changes with each step, each change of the index, and each list of a collection; null: harvesting was never switched on. */
export async function readMarks(
  q: Queryable,
): Promise<{ readonly version: number; readonly changedAt: number; readonly queued: boolean } | null> {
  const { rows } = await q.query<{ version: number; changedAt: number; queued: boolean }>(
    `select h.version, (extract(epoch from s.changed_at) * 1000000)::bigint as "changedAt",
       exists (select from harvest_queue) as queued from harvest_state h, search_state s`,
    [],
    'harvest-marks',
  )
  return rows[0] ?? null
}

/** From now on lists of collections are followed; what happened to them meanwhile is to be looked for. */
export async function activate(db: Db): Promise<void> {
  await db.query(
    `insert into harvest_state (active) values (true)
     on conflict (id) do update set active = true, basis = null, version = harvest_state.version + 1 where not harvest_state.active`,
  )
}

export async function deactivate(db: Db): Promise<void> {
  await db.query(`update harvest_state set active = false, version = version + 1 where active`)
}

/** Begins a step: null where another process has made one since. */
export async function beginStep(tx: Tx, version: number): Promise<{ readonly moment: string } | null> {
  const [, { rows }] = await Promise.all([
    tx.query(alone, [], 'harvest-alone'),
    tx.query<{ moment: string }>(
      `update harvest_state set version = version + 1,
         moment = greatest(clock_timestamp(), moment + interval '1 microsecond')
       where version = $1 returning moment::text as moment`,
      [version],
      'harvest-step',
    ),
  ])
  return rows[0] ?? null
}

export async function endStep(
  tx: Tx,
  { built, basis, walked, followed }: NextState,
  queued: readonly number[],
): Promise<void> {
  await Promise.all([
    tx.query(
      `update harvest_state set built_at = case when $1 then coalesce(built_at, clock_timestamp()) end, basis = $2, walked = $3,
         followed_at = $4, followed_id = $5`,
      [built, basis, walked, followed?.at ?? null, followed?.id ?? null],
      'harvest-step-end',
    ),
    tx.query('delete from harvest_queue where seq = any($1::bigint[])', [numbersText(queued)], 'harvest-queue-done'),
  ])
}

/** Objects and records with higher ids than the given one, in the order of the ids. */
export async function idsBehind(q: Queryable, id: number, most: number): Promise<readonly number[]> {
  const { rows } = await q.query<{ id: number }>(
    `(select system_object_id as id from object where system_object_id > $1 order by system_object_id limit $2)
     union (select id from harvest_record where id > $1 order by id limit $2) order by 1 limit $2`,
    [id, most],
    'harvest-walk',
  )
  return rows.map((row) => row.id)
}

export async function queued(
  q: Queryable,
  most: number,
): Promise<readonly { readonly seq: number; readonly id: number }[]> {
  const { rows } = await q.query<{ seq: number; id: number }>(
    'select seq, object_id as id from harvest_queue order by seq limit $1',
    [most],
    'harvest-queue',
  )
  return rows
}

/** The present state of an object, and its record. */
export interface Looked {
  readonly id: number
  /** Null: it was purged. */
  readonly uuid: string | null
  readonly objecttype: number
  readonly pool: number | null
  readonly tags: readonly number[]
  readonly collections: readonly number[]
  readonly modified: string
  /** It can be read, and is not in the trash. */
  readonly there: boolean
  /** The record; null: there is none yet. */
  readonly told: {
    readonly uuid: string
    readonly gone: boolean
    readonly sets: readonly number[]
    readonly told: readonly number[]
  } | null
}

export async function lookAt(tx: Queryable, readable: ReadableSql, ids: readonly number[]): Promise<readonly Looked[]> {
  const { sql, values, shape } = readable
  const { rows } = await tx.query<Looked>(
    `select w.id, o.uuid, o.objecttype, o.pool_id as pool, o.tags, o.modified_at::text as modified,
       coalesce(o.deleted_at is null and ${sql}, false) as there,
       array(select collection_id from collection_object where object_id = w.id) as collections,
       case when r.id is not null then
         json_build_object('uuid', r.uuid, 'gone', r.gone, 'sets', r.sets, 'told', r.told) end as told
     from unnest($${values.length + 1}::bigint[]) as w (id)
     left join object o on o.system_object_id = w.id left join harvest_record r on r.id = w.id`,
    [...values, numbersText(ids)],
    `harvest-look-${shape}`,
  )
  return rows
}

/** Numbers of sets by their specs; new sets get one. */
export async function numbersOf(tx: Queryable, specs: readonly string[]): Promise<ReadonlyMap<string, number>> {
  if (specs.length === 0) return new Map()
  await tx.query(
    `insert into harvest_set (spec) select s from unnest($1::text[]) as s
     where not exists (select from harvest_set where spec = s) on conflict do nothing`,
    [specs],
    'harvest-sets-add',
  )
  const { rows } = await tx.query<{ id: number; spec: string }>(
    'select id, spec from harvest_set where spec = any($1::text[])',
    [specs],
    'harvest-sets-numbers',
  )
  return new Map(rows.map(({ id, spec }) => [spec, id]))
}

export interface ListedRecord {
  readonly id: number
  readonly uuid: string
  readonly moment: string
  readonly gone: boolean
  readonly sets: readonly number[]
  readonly told: readonly number[]
}

export async function write(tx: Queryable, records: readonly ListedRecord[]): Promise<void> {
  if (records.length === 0) return
  const lists = (of: (record: ListedRecord) => readonly number[]): string[] =>
    records.map((record) => `{${of(record).join()}}`)
  await tx.query(
    `insert into harvest_record (id, uuid, moment, gone, sets, told)
     select id, uuid, moment, gone, sets::int[], told::int[]
     from unnest($1::bigint[], $2::text[], $3::timestamptz[], $4::boolean[], $5::text[], $6::text[]) as n (id, uuid, moment, gone, sets, told)
     on conflict (id) do update set uuid = excluded.uuid, moment = excluded.moment, gone = excluded.gone,
       sets = excluded.sets, told = excluded.told`,
    [
      numbersText(records.map(({ id }) => id)),
      records.map(({ uuid }) => uuid),
      records.map(({ moment }) => moment),
      records.map(({ gone }) => gone),
      lists(({ sets }) => sets),
      lists(({ told }) => told),
    ],
    'harvest-write',
  )
}

/** Notes that a harvester got these as deleted: they stay so until they are checked again. */
export async function lose(db: Db, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return
  const text = numbersText(ids)
  await db.transaction(async (tx) => {
    await Promise.all([
      tx.query(alone, [], 'harvest-alone'),
      tx.query(
        `with state as (
           update harvest_state set version = version + 1,
             moment = greatest(clock_timestamp(), moment + interval '1 microsecond') returning moment)
         update harvest_record r set gone = true, moment = s.moment from state s where r.id = any($1::bigint[]) and not r.gone`,
        [text],
        'harvest-lose',
      ),
      tx.query('insert into harvest_queue (object_id) select unnest($1::bigint[])', [text], 'harvest-queue-add'),
    ])
  })
}

/** The records of a page, all read at one time, which is `now`. */
export interface RecordPage {
  /** The database server's time, in whole seconds: a state missing in this page has no earlier datestamp. */
  readonly now: string
  readonly records: readonly HarvestRecord[]
  /** There are more records after these. */
  readonly more: boolean
  /** Number of records in the whole list. */
  readonly total: number
}

interface Row {
  readonly id: number
  readonly uuid: string
  readonly moment: string
  readonly datestamp: string
  readonly deleted: boolean
  readonly sets: readonly number[]
}

const columns = `r.id, r.uuid, r.moment::text as moment, ${secondsText('r.moment')} as datestamp, r.sets`

/** Most records of a set that are looked up and sorted for each page; for a larger set, records are read in their order. */
const mostSorted = 10_000

export interface PageRequest {
  readonly behind: Position | null
  readonly offset: number
  readonly limit: number
  /** Number of records in the list; null: to be counted. */
  readonly total: number | null
}

/** A page of the selected records after a position, or after skipping so many records. */
export function readPage(
  db: Db,
  { set, from, before }: Selection,
  { behind, offset, limit, total: known }: PageRequest,
): Promise<RecordPage> {
  return db.transaction(async (tx) => {
    const [, clock, number] = await Promise.all([
      tx.query(together, [], 'harvest-together'),
      tx.query<{ now: string }>(`select ${secondsText('clock_timestamp()')} as now`, [], 'harvest-now'),
      tx.query<{ id: number }>('select id from harvest_set where spec = $1', [set], 'harvest-set'),
    ])
    const now = clock.rows[0]?.now ?? ''
    const asked = number.rows[0]?.id ?? null
    if (set !== null && asked === null) return { now, records: [], more: false, total: 0 }
    const values: unknown[] = [asked, from, before]
    const inSet = asked === null ? '$1::int is null' : 'r.told @> array[$1::int]'
    const since = from === null ? '$2::timestamptz is null' : 'r.moment >= $2::timestamptz'
    const until = before === null ? '$3::timestamptz is null' : 'r.moment < $3::timestamptz'
    const dated = `${since} and ${until}`
    const name = `${asked === null ? '' : 's'}${from === null ? '' : 'f'}${before === null ? '' : 'b'}`
    const total = known ?? (await countOf(tx, `${inSet} and ${dated}`, values, name))
    // As the argument of a function, it is not a condition that the index on sets can serve.
    const isLarge = asked !== null && total > mostSorted
    const chosen = isLarge ? `coalesce(${inSet}, false)` : inSet
    // Skipped rows are read in the index alone.
    const { rows } = await tx.query<Row>(
      `select ${columns}, ${asked === null ? 'r.gone' : 'r.gone or not r.sets @> array[$1::int]'} as deleted
       from (select r.id, r.moment from harvest_record r
             where ${chosen} and ${dated} ${behind ? 'and (r.moment, r.id) > ($4::timestamptz, $5::bigint)' : ''}
             order by r.moment, r.id ${behind ? 'limit $6' : 'offset $4 limit $5'}) page
       cross join lateral (select * from harvest_record where id = page.id limit 1) r order by page.moment, page.id`,
      [...values, ...(behind ? [behind.moment, behind.id] : [offset]), limit + 1],
      `harvest-page-${name}${behind ? '-behind' : ''}${isLarge ? '-large' : ''}`,
    )
    return { now, records: await withSpecs(tx, rows.slice(0, limit)), more: rows.length > limit, total }
  })
}

async function countOf(tx: Queryable, where: string, values: readonly unknown[], name: string): Promise<number> {
  const { rows } = await tx.query<{ total: number }>(
    `select count(*) as total from harvest_record r where ${where}`,
    values,
    `harvest-count-${name}`,
  )
  return rows[0]?.total ?? 0
}

/** The record of an object, by its uuid: of several, the one of an existing object, else the latest. */
export async function findRecord(q: Queryable, uuid: string): Promise<HarvestRecord | null> {
  const { rows } = await q.query<Row>(
    `select ${columns}, r.gone as deleted from harvest_record r where r.uuid = $1 order by r.gone, r.moment desc limit 1`,
    [uuid],
    'harvest-find',
  )
  return (await withSpecs(q, rows))[0] ?? null
}

async function withSpecs(q: Queryable, rows: readonly Row[]): Promise<readonly HarvestRecord[]> {
  const wanted = [...new Set(rows.flatMap(({ sets }) => sets))]
  const { rows: sets } =
    wanted.length === 0
      ? { rows: [] }
      : await q.query<{ id: number; spec: string }>(
          'select id, spec from harvest_set where id = any($1::int[])',
          [wanted],
          'harvest-sets-specs',
        )
  const specs = new Map(sets.map(({ id, spec }) => [id, spec]))
  return rows.map((row) => ({ ...row, sets: lowest(row.sets.flatMap((id) => specs.get(id) ?? [])) }))
}

/** Only the lowest sets, without the sets above them. */
function lowest(specs: readonly string[]): readonly string[] {
  const above = new Set(
    specs.flatMap((spec) => spec.split(':').map((_, index, steps) => steps.slice(0, index).join(':'))),
  )
  return specs.filter((spec) => !above.has(spec)).toSorted()
}

/** The first datestamp and the present time of the database, in whole seconds. */
export async function firstDatestamp(q: Queryable): Promise<{ readonly first: string | null; readonly now: string }> {
  const { rows } = await q.query<{ first: string | null; now: string }>(
    `select ${secondsText('(select min(moment) from harvest_record)')} as first, ${secondsText('clock_timestamp()')} as now`,
    [],
    'harvest-first',
  )
  return rows[0] ?? { first: null, now: '' }
}

/** Specs of sets with records of existing objects, with one of these prefixes. */
export async function livingSpecs(q: Queryable, beginning: string): Promise<readonly string[]> {
  const { rows } = await q.query<{ spec: string }>(
    `select spec from harvest_set s where starts_with(spec, $1)
       and exists (select from harvest_record r where r.told @> array[s.id] and r.sets @> array[s.id] and not r.gone) order by spec collate "C"`,
    [beginning],
    'harvest-sets-living',
  )
  return rows.map(({ spec }) => spec)
}

/** Collections by their ids, with their paths and names. */
export async function collectionsNamed(
  q: Queryable,
  ids: readonly number[] | null,
): Promise<
  readonly { readonly id: number; readonly path: readonly number[]; readonly name: Readonly<Record<string, string>> }[]
> {
  const { rows } = await q.query<{ id: number; path: number[]; name: Record<string, string> }>(
    `select id, path, displayname as name from collection where $1::bigint[] is null or id = any($1::bigint[]) order by id`,
    [ids === null ? null : numbersText(ids)],
    'harvest-collections',
  )
  return rows
}
