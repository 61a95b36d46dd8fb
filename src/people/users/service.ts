/** Users as records: reading, saving, removing. */

import { type ForgottenPerson, forgetPerson } from '../../events/service.ts'
import type { Actor } from '../../platform/actor.ts'
import { AppError, badRequest } from '../../platform/errors.ts'
import { hasSystemRight, type NeededRight } from '../../platform/http/system-right.ts'
import type { Queryable } from '../../platform/postgres/db.ts'
import { beginsWithDay } from '../../platform/values/moments.ts'
import type { Task } from '../../platform/values/tasks.ts'
import { effectiveOnUser } from '../effective-rights.ts'
import { readableGroups } from '../groups/store.ts'
import { type StoredUser, userTypes } from '../model.ts'
import { noRights, type PersonRight, rightsById } from '../person-rights.ts'
import { manyUsersReadable, principalsOf, readsAllUsers } from '../readable.ts'
import type { UserInput, UserOutput, UserQuery } from '../schema.ts'
import type { UserDependencies } from './deps.ts'
import { enterPins, isOnlyPins } from './pins.ts'
import { forgetJob, type RemoveOptions, removeUser } from './remove.ts'
import { groupsOf, renderUser, type View } from './render.ts'
import { type SaveOptions, type SaveResult, saveUsers } from './save.ts'
import * as store from './store.ts'

/** Required for removing users. Changing the own record does not require it. */
export const manageUsers: NeededRight = { name: 'system.user' }

export type { DeletePolicy } from './remove.ts'
export type { SaveOptions } from './save.ts'

export type Answer = { kind: 'confirm'; tasks: Task[] } | { kind: 'done'; users: UserOutput[] }

export type UserService = ReturnType<typeof createUserService>

export function createUserService(deps: UserDependencies) {
  const { db, principals, rights } = deps
  deps.jobs.register<ForgottenPerson>(forgetJob, (person) => forgetPerson(db, person), 'standard')

  /** Users as the actor may see them, in the given order, with a constant number of statements. */
  async function render(from: Queryable, actor: Actor, users: readonly StoredUser[]): Promise<UserOutput[]> {
    const manages = hasSystemRight(actor, 'system.user')
    const ids = users.map(({ id }) => id)
    const [groups, names, held, shownFactors, own] = await Promise.all([
      store.findGroupSummaries(from, [...new Set(users.flatMap((user) => user.groupIds))]),
      principals.ownerNames(from, users, actor.languages),
      actor.isRoot ? new Map<number, ReadonlySet<PersonRight>>() : rightsById(from, 'user', ids, actor),
      deps.factors.shown(
        from,
        ids.filter((id) => manages || id === actor.userId),
      ),
      ids.includes(actor.userId) ? deps.pins.enteredBy(from, actor) : [],
    ])
    const links = !manages && [...held.values()].some((one) => one.has('link'))
    const groupIds = links ? groups.map(({ id }) => id) : []
    const linkable = [...(await rightsById(from, 'group', groupIds, actor))].filter(([, one]) => one.has('link'))
    const lists = users.map(({ id, acl }) => (manages || held.get(id)?.has('acl') ? acl : []))
    const acls = lists.some(({ length }) => length > 0) ? await rights.renderAcls(from, lists, actor.languages) : []
    const factors = new Map(shownFactors.map((one) => [one.userId, one]))
    return users.map((user, index) => {
      const view: View = manages ? 'manager' : user.id === actor.userId ? 'self' : 'other'
      const factor = factors.get(user.id) ?? null
      return renderUser(user, {
        ...{ view, factor, groups, names, languages: actor.languages },
        pins: user.id === actor.userId ? own : [],
        acl: acls[index] ?? [],
        rights: held.get(user.id) ?? noRights,
        effective: effectiveOnUser(
          actor,
          user,
          held.get(user.id) ?? noRights,
          groupsOf(user, groups).map(({ systemRights }) => systemRights),
        ),
        linkable: new Set(linkable.map(([id]) => id)),
      })
    })
  }

  const readerOf = (actor: Actor) =>
    readsAllUsers(actor) ? null : { userId: actor.userId, principals: principalsOf(actor) }

  /** Only readers of a group may know its members. */
  async function groupsKnownTo(actor: Actor, ids: readonly number[]): Promise<readonly number[]> {
    const reader = readerOf(actor)
    return reader ? [...(await readableGroups(db, ids, { ...reader, groupIds: actor.groupIds }))] : ids
  }

  async function byIds(actor: Actor, ids: readonly number[]): Promise<UserOutput[]> {
    const users = new Map((await store.findUsers(db, ids)).map((user) => [user.id, user]))
    const ordered = ids.map((id) => users.get(id)).filter((user) => user !== undefined)
    return render(db, actor, ordered)
  }

  return {
    /** A page of the users that the actor may read, by id. */
    async list(actor: Actor, query: UserQuery): Promise<UserOutput[]> {
      assertNoHash(query)
      const types = query.type === undefined ? null : listOf(query.type)
      const unknown = types?.find((type) => !(userTypes as readonly string[]).includes(type))
      if (unknown !== undefined) throw badRequest('type is not a user type', { name: 'type', value: unknown })
      const users = await store.listUsers(db, {
        limit: query.limit,
        offset: query.offset,
        types,
        hiddenTypes,
        groupIds:
          query.group_ids === undefined ? null : await groupsKnownTo(actor, idsOf(query.group_ids, 'group_ids')),
        changedSince: dateOf(query.changed_since, 'changed_since'),
        archivedSince: query.archived_since === 'null' ? null : dateOf(query.archived_since, 'archived_since'),
        withoutArchived: query.archived_since === 'null',
        reader: readerOf(actor),
      })
      return render(db, actor, users)
    },

    /**
     * For searches: the users that the caller may read, and the fields that it sees. As in a list, without archived ones and
     * guests.
     */
    records: {
      access(actor: Actor, bind: (value: unknown) => string) {
        const reader = readerOf(actor)
        const readable =
          reader === null ? 'true' : manyUsersReadable(`${bind(reader.principals)}::text[]`, bind(reader.userId))
        const manages = hasSystemRight(actor, 'system.user')
        const self = bind(actor.userId)
        return {
          // As the index of the users that are listed has it, so it is no parameter.
          condition: `t.archived_at is null and t.type <> all('{${hiddenTypes.join()}}'::text[]) and ${readable}`,
          shown: { managers: manages, self: manages || ((t: string) => `${t}.id = ${self}`) },
        }
      },
      async render(actor: Actor, ids: readonly number[]): Promise<ReadonlyMap<number, UserOutput>> {
        return new Map((await byIds(actor, ids)).map((one) => [one.user._id, one]))
      },
    },

    /** @throws {AppError} `UserNotFound`, also when the actor may not read it. */
    async read(actor: Actor, id: number, query: { include_password?: boolean } = {}): Promise<UserOutput[]> {
      assertNoHash(query)
      const [user] = await store.findUsers(db, [id])
      const reader = readerOf(actor)
      const readable = reader === null || (await store.readableUsers(db, [id], reader)).has(id)
      if (!user || !readable) throw new AppError('UserNotFound', { _id: id })
      return render(db, actor, [user])
    },

    /** Gives for each caller the users that it may read. Callers who may read all users also get ids of deleted ones. */
    async readable(ids: readonly number[]): Promise<(actor: Actor) => ReadonlySet<number>> {
      const found = await store.readersOfUsers(db, ids)
      return (actor) => {
        if (readerOf(actor) === null) return new Set(ids)
        const principals = new Set(principalsOf(actor))
        return new Set(
          found.flatMap(({ id, readers }) =>
            id === actor.userId || readers.some((who) => principals.has(who)) ? id : [],
          ),
        )
      }
    },

    /** Creates and updates users, all or none. */
    async save(actor: Actor, inputs: readonly UserInput[], options: SaveOptions): Promise<Answer> {
      const enter = await enterPins(deps, actor, inputs)
      const records = inputs.filter((input) => !isOnlyPins(input))
      if (records.length === 0) await db.transaction(enter)
      const result: SaveResult =
        records.length === 0 ? { kind: 'done', ids: [] } : await saveUsers(deps, actor, records, options, enter)
      if (result.kind === 'confirm') return result
      const saved = result.ids.values()
      const ids = inputs.map((input) => (isOnlyPins(input) ? actor.userId : (saved.next().value as number)))
      return { kind: 'done', users: await byIds(actor, ids) }
    },

    async remove(actor: Actor, id: number, options: RemoveOptions): Promise<Answer> {
      const result = await removeUser(deps, actor, id, options)
      return result.kind === 'confirm' ? result : { kind: 'done', users: await render(db, actor, [result.user]) }
    },

    /** The user's own view of itself, for its session. */
    own: async (actor: Actor): Promise<UserOutput | null> => (await byIds(actor, [actor.userId]))[0] ?? null,
  }
}

/** Types that are listed only on request. */
const hiddenTypes = ['anonymous', 'collection'] as const

/** Password hashes never leave the service, not even for root: they are worth an offline attack. */
function assertNoHash(query: { include_password?: boolean }): void {
  if (query.include_password) throw new AppError('UrlParameterNotSupported', { param: 'include_password' })
}

function listOf(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
}

function idsOf(text: string, name: string): number[] {
  return listOf(text).map((item) => {
    const id = Number(item)
    if (!/^\d{1,15}$/.test(item) || id < 1)
      throw badRequest(`${name} must be ids separated by commas`, { name, value: item })
    return id
  })
}

/** Years that PostgreSQL and people agree on. */
function dateOf(text: string | undefined, name: string): Date | null {
  if (text === undefined || text === '') return null
  const date = new Date(text)
  if (!beginsWithDay(text) || Number.isNaN(date.getTime())) {
    throw badRequest(`${name} must be a datetime (ISO 8601)`, { name, value: text.slice(0, 100) })
  }
  return date
}
