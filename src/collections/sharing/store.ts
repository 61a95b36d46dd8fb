import type { Queryable } from '../../platform/postgres/db.ts'
import { numbersText } from '../../platform/postgres/literals.ts'
import { createYielder, yieldIfDue } from '../../platform/process/cooperative-yield.ts'
import { pinHolder, type StoredGrant } from '../../rights/service.ts'

export interface SharedRow {
  readonly id: number
  readonly parentId: number | null
  readonly ownerId: number
  readonly acl: readonly StoredGrant[]
  readonly privateAcl: boolean
  readonly version: number
  readonly count: number
  readonly pinId: string | null
}

/** The users who have entered the present PINs of the collections, as `pinHolder` names them. */
export async function pinHolders(q: Queryable, ids: readonly number[]): Promise<ReadonlyMap<number, Set<string>>> {
  const holders = new Map(ids.map((id) => [id, new Set<string>()]))
  if (ids.length === 0) return holders
  const { rows } = await q.query<{ id: number; userId: number; visitor: string }>(
    `select p.collection_id as id, p.user_id as "userId", encode(p.visitor, 'hex') as visitor
     from collection_pin p join collection c on c.id = p.collection_id and c.pin_id = p.pin_id
     where p.collection_id = any($1::bigint[])`,
    [numbersText(ids)],
    'collections-shared-pins',
  )
  for (const { id, userId, visitor } of rows) holders.get(id)?.add(pinHolder(userId, visitor))
  return holders
}

/** Collections with grants that give rights on objects, and all below them; collections of archived users share nothing. */
export async function sharedRows(q: Queryable): Promise<SharedRow[]> {
  const { rows } = await q.query<SharedRow>(
    `with sharing as materialized (select id from collection where acl <> '[]' and gives_on_objects(acl))
     select c.id, c.parent_id as "parentId", c.owner_user as "ownerId", c.acl, c.private_acl as "privateAcl",
       c.list_version as version, c.object_count as count, c.pin_id as "pinId"
     from collection c join "user" o on o.id = c.owner_user
     where c.path && (select coalesce(array_agg(id), '{}') from sharing) and o.archived_at is null
     order by cardinality(c.path), c.id`,
    [],
    'collections-shared',
  )
  return rows
}

export interface OwnerRow {
  readonly userId: number
  readonly groupIds: readonly number[]
  readonly root: boolean
}

/** Users with their groups: assigned ones, and those of all users of their type. */
export async function ownerRows(q: Queryable, userIds: readonly number[]): Promise<OwnerRow[]> {
  const { rows } = await q.query<OwnerRow>(
    `select u.id as "userId", u.system_rights ? 'system.root' or coalesce(bool_or(g.system_rights ? 'system.root'), false) as root,
       coalesce(array_agg(g.id order by g.id) filter (where g.id is not null), '{}') as "groupIds"
     from "user" u left join "group" g on u.type = any(g.member_types)
       or exists (select from user_group m where m.user_id = u.id and m.group_id = g.id)
     where u.id = any($1::bigint[]) group by u.id`,
    [numbersText(userIds)],
    'collections-owners',
  )
  return rows
}

/** Entries that are read with one statement. */
const mostEntries = 500_000

/** The objects of this instance in lists, ascending. */
export async function listsOf(
  q: Queryable,
  wanted: readonly { readonly id: number; readonly count: number }[],
): Promise<ReadonlyMap<number, Float64Array>> {
  const lists = new Map<number, Float64Array>()
  const yielder = createYielder()
  for (const ids of inParts(wanted)) {
    const { rows } = await q.query<{ id: number; ids: Buffer }>(
      `select collection_id as id, string_agg(int8send(object_id), ''::bytea order by object_id) as ids
       from collection_object where collection_id = any($1::bigint[]) and object_id > 0 group by 1`,
      [numbersText(ids)],
      'collections-shared-lists',
    )
    for (const row of rows) {
      lists.set(row.id, toNumbers(row.ids))
      await yieldIfDue(yielder)
    }
  }
  return lists
}

function inParts(wanted: readonly { readonly id: number; readonly count: number }[]): number[][] {
  const parts: number[][] = []
  let room = 0
  for (const { id, count } of wanted) {
    const part = parts.at(-1)
    if (part && count <= room) part.push(id)
    else {
      parts.push([id])
      room = mostEntries
    }
    room -= count
  }
  return parts
}

/** Eight bytes each, the most significant byte first. */
function toNumbers(bytes: Buffer): Float64Array {
  const numbers = new Float64Array(bytes.length / 8)
  for (let index = 0; index < numbers.length; index++) {
    numbers[index] = bytes.readUInt32BE(8 * index) * 2 ** 32 + bytes.readUInt32BE(8 * index + 4)
  }
  return numbers
}
