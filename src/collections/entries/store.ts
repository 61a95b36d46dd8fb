import type { Queryable, Tx } from '../../platform/postgres/db.ts'
import { numbersText, textsText } from '../../platform/postgres/literals.ts'
import type { Gap, Spread, Window } from './ranks.ts'

/** An entry of a list. `objectId` is a system object id; below 0 the id of a remote object. */
export interface StoredEntry {
  readonly objectId: number
  /** The global id of a remote object. */
  readonly globalId: string | null
  readonly webfrontendProps: object | null
}

/**
 * A page of a list. Its first rank is found by the index alone, from the nearer end: the last page of 100,000 entries
 * takes no longer than the first.
 */
export async function entriesPage(
  q: Queryable,
  collectionId: number,
  { offset, limit, count }: { readonly offset: number; readonly limit: number; readonly count: number },
): Promise<StoredEntry[]> {
  if (offset >= count || limit === 0) return []
  const fromEnd = offset > count / 2
  const { rows } = await q.query<StoredEntry>(
    `select e.object_id as "objectId", f.global_id as "globalId", e.webfrontend_props as "webfrontendProps"
     from collection_object e left join foreign_object f on f.id = -e.object_id
     where e.collection_id = $1 and e.rank >= (
       select rank from collection_object where collection_id = $1
       order by rank ${fromEnd ? 'desc' : ''} limit 1 offset $2)
     order by e.rank limit $3`,
    [collectionId, fromEnd ? count - 1 - offset : offset, limit],
    `entries-page${fromEnd ? '-from-end' : ''}`,
  )
  return rows
}

/** Bounds of a range of ranks, so that the index is used. */
const from = (rank: string): string => `coalesce(${rank}, ${-(2 ** 53)})`
const to = (rank: string): string => `coalesce(${rank}, ${2 ** 53})`

/** The ranks around a range of a list of `count` entries. */
export async function gapOf(
  tx: Tx,
  collectionId: number,
  { index, length, count }: { readonly index: number; readonly length: number; readonly count: number },
): Promise<Gap> {
  const { rows } = await tx.query<{ after: number | null; before: number | null }>(
    `select a.after, case when $2::bigint + $3 < $4 then (
         select rank from collection_object where collection_id = $1 and rank > ${from('a.after')}
         order by rank limit 1 offset $3) end as before
     from (select case when $2 > 0 then (select rank from (
         (select rank from collection_object where $2 - 1 < $4 / 2 and collection_id = $1
          order by rank limit 1 offset greatest($2 - 1, 0))
         union all
         (select rank from collection_object where $2 - 1 >= $4 / 2 and collection_id = $1
          order by rank desc limit 1 offset greatest($4 - $2, 0))) r) end as after) a`,
    [collectionId, index, length, count],
    'entries-gap',
  )
  return rows[0] ?? { after: null, before: null }
}

/** The entries around a gap: for each of the sizes, that many on both sides. */
export async function windowsAround(
  tx: Tx,
  collectionId: number,
  { after, before }: Gap,
  sizes: readonly number[],
): Promise<Window[]> {
  const { rows } = await tx.query<Window>(
    `select w.after, w.before, (select count(*) from collection_object e where e.collection_id = $1
         and e.rank > ${from('w.after')} and e.rank < ${to('w.before')}) as entries
     from (
       select s.size,
         (select rank from collection_object where collection_id = $1 and rank <= $2 order by rank desc limit 1 offset s.size)
           as after,
         (select rank from collection_object where collection_id = $1 and rank >= $3 order by rank limit 1 offset s.size)
           as before
       from unnest($4::int[]) as s (size)
     ) w order by w.size`,
    [collectionId, after, before, numbersText(sizes)],
    'entries-windows',
  )
  return rows
}

/**
 * Gives the entries of a window new ranks, and leaves a gap of `count` of them before the entries with a higher rank than
 * `behind`. Returns how many are before the gap.
 */
export async function spreadWindow(
  tx: Tx,
  collectionId: number,
  { window, spread, behind, count }: { window: Window; spread: Spread; behind: number | null; count: number },
): Promise<number> {
  const { rows } = await tx.query<{ front: number }>(
    `with placed as (
       select object_id, row_number() over (order by rank) - 1 as place, rank <= $4 as is_front from collection_object
       where collection_id = $1 and rank > ${from('$2::bigint')} and rank < ${to('$3::bigint')}
     ), moved as (
       update collection_object e set rank = $5 + $6 * (p.place + case when p.is_front then 0 else $7::bigint end)
       from placed p where e.collection_id = $1 and e.object_id = p.object_id
     )
     select count(*) filter (where is_front) as front from placed`,
    // There is no entry before the beginning of a list.
    [collectionId, window.after, window.before, behind ?? -(2 ** 53), spread.first, spread.step, count],
    'entries-spread',
  )
  return rows[0]?.front ?? 0
}

/** Entries to be stored: `props` undefined keeps the stored value, null clears it. */
export interface NewEntry {
  readonly objectId: number
  readonly props: object | null | undefined
}

/** Adds entries to lists; entries that are already there move to the new place. */
export async function putEntries(
  tx: Tx,
  lists: readonly { readonly collectionId: number; readonly spread: Spread; readonly entries: readonly NewEntry[] }[],
): Promise<void> {
  const rows = lists.flatMap(({ collectionId, spread, entries }) =>
    entries.map((entry, index) => ({ ...entry, collectionId, rank: spread.first + spread.step * index })),
  )
  if (rows.length === 0) return
  await tx.query(
    `insert into collection_object (collection_id, object_id, rank, webfrontend_props)
     select n.collection_id, n.object_id, n.rank,
       case when n.props is null then e.webfrontend_props else nullif(n.props::jsonb, 'null') end
     from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[]) as n (collection_id, object_id, rank, props)
     left join collection_object e on e.collection_id = n.collection_id and e.object_id = n.object_id
     on conflict (object_id, collection_id)
       do update set rank = excluded.rank, webfrontend_props = excluded.webfrontend_props`,
    [
      numbersText(rows.map((row) => row.collectionId)),
      numbersText(rows.map((row) => row.objectId)),
      numbersText(rows.map((row) => row.rank)),
      rows.map(({ props }) => (props === undefined ? null : JSON.stringify(props))),
    ],
    'entries-put',
  )
}

/** Removes the entries of a range of ranks, except for those to be kept. */
export async function removeRange(
  tx: Tx,
  collectionId: number,
  { after, before }: Gap,
  staying: readonly number[],
): Promise<number[]> {
  const { rows } = await tx.query<{ id: number }>(
    `delete from collection_object where collection_id = $1 and rank > ${from('$2::bigint')}
       and rank < ${to('$3::bigint')} and object_id <> all($4::bigint[]) returning object_id as id`,
    [collectionId, after, before, numbersText(staying)],
    'entries-remove-range',
  )
  return rows.map(({ id }) => id)
}

/** Removes entries from lists, and answers which ones existed. */
export async function removeFrom(
  tx: Tx,
  lists: readonly { readonly collectionId: number; readonly objectIds: readonly number[] }[],
): Promise<number[]> {
  const rows = lists.flatMap(({ collectionId, objectIds }) => objectIds.map((objectId) => ({ collectionId, objectId })))
  if (rows.length === 0) return []
  const { rows: removed } = await tx.query<{ id: number }>(
    `delete from collection_object e using unnest($1::bigint[], $2::bigint[]) as n (collection_id, object_id)
     where e.collection_id = n.collection_id and e.object_id = n.object_id returning e.object_id as id`,
    [numbersText(rows.map((row) => row.collectionId)), numbersText(rows.map((row) => row.objectId))],
    'entries-remove',
  )
  return removed.map(({ id }) => id)
}

/** Which of the objects are in the list. */
export async function entriesAmong(q: Queryable, collectionId: number, ids: readonly number[]): Promise<Set<number>> {
  const { rows } = await q.query<{ id: number }>(
    `select n.id from unnest($2::bigint[]) as n (id) cross join lateral (
       select from collection_object e where e.object_id = n.id and e.collection_id = $1 limit 1) found`,
    [collectionId, numbersText(ids)],
    'entries-among',
  )
  return new Set(rows.map(({ id }) => id))
}

/** All objects in the lists. */
export async function entriesOf(
  q: Queryable,
  collectionIds: readonly number[],
): Promise<ReadonlyMap<number, ReadonlySet<number>>> {
  const { rows } = await q.query<{ id: number; objectIds: number[] }>(
    `select collection_id as id, array_agg(object_id) as "objectIds" from collection_object
     where collection_id = any($1::bigint[]) group by 1`,
    [numbersText(collectionIds)],
    'entries-of-lists',
  )
  return new Map(rows.map(({ id, objectIds }) => [id, new Set(objectIds)]))
}

/** Ids (below 0) of remote objects by their global ids; new ones are made. */
export async function remoteIds(
  tx: Tx,
  globalIds: readonly string[],
  make: boolean,
): Promise<ReadonlyMap<string, number>> {
  if (globalIds.length === 0) return new Map()
  if (make) {
    await tx.query(
      `insert into foreign_object (global_id) select g from unnest($1::text[]) as g order by g on conflict do nothing`,
      [textsText(globalIds)],
      'remote-objects-make',
    )
  }
  const { rows } = await tx.query<{ id: number; globalId: string }>(
    'select -id as id, global_id as "globalId" from foreign_object where global_id = any($1::text[])',
    [textsText(globalIds)],
    'remote-objects-find',
  )
  return new Map(rows.map(({ id, globalId }) => [globalId, id]))
}

/** Updates the counts after entries were added and removed. */
export async function count(
  tx: Tx,
  changes: readonly { readonly collectionId: number; readonly objects: number; readonly remote: number }[],
): Promise<void> {
  const changed = changes.filter(({ objects, remote }) => objects !== 0 || remote !== 0)
  if (changed.length === 0) return
  await tx.query(
    `update collection c set object_count = object_count + n.objects, remote_count = remote_count + n.remote
     from unnest($1::bigint[], $2::int[], $3::int[]) as n (id, objects, remote) where c.id = n.id`,
    [
      numbersText(changed.map((one) => one.collectionId)),
      numbersText(changed.map((one) => one.objects)),
      numbersText(changed.map((one) => one.remote)),
    ],
    'entries-counted',
  )
}
