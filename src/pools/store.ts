import type { Queryable, Tx } from '../platform/postgres/db.ts'
import type { Person } from '../rights/model.ts'
import type { StoredPool } from './model.ts'

/** All pools. There are thousands at most: they are always read as a whole. */
export async function loadPools(from: Queryable): Promise<StoredPool[]> {
  const { rows } = await from.query<PoolRow>(
    `select id, version, parent_id as "parentId", reference, is_system as "isSystem",
            owner_user as "ownerUser", owner_group as "ownerGroup",
            contact_user as "contactUser", contact_group as "contactGroup",
            name, shortname, description, comment, settings, acl, private_acl as "privateAcl",
            tags, private_tags as "privateTags", transitions, private_transitions as "privateTransitions",
            standard_masks as "standardMasks", created_at as "createdAt", updated_at as "updatedAt"
     from pool order by id`,
    [],
    'pools-load',
  )
  return rows.map(({ ownerUser, ownerGroup, contactUser, contactGroup, ...pool }) => ({
    ...pool,
    owner: person(ownerUser, ownerGroup),
    contact: person(contactUser, contactGroup),
  }))
}

interface PoolRow extends Omit<StoredPool, 'owner' | 'contact'> {
  ownerUser: number | null
  ownerGroup: number | null
  contactUser: number | null
  contactGroup: number | null
}

function person(user: number | null, group: number | null): Person | null {
  if (user !== null) return `u${user}`
  return group === null ? null : `g${group}`
}

/** Allows one writer of the tree at a time; readers, and saves that use a pool (`lockForUse`), go on. */
export async function lockTree(tx: Tx): Promise<void> {
  await tx.query('lock table pool in share row exclusive mode', [], 'pools-lock-tree')
}

/** Keeps the pools from being deleted until the transaction ends; returns the existing ones. */
export async function lockForUse(tx: Tx, ids: readonly number[]): Promise<Set<number>> {
  const { rows } = await tx.query<{ id: number }>(
    'select id from pool where id = any($1) order by id for key share',
    [ids],
    'pools-lock-for-use',
  )
  return new Set(rows.map((row) => row.id))
}

export async function lockForDelete(tx: Tx, ids: readonly number[]): Promise<void> {
  await tx.query('select id from pool where id = any($1) order by id for update', [ids], 'pools-lock-for-delete')
}

export async function newPoolIds(tx: Tx, count: number): Promise<number[]> {
  if (count === 0) return []
  const { rows } = await tx.query<{ id: number }>(
    `select nextval('pool_id_seq') as id from generate_series(1, $1)`,
    [count],
    'pools-new-ids',
  )
  return rows.map((row) => row.id)
}

const columns = `id bigint, version int, parent_id bigint, reference text, owner_user bigint, owner_group bigint,
  contact_user bigint, contact_group bigint, name jsonb, shortname jsonb, description jsonb, comment text,
  settings jsonb, acl jsonb, private_acl boolean, tags jsonb, private_tags boolean, transitions jsonb,
  private_transitions boolean, standard_masks jsonb`
const names = columns.replaceAll(/ (bigint|int|text|jsonb|boolean)/g, '')
const updated = names.split(/,\s*/).filter((name) => name !== 'id')

export async function insertPools(tx: Tx, pools: readonly StoredPool[]): Promise<void> {
  if (pools.length === 0) return
  await tx.query(
    `insert into pool (${names}) select ${names} from jsonb_to_recordset($1) as sent (${columns})`,
    [JSON.stringify(pools.map(toRow))],
    'pools-insert',
  )
}

export async function updatePools(tx: Tx, pools: readonly StoredPool[]): Promise<void> {
  if (pools.length === 0) return
  await tx.query(
    `update pool set ${updated.map((name) => `${name} = sent.${name}`).join(', ')}, updated_at = now()
     from jsonb_to_recordset($1) as sent (${columns}) where pool.id = sent.id`,
    [JSON.stringify(pools.map(toRow))],
    'pools-update',
  )
}

export async function deletePools(tx: Tx, ids: readonly number[]): Promise<void> {
  await tx.query('delete from pool where id = any($1)', [ids], 'pools-delete')
}

function toRow(pool: StoredPool): Record<string, unknown> {
  return {
    id: pool.id,
    version: pool.version,
    parent_id: pool.parentId,
    reference: pool.reference,
    ...columnsOf('owner', pool.owner),
    ...columnsOf('contact', pool.contact),
    name: pool.name,
    shortname: pool.shortname,
    description: pool.description,
    comment: pool.comment,
    settings: pool.settings,
    acl: pool.acl,
    private_acl: pool.privateAcl,
    tags: pool.tags,
    private_tags: pool.privateTags,
    transitions: pool.transitions,
    private_transitions: pool.privateTransitions,
    standard_masks: pool.standardMasks,
  }
}

function columnsOf(name: string, who: Person | null): Record<string, number | null> {
  const id = who === null ? null : Number(who.slice(1))
  const isUser = who?.startsWith('u') === true
  return { [`${name}_user`]: isUser ? id : null, [`${name}_group`]: isUser ? null : id }
}

/** How many pools set each of the tags. */
export function countPoolTags(tx: Tx, tagIds: readonly number[]): Promise<Map<number, number>> {
  return countTags(
    tx,
    `select (tag ->> 'id')::bigint as id, count(*) as count from pool, jsonb_array_elements(tags) as tag
     where (tag ->> 'id')::bigint = any($1) group by 1`,
    tagIds,
  )
}

/** The number of grants on pools with conditions on each of the tags. */
export function countGrantTags(tx: Tx, tagIds: readonly number[]): Promise<Map<number, number>> {
  return countTags(
    tx,
    `select tag::bigint as id, count(*) as count
     from pool, jsonb_array_elements(acl) as entry, jsonb_path_query(entry, '$.tagfilter.*[*]') as tag
     where tag::bigint = any($1) group by 1`,
    tagIds,
  )
}

async function countTags(tx: Tx, text: string, tagIds: readonly number[]): Promise<Map<number, number>> {
  const { rows } = await tx.query<{ id: number; count: number }>(text, [tagIds])
  return new Map(rows.map(({ id, count }) => [id, count]))
}

export async function removePoolTags(tx: Tx, tagIds: readonly number[]): Promise<void> {
  await tx.query(
    `update pool set version = version + 1, updated_at = now(), tags = (
       select coalesce(jsonb_agg(tag order by place), '[]')
       from jsonb_array_elements(tags) with ordinality as each (tag, place)
       where (tag ->> 'id')::bigint <> all($1))
     where exists (select from jsonb_array_elements(tags) as tag where (tag ->> 'id')::bigint = any($1))`,
    [tagIds],
  )
}

/** Replaces a deleted user or group as owner of pools, and removes it as contact. Returns whether any pool changed. */
export async function replacePerson(tx: Queryable, kind: 'user' | 'group', from: number, to: number): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update pool set version = version + 1, updated_at = now(),
       owner_${kind} = case owner_${kind} when $1 then $2 else owner_${kind} end,
       contact_${kind} = nullif(contact_${kind}, $1)
     where owner_${kind} = $1 or contact_${kind} = $1`,
    [from, to],
  )
  return rowCount > 0
}

/** The number of pools that refer to the mapping. */
export async function countMapping(tx: Tx, id: number): Promise<number> {
  const { rows } = await tx.query<{ count: number }>(
    `select count(*)::int as count from pool where exists (
       select from jsonb_each(settings) s where s.key like 'mapping_%' and s.value = to_jsonb($1::bigint))`,
    [id],
  )
  return rows[0]?.count ?? 0
}

/** Removes the references of pools to the mapping. */
export async function removeMapping(tx: Tx, id: number): Promise<void> {
  await tx.query(
    `update pool set version = version + 1, updated_at = now(), settings = settings || n.none
     from (select p.id, jsonb_object_agg(s.key, 'none') as none from pool p, jsonb_each(p.settings) s
           where s.key like 'mapping_%' and s.value = to_jsonb($1::bigint) group by p.id) n
     where n.id = pool.id`,
    [id],
  )
}
