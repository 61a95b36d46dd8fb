import type { Actor } from '../platform/actor.ts'
import { AppError } from '../platform/errors.ts'
import type { CallerRights } from './model.ts'

/**
 * Settings that give rights on objects anywhere require the right to give them anywhere: `bag_acl` on the root pool.
 * @throws {AppError} `RightRequired`
 */
export async function requireGivingEverywhere(
  rights: { forActor(actor: Actor): Promise<CallerRights> },
  actor: Actor,
  path: string,
): Promise<void> {
  if (actor.isRoot || (await rights.forActor(actor)).mayRootPool('bag_acl')) return
  throw new AppError(
    'RightRequired',
    { right: 'bag_acl', path },
    { message: `${path} gives rights on objects: that takes bag_acl on the root pool` },
  )
}

/** The right to act in the name of the owner of a collection. Only this right allows that. */
export const actingRight = 'create_in_collection'
