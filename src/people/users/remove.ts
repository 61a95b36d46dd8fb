import type { BaseConfig } from '../../config/service.ts'
import type { Actor } from '../../platform/actor.ts'
import { AppError, badRequest, missingSystemRight } from '../../platform/errors.ts'
import { requireRight } from '../../platform/http/system-right.ts'
import type { Tx } from '../../platform/postgres/db.ts'
import { cancelButton, type Task } from '../../platform/values/tasks.ts'
import { principalsOfUser, reachOf } from '../escalation.ts'
import { deletedUserId, type StoredUser } from '../model.ts'
import { noRights, rightsById } from '../person-rights.ts'
import { readsAllUsers } from '../readable.ts'
import type { UserDependencies } from './deps.ts'
import { assertMayRemove } from './policy.ts'
import { pseudonymize } from './pseudonymize.ts'
import { groupsOf } from './render.ts'
import * as store from './store.ts'

/** Data that was removed from a user is removed from the log as well. */
export const forgetJob = 'users.forget'

export type DeletePolicy = 'delete' | 'archive' | 'unarchive'

export type RemoveResult = { kind: 'confirm'; tasks: Task[] } | { kind: 'done'; policy: DeletePolicy; user: StoredUser }

export interface RemoveOptions {
  readonly policy: DeletePolicy | undefined
  /** Whether the caller has confirmed the question about the user's collections. */
  readonly confirmed: boolean
  /** Whether the collections are transferred to the caller. */
  readonly transfer: boolean
}

/**
 * Deletes a user, archives it (it cannot sign in; its data stays except for what its groups remove), or takes it back from the
 * archive. Without a policy the base configuration decides; `ask` answers with the choices and changes nothing. After a deletion,
 * the system user `deleted_user` is the owner and author of the user's records.
 */
export function removeUser(
  deps: UserDependencies,
  actor: Actor,
  id: number,
  { policy: given, confirmed, transfer }: RemoveOptions,
): Promise<RemoveResult> {
  return deps.db.transaction(async (tx) => {
    const held = (await rightsById(tx, 'user', [id], actor)).get(id) ?? noRights
    const granted = held.has('delete')
    if (!granted) requireRight(actor, { name: 'system.user' })
    const known = readsAllUsers(actor) || held.size > 0 || id === actor.userId
    const [user] = known ? await store.lockUsers(tx, [id], []) : []
    if (!user) throw new AppError('UserNotFound', { _id: id })
    const groups = groupsOf(user, await store.findGroupSummaries(tx, user.groupIds))
    if (!granted) assertMayRemove(actor, user, [user.systemRights, ...groups.map((group) => group.systemRights)])
    const principals = principalsOfUser(
      id,
      groups.map((group) => group.id),
    )
    if (!granted && id !== actor.userId && !(await reachOf(actor, deps.rights, tx)(principals))) {
      throw missingSystemRight('system.root')
    }
    if (user.type === 'system') throw new AppError('DeleteSystemUser', { _id: id })
    const policy = given ?? defaultPolicy(deps.baseConfig.get())
    if (policy === null) return { kind: 'confirm', tasks: [choices(user)] }
    if (policy !== 'unarchive' && id === actor.userId) throw new AppError('UserDeleteSelf', { _id: id })
    assertPossible(user, policy)
    if (policy !== 'unarchive' && !confirmed) {
      const tasks = await questions(deps, tx, user, policy)
      if (tasks.length > 0) return { kind: 'confirm', tasks }
    }
    if (policy === 'delete') {
      await deps.sessions.endOfUsers(tx, [{ userId: id, reason: 'deleted' }], actor.remoteAddr)
      await deps.removal.collections.ownerGoes(tx, actor, { userId: id, name: user.generatedDisplayname, transfer })
      await deps.removal.replaceUser(tx, id, deletedUserId)
      await store.deleteUser(tx, id, deletedUserId)
      if (user.pictureId !== null) await deps.pictures.givenUp(tx, [user.pictureId])
    } else {
      await store.setArchived(tx, id, policy === 'archive')
      if (policy === 'archive') {
        await deps.sessions.endOfUsers(tx, [{ userId: id, reason: 'archived' }], actor.remoteAddr)
        const forgotten = await pseudonymize(
          tx,
          user,
          groups.map((group) => group.id),
          deps.pictures,
        )
        if (forgotten) await deps.jobs.enqueue(tx, forgetJob, forgotten)
      }
    }
    const after = policy === 'delete' ? user : ((await store.findUsers(tx, [id]))[0] ?? user)
    // The current name: the event must not contain names that were removed.
    const info = { login: after.login, displayname: after.generatedDisplayname, reference: after.reference }
    const type = policy === 'delete' ? 'USER_DELETE' : 'USER_UPDATE'
    await deps.events.append(tx, [{ type, actor, basetype: 'user', objectId: id, objectVersion: after.version, info }])
    await deps.principals.changed(tx)
    return { kind: 'done', policy, user: after }
  })
}

/** The questions about collections (decision 46). The chosen or default policy is included. */
async function questions(
  deps: UserDependencies,
  tx: Tx,
  { id, generatedDisplayname: name }: StoredUser,
  policy: 'delete' | 'archive',
): Promise<Task[]> {
  const { collections, shares } = await deps.removal.collections.heldBy(tx, id)
  if (collections === 0) return []
  const held = `${name} has ${collections} collections with ${shares} shares.`
  const confirm = { name: 'confirm', value: 'collections' }
  const carried = { text: policy, hidden: true, name: 'delete_policy', value: policy }
  if (policy === 'archive') {
    const message = `${held} They cannot be reached while the user is archived.`
    return [{ title: 'Collections', message, buttons: [{ text: 'Archive', ...confirm }, carried, cancelButton] }]
  }
  return [
    {
      title: 'Collections',
      message: `${held} They are deleted with the user, unless you take them over.`,
      form: [
        {
          label: 'Collections',
          type: 'select',
          name: '_transfer_collections',
          horizontal: false,
          options: [
            { text: 'delete them', value: '0', disabled: false },
            { text: 'make them mine', value: '1', disabled: false },
          ],
        },
      ],
      buttons: [{ text: 'Delete', ...confirm }, carried, cancelButton],
    },
  ]
}

function defaultPolicy({ user }: BaseConfig): DeletePolicy | null {
  return user.default_delete_policy === 'ask' ? null : user.default_delete_policy
}

function assertPossible({ id, archivedAt }: StoredUser, policy: DeletePolicy): void {
  if (policy === 'archive' && archivedAt) throw new AppError('UserArchived', { _id: id })
  if (policy === 'unarchive' && !archivedAt) throw badRequest('The user is not archived.', { _id: id })
}

function choices(user: StoredUser): Task {
  const choice = (value: DeletePolicy, text: string) => ({ text, name: 'delete_policy', value })
  return {
    title: 'Delete user',
    message: `What should happen to the user ${user.generatedDisplayname}?`,
    buttons: [
      user.archivedAt ? choice('unarchive', 'Take back from the archive') : choice('archive', 'Archive'),
      choice('delete', 'Delete'),
      cancelButton,
    ],
  }
}
