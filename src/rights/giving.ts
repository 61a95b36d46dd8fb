import type { Actor } from '../platform/actor.ts'
import { AppError } from '../platform/errors.ts'
import type { CallerRights } from './model.ts'

/**
 * What holds wherever objects lie and gives rights takes the right to give them there: `bag_acl` on the root pool.
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

/** The right by which others act in the name of the owner of a collection; nobody else gives it. */
export const actingRight = 'create_in_collection'
