import type { Queryable, Tx } from '../../platform/postgres/db.ts'
import type { PresetTerms } from '../../rights/service.ts'
import { isBulk } from '../stored/index-lane.ts'

/**
 * Queries of other capabilities on the stored objects: where tags and pools are used, which objects refer to a user. Set-based;
 * contents are not read.
 */

/** Number of objects, the trash included, in the pools. */
export async function countInPools(tx: Queryable, poolIds: readonly number[]): Promise<number> {
  const { rows } = await tx.query<{ count: number }>(
    'select count(*)::int as count from object where pool_id = any($1::bigint[])',
    [poolIds],
  )
  return rows[0]?.count ?? 0
}

/** Queues the objects of pools for the index: their path has changed. */
export async function requeuePools(tx: Tx, poolIds: readonly number[], wakeIndex: () => void): Promise<void> {
  await tx.query(
    `insert into index_queue (system_object_id, priority, bulk)
     select system_object_id, 1, ${isBulk} from object where pool_id = any($1::bigint[])`,
    [poolIds],
  )
  tx.afterCommit(wakeIndex)
}

/** The number of objects with each of the tags; grants on objects that require a tag count as well. */
async function countTags(tx: Queryable, tagIds: readonly number[]): Promise<Map<number, number>> {
  const { rows } = await tx.query<{ id: number; count: number }>(
    `select t.id, count(*)::int as count from object o cross join lateral unnest(o.tags) as t(id)
     where o.tags && $1::int[] and t.id = any($1::int[]) group by t.id`,
    [tagIds],
  )
  return new Map(rows.map((row) => [row.id, row.count]))
}

/** Removes tags from all objects. The version stays: the tag is deleted everywhere, no user edited the objects. */
async function removeTags(tx: Tx, tagIds: readonly number[], wakeIndex: () => void): Promise<void> {
  await tx.query(
    `with changed as (
       update object set tags = array(select t from unnest(tags) as t where t <> all($1::int[]))
       where tags && $1::int[] returning system_object_id
     ), versions as (
       update object_version v set tags = array(select t from unnest(v.tags) as t where t <> all($1::int[]))
       from changed c where v.system_object_id = c.system_object_id and v.tags && $1::int[]
     )
     insert into index_queue (system_object_id, priority, moved, bulk) select system_object_id, 1, true, ${isBulk} from changed`,
    [tagIds],
  )
  tx.afterCommit(wakeIndex)
}

/** The use of tags by objects (tags/service.ts, `TagUse`). */
export function objectTagUse(wakeIndex: () => void) {
  return {
    context: 'object',
    count: countTags,
    remove: (tx: Tx, tagIds: readonly number[]) => removeTags(tx, tagIds, wakeIndex),
  }
}

/**
 * Gives the objects of a deleted user to the user `to`, and those of a group to the group `to`; they are indexed again, since their
 * owners are found by search. There is no index by owner: this is rare, and a scan of the heads.
 */
export async function replaceOwner(
  tx: Tx,
  kind: 'user' | 'group',
  from: number,
  to: number,
  wakeIndex: () => void,
): Promise<void> {
  const column = kind === 'user' ? 'owner_user' : 'owner_group'
  await tx.query(
    `with changed as (update object set ${column} = $2 where ${column} = $1 returning system_object_id)
     insert into index_queue (system_object_id, priority, moved, bulk) select system_object_id, 1, true, ${isBulk} from changed`,
    [from, to],
  )
  tx.afterCommit(wakeIndex)
}

/** The groups, of those given, that own objects or that grants on single objects name. A scan of the heads: this is rare. */
export async function groupsOfObjects(from: Queryable, groupIds: readonly number[]): Promise<ReadonlySet<number>> {
  if (groupIds.length === 0) return new Set()
  const { rows } = await from.query<{ id: number }>(
    `select g.id from unnest($1::bigint[]) as g(id)
     where exists (select from object o where o.owner_group = g.id)
        or exists (select from object o where o.acl @> jsonb_build_array(jsonb_build_object('who', 'g' || g.id)))`,
    [groupIds],
    'groups-of-objects',
  )
  return new Set(rows.map((row) => row.id))
}

const madeFrom = (preset: string) => `acl @> jsonb_build_array(jsonb_build_object('preset', ${preset}::bigint))`

/**
 * Grants on objects as a place where presets are used (rights/presets). Versions of the objects stay: their grants have changed,
 * but no user edited them; histories show the grants at the time of writing.
 */
export function objectPresetUse(wakeIndex: () => void) {
  /** Sets a new list of grants, with those of the latest version, and queues the objects for the index. */
  async function change(
    tx: Tx,
    ids: readonly number[],
    acl: (of: string) => string,
    values: unknown[],
  ): Promise<number> {
    const { rows } = await tx.query<{ count: number }>(
      `with changed as (
         update object o set acl = ${acl('o.acl')}
         where exists (select from unnest($1::bigint[]) as p (id) where o.${madeFrom('p.id')})
         returning system_object_id, version, acl
       ), versions as (
         update object_version v set acl = c.acl from changed c
         where v.system_object_id = c.system_object_id and v.version = c.version
       ), queued as (
         insert into index_queue (system_object_id, priority, moved, bulk) select system_object_id, 1, true, ${isBulk} from changed
       )
       select count(*)::int as count from changed`,
      [ids, ...values],
    )
    tx.afterCommit(wakeIndex)
    return rows[0]?.count ?? 0
  }

  return {
    async count(tx: Queryable, presetId: number): Promise<number> {
      const { rows } = await tx.query<{ count: number }>(
        `select count(*)::int as count from object where ${madeFrom('$1')}`,
        [presetId],
      )
      return rows[0]?.count ?? 0
    },
    async used(tx: Queryable, presetIds: readonly number[]): Promise<boolean> {
      const { rows } = await tx.query(
        `select from unnest($1::bigint[]) as p (id) where exists (select from object where ${madeFrom('p.id')}) limit 1`,
        [presetIds],
      )
      return rows.length > 0
    },
    apply(tx: Tx, presets: readonly { id: number; terms: PresetTerms }[]): Promise<number> {
      const terms = presets.map(({ id, terms: { rights, tagfilter } }) => ({ id, terms: { rights, tagfilter } }))
      const now = (of: string) => `(select jsonb_agg(
          case when t.terms is null then g.entry else g.entry - 'tagfilter' || t.terms end order by g.place)
        from jsonb_array_elements(${of}) with ordinality as g (entry, place)
        left join jsonb_to_recordset($2) as t (id bigint, terms jsonb) on t.id = (g.entry->>'preset')::bigint)`
      return change(
        tx,
        presets.map(({ id }) => id),
        now,
        [JSON.stringify(terms)],
      )
    },
    remove(tx: Tx, presetId: number): Promise<number> {
      const left = (of: string) => `(select jsonb_agg(g.entry order by g.place)
        from jsonb_array_elements(${of}) with ordinality as g (entry, place)
        where coalesce((g.entry->>'preset')::bigint, 0) <> all($1::bigint[]))`
      return change(tx, [presetId], left, [])
    },
  }
}
