/**
 * The effect of a change of one object on others: on objects that link to it, and, if it was moved in a hierarchy, on the objects
 * below it and on objects that link to these. There can be hundreds of thousands, so they are queued a part at a time, between
 * batches. The remaining work is stored in a table (`index_spread`), so that a killed indexer continues where it stopped.
 */
import { mostSingle } from '../../objects/service.ts'
import type { Queryable } from '../../platform/postgres/db.ts'
import { numbersText } from '../../platform/postgres/literals.ts'
import { inIndexTransaction } from './transaction.ts'

/** The limits of one step. */
interface Limits {
  /** Changed objects that are processed together. */
  readonly sources: number
  /** Approximate number of dependents that are queued. */
  readonly dependents: number
}

const usual: Limits = { sources: 1000, dependents: 20_000 }
/** A hierarchy is a tree or nearly so. If users manage to build a circle, it is cut here. */
const deepest = 1000

interface Link {
  readonly id: number
  readonly columnId: number
  readonly fromId: number
}

/**
 * Notes changed objects whose dependents are to be queued; an object that was noted before starts again. `rehung`: objects that
 * moved in the hierarchy.
 */
export async function noteChanged(db: Queryable, changed: readonly number[], rehung: readonly number[]): Promise<void> {
  await note(db, 'l', changed, 0)
  await note(db, 'c', rehung, 0)
}

async function note(db: Queryable, kind: 'l' | 'c', ids: readonly number[], depth: number): Promise<void> {
  if (ids.length === 0) return
  await db.query(
    `insert into index_spread (kind, id, depth) select $1::"char", id, $3::int from unnest($2::bigint[]) as id
     on conflict (kind, id) do update set after_column = 0, after_id = 0, depth = excluded.depth`,
    [kind, numbersText(ids), depth],
    'index-spread-note',
  )
}

/** Queues a part of the dependents, and returns how many were found; null when there was nothing left to do. */
export async function spreadOn(db: Queryable, limits: Limits = usual): Promise<number | null> {
  return (await spreadDown(db, limits)) ?? (await spreadToLinking(db, limits))
}

/** Objects right below others. They go first, so that an object that links to many of them is queued once. */
async function spreadDown(db: Queryable, { sources, dependents }: Limits): Promise<number | null> {
  const { rows } = await db.query<{ id: number; after: number; depth: number }>(
    `select id, after_id as after, depth from index_spread where kind = 'c' order by seq limit $1`,
    [sources],
    'index-spread-below',
  )
  const [first] = rows
  if (!first) return null
  const together = rows.filter(({ after, depth }) => after === first.after && depth === first.depth)
  const parents = together.map(({ id }) => id)
  return inIndexTransaction(db, async () => {
    const below = await childrenOf(db, parents, first.after, dependents)
    await queue(db, below)
    await note(db, 'l', below, 0)
    if (first.depth < deepest) await note(db, 'c', below, first.depth + 1)
    const last = below.length < dependents ? null : (below.at(-1) ?? null)
    await db.query(
      last === null
        ? `delete from index_spread where kind = 'c' and id = any($1::bigint[])`
        : `update index_spread set after_id = $2 where kind = 'c' and id = any($1::bigint[])`,
      [numbersText(parents), ...(last === null ? [] : [last])],
    )
    return below.length
  })
}

async function childrenOf(db: Queryable, parents: readonly number[], after: number, most: number): Promise<number[]> {
  // Uses the index on parents whatever the statistics say: without any, PostgreSQL takes nearly all objects for children.
  await db.query('set local enable_indexscan = off')
  const { rows } = await db.query<{ id: number }>(
    `select id from (
       select system_object_id as id from object where parents && $1::bigint[] and parents <> '{}' offset 0
     ) below where id > $2 order by id limit $3`,
    [numbersText(parents), after, most],
  )
  await db.query('set local enable_indexscan = on')
  return rows.map(({ id }) => id)
}

async function spreadToLinking(db: Queryable, { sources, dependents }: Limits): Promise<number | null> {
  const { rows: waiting } = await db.query<{ id: number }>(
    `select id from index_spread where kind = 'l' order by seq limit $1`,
    [sources],
    'index-spread-linking',
  )
  if (waiting.length === 0) return null
  const ids = waiting.map(({ id }) => id)
  const most = Math.ceil(dependents / ids.length)
  const { rows: links } = await db.query<Link>(
    `select s.id, l.column_id as "columnId", l.from_id as "fromId"
     from unnest($1::bigint[]) as wanted(id)
     cross join lateral (select * from index_spread where kind = 'l' and id = wanted.id limit 1) s
     cross join lateral (
       select column_id, from_id from object_link
       where to_id = s.id and (column_id, from_id) > (s.after_column, s.after_id)
       order by column_id, from_id limit $2
     ) l`,
    [numbersText(ids), most],
    'index-spread-links',
  )
  const found = Map.groupBy(links, ({ id }) => id)
  const cut = [...found.values()].filter((list) => list.length === most).flatMap((list) => list.at(-1) ?? [])
  const unfinished = new Set(cut.map(({ id }) => id))
  await inIndexTransaction(db, async () => {
    await queue(db, [...new Set(links.map(({ fromId }) => fromId))])
    await db.query(
      `delete from index_spread where kind = 'l' and id = any($1::bigint[])`,
      [numbersText(ids.filter((id) => !unfinished.has(id)))],
      'index-spread-done',
    )
    if (cut.length === 0) return
    await db.query(
      `update index_spread s set after_column = x.c, after_id = x.f
       from unnest($1::bigint[], $2::int[], $3::bigint[]) as x(id, c, f) where s.kind = 'l' and s.id = x.id`,
      [cut.map(({ id }) => id), cut.map(({ columnId }) => columnId), cut.map(({ fromId }) => fromId)],
      'index-spread-progress',
    )
  })
  return links.length
}

/**
 * No batch is running, so each waiting entry is built after the change, and need not be queued twice. The lookup is by object,
 * whatever the statistics say: not by priority, which all entries may share.
 */
async function queue(db: Queryable, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return
  await db.query(
    `insert into index_queue (system_object_id, priority, bulk)
     select id, 1, $2::bool from unnest($1::bigint[]) as id
     where (select true from index_queue q where q.system_object_id = id and q.priority + 0 = 1 limit 1) is null
     order by id`,
    [numbersText(ids), ids.length > mostSingle],
    'index-spread-queue',
  )
}
