import type { Actor } from '../platform/actor.ts'
import type { Queryable } from '../platform/db.ts'
import { AppError } from '../platform/errors.ts'
import type { RightsHooks } from './records.ts'
import { reachOf } from './standing.ts'
import { covers } from './system-rights.ts'
import { findGroupSummaries } from './users/store.ts'

/**
 * Whoever makes an account is put into these groups: to name one takes what it takes to put a user into it.
 * @throws {AppError} `ColumnNeedsSystemRoot`
 */
export async function requireMayJoin(
  from: Queryable,
  actor: Actor,
  rights: RightsHooks,
  groupIds: readonly number[],
): Promise<void> {
  if (actor.isRoot || groupIds.length === 0) return
  const named = (await findGroupSummaries(from, groupIds)).filter(({ id }) => groupIds.includes(id))
  const beyond = named.find(({ systemRights }) => !covers(actor.systemRights, systemRights))
  const reached = await reachOf(actor, rights, from)(named.map(({ id }) => `g${id}`))
  if (!beyond && reached) return
  throw new AppError('ColumnNeedsSystemRoot', {
    column: 'registration.groups',
    ...(beyond ? { group: beyond.id } : {}),
  })
}
