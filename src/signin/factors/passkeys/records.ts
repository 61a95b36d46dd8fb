import { rootUserId } from '../../../people/model.ts'
import type { FreshSignIn } from '../../../people/service.ts'
import {
  assertMayChange,
  findGroupSummaries,
  findUsers,
  groupsOf,
  noRights,
  principalsOfUser,
  type RightsHooks,
  reachOf,
} from '../../../people/service.ts'
import type { Actor } from '../../../platform/actor.ts'
import { AppError, badRequest } from '../../../platform/errors.ts'
import { requireRight } from '../../../platform/http/system-right.ts'
import type { Db, Tx } from '../../../platform/postgres/db.ts'
import type { Factors } from '../service.ts'
import { shownName } from './name.ts'
import { listPasskeys, ownerOfPasskey, type Passkey } from './store.ts'

export interface PasskeyRecordDependencies {
  db: Db
  factors: Pick<Factors, 'changeFor'>
  rights: RightsHooks
  freshSignIn: FreshSignIn
}

export type PasskeyRecords = ReturnType<typeof createPasskeyRecords>

/**
 * Management of passkeys without a page: list, rename, remove. They can only be created on pages, where a device answers. The
 * passkeys of another user require the right to reset the second factors of that user.
 */
export function createPasskeyRecords({ db, factors, rights, freshSignIn }: PasskeyRecordDependencies) {
  function assertManages(actor: Actor, userId: number): void {
    requireRight(actor, { name: 'system.user' })
    if (userId === rootUserId) requireRight(actor, { name: 'system.root' })
  }

  /** The owner, if the caller may know it. Callers must not learn whether an id of another user exists. */
  async function userOf(actor: Actor, id: string): Promise<number> {
    const userId = await ownerOfPasskey(db, id)
    if (userId === null) throw new AppError('ResourceNotFound', { _id: id })
    try {
      if (userId !== actor.userId) assertManages(actor, userId)
    } catch (cause) {
      throw new AppError('ResourceNotFound', { _id: id }, { cause })
    }
    return userId
  }

  /** The same rights as for the reset of all of them (`_two_factor_reset_passkey`). */
  async function assertMayReset(tx: Tx, actor: Actor, userId: number): Promise<void> {
    if (actor.isRoot) return
    const [user] = await findUsers(tx, [userId])
    if (!user) throw new AppError('UserNotFound', { _id: userId })
    const groups = groupsOf(user, await findGroupSummaries(tx, user.groupIds))
    const member = '_two_factor_reset_passkey'
    assertMayChange(actor, {
      ...{ stored: user, rights: noRights, profile: false, linked: false, addedGroups: [] },
      protectedChanges: [member],
      systemRights: user.systemRights,
      effectiveRights: [user.systemRights, ...groups.map((group) => group.systemRights)],
    })
    const principals = principalsOfUser(
      userId,
      groups.map((group) => group.id),
    )
    if (!(await reachOf(actor, rights, tx)(principals))) throw new AppError('ColumnNeedsSystemRoot', { column: member })
  }

  return {
    /** Oldest first. */
    async list(actor: Actor, userId = actor.userId) {
      if (userId !== actor.userId) assertManages(actor, userId)
      return (await listPasskeys(db, userId)).map(shown)
    },

    /** @throws {AppError} `ResourceNotFound` when there is none with this id for the caller. */
    async rename(actor: Actor, id: string, given: string) {
      const name = shownName(given)
      if (name === '') throw badRequest('name must be given', { name: 'name' })
      const userId = await userOf(actor, id)
      const outcome = await factors.changeFor(actor, userId, { kind: 'rename', id, name }, async (tx) => {
        if (userId !== actor.userId) await assertMayReset(tx, actor, userId)
      })
      const passkey = (await listPasskeys(db, userId)).find((one) => one.id === id)
      if (outcome !== 'done' || !passkey) throw new AppError('ResourceNotFound', { _id: id })
      return shown(passkey)
    },

    /** @throws {AppError} `ResourceNotFound`; `FreshSignInRequired` when the caller's sign-in is too old. */
    async remove(actor: Actor, id: string): Promise<void> {
      const userId = await userOf(actor, id)
      const outcome = await factors.changeFor(actor, userId, { kind: 'passkey', id }, (tx) =>
        userId === actor.userId ? freshSignIn(tx, actor) : assertMayReset(tx, actor, userId),
      )
      if (outcome === 'none') throw new AppError('ResourceNotFound', { _id: id })
      if (outcome === 'last')
        throw badRequest('A group asks for a second factor, and this is the only one.', { _id: id })
    },
  }
}

function shown(passkey: Passkey) {
  return {
    _id: passkey.id,
    user_id: passkey.userId,
    name: passkey.name,
    backed_up: passkey.backedUp,
    created_at: passkey.createdAt.toISOString(),
    ...(passkey.lastUsedAt ? { last_used_at: passkey.lastUsedAt.toISOString() } : {}),
  }
}
