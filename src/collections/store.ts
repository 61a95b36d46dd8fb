import { type Actor, visitorOf } from '../platform/actor.ts'
import type { Queryable, Tx } from '../platform/postgres/db.ts'
import { numbersText, textsText } from '../platform/postgres/literals.ts'
import { actingRight, inForceSql } from '../rights/service.ts'
import type { Ancestor, Collection, CollectionFields } from './model.ts'
import { lockedSql } from './pins/store.ts'

const columns = `c.id, c.version, c.parent_id as "parentId", c.path, c.is_system as "isSystem", c.user_id as "userId",
  c.owner_user as "ownerId", o.archived_at is not null as unreachable,
  coalesce(c.reference, 'user:ref:' || u.reference, 'user:id:' || u.id) as reference, c.shortname, c.uuid, c.type,
  c.displayname, c.description, c.webfrontend_props as "webfrontendProps", c.create_object as "createObject",
  c.children_allowed as "childrenAllowed", c.objects_allowed as "objectsAllowed", c.acl, c.private_acl as "privateAcl", c.pin_id as "pinId",
  c.object_count as "objectCount", c.invalid_acl as "invalidAcl", c.remote_count as "remoteCount", c.created_at as "createdAt",
  c.updated_at as "updatedAt", c.upload_generation as "uploadGeneration"`
const from = 'collection c join "user" o on o.id = c.owner_user left join "user" u on u.id = c.user_id'

export async function findCollections(q: Queryable, ids: readonly number[]): Promise<Collection[]> {
  if (ids.length === 0) return []
  const { rows } = await q.query<Collection>(
    `select ${columns} from ${from} where c.id = any($1::bigint[]) order by c.id`,
    [numbersText(ids)],
    'collections-find',
  )
  return rows
}

/** The collections and all their ancestors, for a caller; null: for no particular user, who has entered no PIN. */
export async function findChains(
  q: Queryable,
  ids: readonly number[],
  actor: Actor | null,
): Promise<Map<number, Ancestor>> {
  if (ids.length === 0) return new Map()
  const { rows } = await q.query<Ancestor>(
    `select c.id, c.version, c.parent_id as "parentId", c.reference, c.displayname, c.acl, c.private_acl as "privateAcl",
       c.create_object as "createObject", ${lockedSql('$2', '$3')} as locked
     from collection c
     where c.id = any(array(select unnest(path) from collection where id = any($1::bigint[])))`,
    [numbersText(ids), actor?.userId ?? 0, actor ? visitorOf(actor) : Buffer.alloc(0)],
    'collections-chains',
  )
  return new Map(rows.map((row) => [row.id, row]))
}

const ofUserReference = 'user:ref:'
const ofUserId = 'user:id:'

/** References that name the top collection of a user; no other collection can have such a reference. */
export const isReserved = (reference: string): boolean => /^(system|user:ref|user:id):/.test(reference)

/** Ids of collections by reference. The top collection of a user can also be named by the reference of the user. */
export async function findByReference(
  q: Queryable,
  references: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (references.length === 0) return new Map()
  const after = (prefix: string) =>
    references.flatMap((each) => (each.startsWith(prefix) ? each.slice(prefix.length) : []))
  const ids = after(ofUserId).filter((id) => /^[1-9]\d{0,14}$/.test(id))
  const { rows } = await q.query<{ id: number; reference: string }>(
    `select id, reference from collection where reference = any($1::text[])
     union all
     select c.id, $2 || u.reference from "user" u join collection c on c.user_id = u.id where u.reference = any($3::text[])
     union all
     select c.id, $4 || c.user_id from collection c where c.user_id = any($5::bigint[])`,
    [textsText(references), ofUserReference, textsText(after(ofUserReference)), ofUserId, `{${ids.join()}}`],
    'collections-by-reference',
  )
  return new Map(rows.map(({ reference, id }) => [reference, id]))
}

/** Invalidates the present upload addresses of the collections. */
export async function renewUploads(tx: Tx, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return
  await tx.query(
    'update collection set upload_generation = upload_generation + 1 where id = any($1::bigint[])',
    [numbersText(ids)],
    'collections-renew-uploads',
  )
}

export async function topOfUser(q: Queryable, userId: number): Promise<number | null> {
  const { rows } = await q.query<{ id: number }>(
    'select id from collection where user_id = $1',
    [userId],
    'collections-top',
  )
  return rows[0]?.id ?? null
}

/**
 * `seen (id)`: the collections that the caller may see as their owner, or by a grant on them or on an ancestor.
 * Collections of archived users are left out. Parameters 1 and 2 are `callerValues`. A private collection blocks all
 * grants from above except sticky ones. With 93,000 collections of 3,000 users and no statistics, a list took 1.5 s with
 * the recursion in the statement.
 */
const seenSql = (user: string, principals: string): string => `with granted (id, sticky) as (
    select c.id, bool_or(coalesce((g->>'sticky')::boolean, false))
    from collection c cross join lateral jsonb_array_elements(c.acl) as a (g)
    where jsonb_path_query_array(c.acl, '$[*].who') ?| ${principals}::text[] and c.acl <> '[]'
      and g->>'who' = any(${principals}::text[]) and g->'rights' ? 'bag_read' and not g ? 'tagfilter' and ${inForceSql('g')}
    group by c.id
  ), seen (id) as (
    select distinct id from (
      select id from collection where owner_user = ${user}
      union all
      select b.id from (select array_agg(id) as ids, array_agg(sticky) as sticky from granted) g
      cross join lateral collections_below(g.ids, g.sticky) b
      where not exists (select from "user" o where o.id = b.owner_user and o.archived_at is not null)) s
  )`

const seen = seenSql('$1', '$2')

function callerValues(actor: Actor): [number, string] {
  return [actor.userId, textsText([`u${actor.userId}`, ...actor.groupIds.map((id) => `g${id}`)])]
}

/** Root sees all collections. */
const everything = `with seen (id) as (select id from collection where $1::bigint is not null and $2::text[] is not null)`

/** `seen (id)` for other statements, with its parameters and a part of their names. */
export function seenBy(actor: Actor): {
  readonly sql: string
  readonly values: readonly unknown[]
  readonly name: string
} {
  return { sql: actor.isRoot ? everything : seen, values: callerValues(actor), name: actor.isRoot ? '-root' : '' }
}

/** Whether the caller may see a collection `t`. */
export function seenCondition(actor: Actor, bind: (value: unknown) => string): string {
  if (actor.isRoot) return 'true'
  const [user, principals] = callerValues(actor)
  return `t.id in (${seenSql(bind(user), bind(principals))} select id from seen)`
}

export interface Page {
  readonly limit: number
  readonly offset: number
}

/**
 * The collections that the caller may see, parents before their children; `parentId`: only those directly below, null:
 * those without parent.
 */
export async function listSeen(
  q: Queryable,
  actor: Actor,
  { limit, offset }: Page,
  parentId?: number | null,
): Promise<Collection[]> {
  const { sql, values, name } = seenBy(actor)
  const [where, kind] =
    parentId === undefined
      ? ['$5::bigint is null', 'all']
      : parentId === null
        ? ['parent_id is null and $5::bigint is null', 'tops']
        : ['parent_id = $5::bigint', 'below']
  const { rows } = await q.query<{ id: number }>(
    actor.isRoot
      ? `select id from collection where ${where} and $1::bigint is not null and $2::text[] is not null
         order by path limit $3 offset $4`
      : `${sql} select c.id from seen s cross join lateral (
           select id, path from collection where id = s.id and ${where} limit 1) c
         order by c.path limit $3 offset $4`,
    [...values, limit, offset, parentId ?? null],
    `collections-list-${kind}${name}`,
  )
  const ids = rows.map(({ id }) => id)
  const found = new Map((await findCollections(q, ids)).map((one) => [one.id, one]))
  return ids.flatMap((id) => found.get(id) ?? [])
}

/** Numbers about the collections below one. Collections that the caller may not see are not counted. */
export interface Figures {
  readonly hasChildren: boolean
  readonly countRecursive: number
}

export async function figuresOf(
  q: Queryable,
  actor: Actor,
  ids: readonly number[],
): Promise<ReadonlyMap<number, Figures>> {
  if (ids.length === 0) return new Map()
  const { sql, values, name } = seenBy(actor)
  const { rows } = await q.query<Figures & { id: number }>(
    `${sql}
     select p.id, bool_or(d.parent_id is not distinct from p.id) as "hasChildren", sum(d.object_count) as "countRecursive"
     from unnest($3::bigint[]) as p (id) cross join lateral (
       select id, parent_id, object_count from collection where path @> array[p.id] offset 0) d
     ${actor.isRoot ? '' : 'join seen s on s.id = d.id'} group by p.id`,
    [...values, numbersText(ids)],
    `collections-figures${name}`,
  )
  return new Map(
    rows.map(({ id, hasChildren, countRecursive }) => [id, { hasChildren, countRecursive: Number(countRecursive) }]),
  )
}

/** The collections that the caller may see, among the given ones. */
export async function visibleOf(q: Queryable, actor: Actor, ids: readonly number[]): Promise<ReadonlySet<number>> {
  if (ids.length === 0) return new Set()
  const { rows } = await q.query<{ id: number }>(
    `${seenBy(actor).sql} select id from seen where id = any($3::bigint[])`,
    [...callerValues(actor), numbersText(ids)],
    `collections-seen${seenBy(actor).name}`,
  )
  return new Set(rows.map(({ id }) => id))
}

/**
 * Moving or deleting collections locks the tree exclusively; creating or changing some takes a shared lock. So a place in
 * the tree stays as it was read until the transaction ends.
 */
export async function lockTree(tx: Tx, mode: 'alone' | 'shared'): Promise<void> {
  const lock = mode === 'alone' ? 'pg_advisory_xact_lock' : 'pg_advisory_xact_lock_shared'
  await tx.query(`select ${lock}(hashtextextended('collections', 0))`, [], `collections-lock-${mode}`)
}

/** Locks collections, lowest id first: their lists and settings stay until the transaction ends. */
export async function lockCollections(tx: Tx, ids: readonly number[]): Promise<Collection[]> {
  if (ids.length === 0) return []
  await tx.query(
    'select from collection where id = any($1::bigint[]) order by id for no key update',
    [numbersText(ids)],
    'collections-lock',
  )
  // Another statement sees changes made meanwhile.
  return findCollections(tx, ids)
}

/** A collection and all below it. */
export async function findSubtree(tx: Tx, id: number): Promise<Collection[]> {
  const { rows } = await tx.query<Collection>(
    `select ${columns} from ${from} where c.path @> array[$1::bigint] order by c.path`,
    [id],
    'collections-subtree',
  )
  return rows
}

export async function newIds(tx: Tx, count: number): Promise<number[]> {
  if (count === 0) return []
  const { rows } = await tx.query<{ id: number }>(
    `select nextval('collection_id_seq') as id from generate_series(1, $1)`,
    [count],
    'collections-new-ids',
  )
  return rows.map(({ id }) => id)
}

/** A collection to be written. `previousPath` is null for a new one. */
export interface Written extends CollectionFields {
  readonly id: number
  readonly parentId: number | null
  readonly path: readonly number[]
  readonly ownerId: number
  readonly previousPath: readonly number[] | null
  readonly userId: number | null
  readonly version: number
  /** The hash of the new PIN; null: the stored one stays, if the collection is to have a PIN. */
  readonly pinHash: string | null
}

const fields = `reference text, shortname text, uuid text, type text, displayname jsonb, description jsonb,
  webfrontend_props jsonb, create_object jsonb, children_allowed boolean, objects_allowed boolean, acl jsonb,
  private_acl boolean`
const names = fields.replaceAll(/ (text|jsonb|boolean)/g, '')

function toRow(one: Written): Record<string, unknown> {
  return {
    id: one.id,
    version: one.version,
    parent_id: one.parentId,
    path: one.path,
    owner_user: one.ownerId,
    // The reference of a top collection follows its user.
    reference: one.userId === null ? one.reference : null,
    shortname: one.shortname,
    uuid: one.uuid,
    type: one.type,
    displayname: one.displayname,
    description: one.description,
    webfrontend_props: one.webfrontendProps,
    create_object: one.createObject,
    children_allowed: one.childrenAllowed,
    objects_allowed: one.objectsAllowed,
    acl: one.acl,
    private_acl: one.privateAcl,
    pin_id: one.pinId,
    pin_hash: one.pinHash,
  }
}

export async function insertCollections(tx: Tx, written: readonly Written[]): Promise<void> {
  if (written.length === 0) return
  const own = 'id, version, parent_id, path, owner_user'
  await tx.query(
    `insert into collection (${own}, ${names}, pin_id, pin_hash) overriding system value
     select ${own}, ${names}, pin_id, pin_hash from jsonb_to_recordset($1)
       as n (id bigint, version int, parent_id bigint, path bigint[], owner_user bigint, pin_id uuid, pin_hash text, ${fields})`,
    [JSON.stringify(written.map(toRow))],
    'collections-insert',
  )
}

export async function updateCollections(tx: Tx, written: readonly Written[]): Promise<void> {
  if (written.length === 0) return
  await tx.query(
    `update collection c set version = n.version, parent_id = n.parent_id, updated_at = now(),
       pin_id = n.pin_id, pin_hash = case when n.pin_id is null then null else coalesce(n.pin_hash, c.pin_hash) end,
       (${names}) = (${names.replaceAll(/\w+/g, 'n.$&')})
     from jsonb_to_recordset($1)
       as n (id bigint, version int, parent_id bigint, pin_id uuid, pin_hash text, ${fields}) where c.id = n.id`,
    [JSON.stringify(written.map(toRow))],
    'collections-update',
  )
}

/** Makes the top collection of a user an ordinary one. */
export async function releaseTop(tx: Tx, id: number): Promise<void> {
  await tx.query('update collection set user_id = null, is_system = false where id = $1', [id])
}

/** Moves collections, and all below them, to their new place and owner. Returns the level of the lowest one. */
export async function moveCollections(tx: Tx, moved: readonly Written[]): Promise<number> {
  if (moved.length === 0) return 0
  const places = moved.map(({ id, path, previousPath, ownerId }) => ({
    id,
    path,
    depth: previousPath?.length ?? 0,
    owner: ownerId,
  }))
  // Where one is moved out of another that is moved as well, collections below count with the lower one. Addresses for
  // uploads act in the name of the owner: a change of the owner makes former ones invalid.
  const { rows } = await tx.query<{ deepest: number }>(
    `with moved as (update collection c set path = f.path || c.path[f.depth + 1:], owner_user = f.owner,
       upload_generation = c.upload_generation + (c.owner_user <> f.owner)::int
     from (select distinct on (d.id) d.id, m.path, m.depth, m.owner
       from jsonb_to_recordset($1) as m (id bigint, path bigint[], depth int, owner bigint)
       join collection d on d.path @> array[m.id] order by d.id, m.depth desc) f
     where c.id = f.id returning cardinality(c.path) as level)
     select coalesce(max(level), 0) as deepest from moved`,
    [JSON.stringify(places)],
    'collections-move',
  )
  return rows[0]?.deepest ?? 0
}

/**
 * Finds the collections that have a grant by which others act in the name of the owner, or that have a descendant with
 * such a grant.
 */
export async function actingBelow(tx: Tx, ids: readonly number[]): Promise<ReadonlySet<number>> {
  const { rows } = await tx.query<{ id: number }>(
    `select n.id from unnest($1::bigint[]) as n (id) where exists (
       select from collection c, jsonb_array_elements(c.acl) as entry
       where c.path @> array[n.id] and entry -> 'rights' ? $2)`,
    [numbersText(ids), actingRight],
    'collections-acting-below',
  )
  return new Set(rows.map(({ id }) => id))
}

export async function deleteCollections(tx: Tx, ids: readonly number[]): Promise<void> {
  await tx.query('delete from collection where id = any($1::bigint[])', [numbersText(ids)], 'collections-delete')
}

export interface Owned {
  readonly collections: number
  readonly entries: number
}

/** The collections and entries of each of these users. */
export async function ownedBy(tx: Tx, userIds: readonly number[]): Promise<Owned[]> {
  const { rows } = await tx.query<Owned>(
    `select count(*)::int as collections, sum(object_count)::float8 as entries from collection
     where owner_user = any($1::bigint[]) group by owner_user`,
    [numbersText(userIds)],
    'collections-owned',
  )
  return rows
}
