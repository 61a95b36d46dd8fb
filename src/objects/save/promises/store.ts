import type { Tx } from '../../../platform/postgres/db.ts'
import { numbersText, textsText } from '../../../platform/postgres/literals.ts'

/** An object that links name and that has not been created yet. */
export interface StoredPromise {
  /** The system object id that is reserved for it. */
  readonly id: number
  readonly objecttypeId: number
  readonly uuid: string
  /** The users whose saves have linked to it. */
  readonly users: readonly number[]
}

/** Locks are taken for groups of names: a large save would otherwise hold one for each of its objects. */
const nameGroups = 64
const lockSpace = 0x70726f6d

/**
 * A condition that is always true: the statement first takes the locks of the names in the parameter, shared, so that nobody
 * promises an object while another transaction creates it.
 */
export const withNamesShared = (parameter: string): string =>
  `(select count(pg_advisory_xact_lock_shared(${lockSpace}, g.n)) from (${groupsOf(parameter)}) g) >= 0`

function groupsOf(parameter: string): string {
  return `select distinct abs(hashtext(name) % ${nameGroups}) as n from unnest(${parameter}::text[]) as name order by 1`
}

/** Waits until no other transaction creates or promises objects with these names. */
export async function lockNames(tx: Tx, uuids: readonly string[]): Promise<void> {
  await tx.query(
    `select count(pg_advisory_xact_lock(${lockSpace}, g.n)) from (${groupsOf('$1')}) g`,
    [textsText(uuids)],
    'promise-names-lock',
  )
}

/** The names, of those given, that no object has and nobody has promised. */
export async function findUnknownNames(
  tx: Tx,
  names: readonly { readonly uuid: string; readonly objecttypeId: number }[],
): Promise<string[]> {
  const { rows } = await tx.query<{ uuid: string }>(
    `select distinct x.uuid from unnest($1::text[], $2::int[]) as x(uuid, objecttype)
     where not exists (select from object o where o.uuid = x.uuid)
       and not exists (select from object_promise p where p.uuid = x.uuid and p.objecttype = x.objecttype)`,
    [textsText(names.map(({ uuid }) => uuid)), numbersText(names.map(({ objecttypeId }) => objecttypeId))],
    'promise-names-unknown',
  )
  return rows.map(({ uuid }) => uuid)
}

/**
 * Promises by the names or ids of links. They stay until the transaction ends: the creation of the object waits for that, and then
 * finds the new links.
 */
export async function findPromises(
  tx: Tx,
  {
    uuids,
    ids,
    locks,
  }: { readonly uuids: readonly string[]; readonly ids: readonly number[]; readonly locks: boolean },
): Promise<StoredPromise[]> {
  const { rows } = await tx.query<StoredPromise>(
    `select id, objecttype as "objecttypeId", uuid, users from object_promise
     where (uuid = any($1::text[]) or id = any($2::bigint[])) and kept_at is null
     order by id ${locks ? 'for key share' : ''}`,
    [textsText(uuids), numbersText(ids)],
    locks ? 'promises-find' : 'promises-look',
  )
  return rows
}

/** A quota that new promises would exceed. */
export class TooManyPromises extends Error {}

/**
 * Stores new promises of a user.
 * @throws {TooManyPromises} when there would be more than `most`.
 */
export async function insertPromises(
  tx: Tx,
  promises: readonly Omit<StoredPromise, 'users'>[],
  { userId, most }: { readonly userId: number; readonly most: number },
): Promise<void> {
  const values = [
    numbersText(promises.map(({ id }) => id)),
    numbersText(promises.map(({ objecttypeId }) => objecttypeId)),
    textsText(promises.map(({ uuid }) => uuid)),
    userId,
    most,
  ]
  const insert = async (): Promise<boolean> => {
    const { rows } = await tx.query(
      `insert into object_promise (id, objecttype, uuid, users)
       select i, t, u, array[$4::bigint] from unnest($1::bigint[], $2::int[], $3::text[]) as x(i, t, u)
       where (select count(*) from object_promise where kept_at is null) + cardinality($1::bigint[]) <= $5::int
       returning id`,
      values,
      'promises-insert',
    )
    return rows.length > 0
  }
  if (await insert()) return
  await forgetUnlinked(tx)
  if (!(await insert())) throw new TooManyPromises()
}

/**
 * Deletes promises to which no object links any more. They are locked first: the second statement then sees the links of all
 * transactions that have used them.
 */
async function forgetUnlinked(tx: Tx): Promise<void> {
  const { rows } = await tx.query<{ id: number }>(
    `select id from object_promise p where kept_at is null and not exists (select from object_link l where l.to_id = p.id)
     order by id for update skip locked`,
    [],
  )
  await tx.query(
    `delete from object_promise p where id = any($1::bigint[]) and not exists (select from object_link l where l.to_id = p.id)`,
    [numbersText(rows.map(({ id }) => id))],
  )
}

/** Adds the user to promises of others. */
export async function joinPromises(tx: Tx, ids: readonly number[], userId: number): Promise<void> {
  await tx.query(
    'update object_promise set users = users || $2::bigint where id = any($1::bigint[]) and $2 <> all(users)',
    [numbersText(ids), userId],
    'promises-join',
  )
}

/** Marks promises as kept: the indexer then renews the objects that link to the new ones. */
export async function keepPromises(tx: Tx, ids: readonly number[]): Promise<void> {
  await tx.query(
    'update object_promise set kept_at = now() where id = any($1::bigint[])',
    [numbersText(ids)],
    'promises-keep',
  )
}
