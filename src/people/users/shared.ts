/** Users that a grant on a collection creates: users of a link, and people who are known only by their mail address. */

import type { EventLog } from '../../events/service.ts'
import type { Actor } from '../../platform/actor.ts'
import { AppError } from '../../platform/errors.ts'
import { sharedReference } from '../../platform/limits/callers.ts'
import type { Queryable, Tx } from '../../platform/postgres/db.ts'
import { identityKey, type UserType } from '../model.ts'
import type { Principals } from '../principals.ts'
import { principalsOf, readsAllUsers } from '../readable.ts'
import type { AccountUuids } from './account-uuids.ts'
import { draftUser } from './draft.ts'
import * as store from './store.ts'

export interface SharedUserDeps {
  readonly events: EventLog
  readonly principals: Pick<Principals, 'changed'>
  readonly accountUuids: Pick<AccountUuids, 'give'>
  readonly clock: () => Date
}

/** A user to be created. `path` is the place in the request. */
export type NewSharedUser =
  | { readonly type: 'collection'; readonly path: string }
  | { readonly type: 'email'; readonly email: string; readonly language: string | null; readonly path: string }

/** Ids of the given users that have the type `collection`, by id and by reference. */
export async function linkUsers(
  q: Queryable,
  named: readonly (number | string)[],
): Promise<ReadonlyMap<number | string, number>> {
  if (named.length === 0) return new Map()
  const { rows } = await q.query<{ id: number; reference: string | null }>(
    `select id, reference from "user" where type = 'collection' and (id = any($1) or reference = any($2))`,
    [named.filter((by) => typeof by === 'number'), named.filter((by) => typeof by === 'string')],
    'shared_link_users',
  )
  return new Map<number | string, number>(
    rows.flatMap(({ id, reference }) => [[id, id] as const, ...(reference ? [[reference, id] as const] : [])]),
  )
}

/**
 * Creates users in the given order; returns their ids. A mail address that an existing user has gives that user.
 * @throws {AppError} `UserEmailMalformed`, `UserArchived`, `UserDuplicateEmail` for the address of a user that the caller may not
 * know
 */
export async function makeSharedUsers(
  deps: SharedUserDeps,
  tx: Tx,
  actor: Actor,
  wanted: readonly NewSharedUser[],
): Promise<number[]> {
  if (wanted.length === 0) return []
  const now = deps.clock()
  const keys = [...new Set(wanted.flatMap((one) => (one.type === 'email' ? identityKey(one.email) : [])))]
  await store.lockNames(tx, keys)
  const known = await knownAddresses(tx, actor, keys)
  const ids = new Map<string, number>()
  const fresh: { readonly key: string; readonly row: Omit<store.UserRow, 'id'> }[] = []
  const keyed = wanted.map((one, index) => {
    const key = one.type === 'email' ? identityKey(one.email) : `link ${index}`
    const found = known.get(key)
    if (found?.archived) throw new AppError('UserArchived', { path: one.path, email: key })
    if (found && !found.readable) throw new AppError('UserDuplicateEmail', { path: one.path, email: key })
    if (found) ids.set(key, found.id)
    else if (!fresh.some((other) => other.key === key)) fresh.push({ key, row: rowOf(one, now) })
    return key
  })
  const numbers = await store.newUserIds(tx, fresh.length)
  const rows = fresh.map(({ key, row }, index): store.UserRow => {
    const id = numbers[index] as number
    ids.set(key, id)
    return { ...row, id }
  })
  await store.insertUsers(tx, rows)
  await deps.accountUuids.give(
    tx,
    rows.map(({ id }) => id),
  )
  await deps.events.append(
    tx,
    rows.map((row) => ({
      type: 'USER_INSERT' as const,
      actor,
      basetype: 'user',
      objectId: row.id,
      objectVersion: 1,
      info: { login: row.login, displayname: row.generated_displayname, reference: row.reference },
    })),
  )
  await deps.principals.changed(tx)
  return keyed.map((key) => ids.get(key) as number)
}

function rowOf(one: NewSharedUser, now: Date): Omit<store.UserRow, 'id'> {
  const type: UserType = one.type
  const user =
    one.type === 'email'
      ? { type, email: one.email, ...(one.language === null ? {} : { frontend_language: one.language }) }
      : { type, displayname: 'Link' }
  const draft = draftUser({ _basetype: 'user', user }, null, one.path, now)
  return {
    ...draft,
    reference: one.type === 'collection' ? sharedReference(crypto.randomUUID()) : null,
    version: 1,
    password_hash: null,
    system_rights: {},
    acl: [],
    // No owner: managers of users change its record.
    owner_user: null,
    owner_group: null,
  }
}

interface KnownAddress {
  readonly key: string
  readonly id: number
  readonly archived: boolean
  /** Whether the actor may know the user. A user of type `email` is known to everyone who has the address. */
  readonly readable: boolean
}

async function knownAddresses(
  tx: Tx,
  actor: Actor,
  keys: readonly string[],
): Promise<ReadonlyMap<string, KnownAddress>> {
  if (keys.length === 0) return new Map()
  const { rows } = await tx.query<{ key: string; id: number; type: UserType; archived: boolean }>(
    `select k.key, u.id, u.type, u.archived_at is not null as archived from unnest($1::text[]) as k (key)
     cross join lateral (select id, type, archived_at from "user" where login_key = k.key or email_key = k.key
       order by (login_key = k.key) desc nulls last limit 1) u`,
    [keys],
    'shared_users_by_address',
  )
  const others = rows.filter(({ type }) => type !== 'email').map(({ id }) => id)
  const reader = { userId: actor.userId, principals: principalsOf(actor) }
  const readable = readsAllUsers(actor) ? new Set(others) : await store.readableUsers(tx, others, reader)
  return new Map(
    rows.map(({ key, id, type, archived }) => [
      key,
      { key, id, archived, readable: type === 'email' || readable.has(id) },
    ]),
  )
}
