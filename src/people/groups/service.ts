/** Groups as records: reading, saving, deleting. */
import type { Actor } from '../../platform/actor.ts'
import { AppError, badRequest, missingSystemRight } from '../../platform/errors.ts'
import { hasRight, type NeededRight, requireRight } from '../../platform/http/system-right.ts'
import type { Queryable } from '../../platform/postgres/db.ts'
import { effectiveOnGroup } from '../effective-rights.ts'
import { reachOf } from '../escalation.ts'
import { fallbackGroupId, type StoredGroup } from '../model.ts'
import { noRights, type PersonRight, rightsById } from '../person-rights.ts'
import { groupReadable, principalsOf, readsAllGroups } from '../readable.ts'
import type { GroupInput, GroupOutput, GroupQuery } from '../schema.ts'
import { covers } from '../system-rights.ts'
import type { GroupDependencies } from './deps.ts'
import { renderGroup } from './render.ts'
import { saveGroups } from './save.ts'
import * as store from './store.ts'

export const manageGroups: NeededRight = { name: 'system.group' }

export type GroupService = ReturnType<typeof createGroupService>

export function createGroupService(deps: GroupDependencies) {
  const { db, events, sessions, principals, rights, removal } = deps

  /** Groups as the actor may see them, in the given order, with a constant number of statements. */
  async function render(from: Queryable, actor: Actor, groups: readonly StoredGroup[]): Promise<GroupOutput[]> {
    const manages = hasRight(actor, manageGroups)
    const names = await principals.ownerNames(from, groups, actor.languages)
    const ids = groups.map(({ id }) => id)
    const held = actor.isRoot
      ? new Map<number, ReadonlySet<PersonRight>>()
      : await rightsById(from, 'group', ids, actor)
    const seesAcl = ({ id }: StoredGroup): boolean => manages || held.get(id)?.has('acl') === true
    const lists = groups.map((group) => (seesAcl(group) ? group.acl : []))
    const acls = lists.some(({ length }) => length > 0)
      ? await rights.renderAcls(from, lists, actor.languages)
      : lists.map(() => [])
    return groups.map((group, index) => {
      const acl = seesAcl(group) ? (acls[index] ?? []) : null
      const effective = effectiveOnGroup(actor, group, held.get(group.id) ?? noRights)
      return renderGroup(group, { manages, effective, names, acl, languages: actor.languages })
    })
  }

  const readerOf = (actor: Actor): store.Reader | null =>
    readsAllGroups(actor) ? null : { userId: actor.userId, groupIds: actor.groupIds, principals: principalsOf(actor) }

  return {
    /** A page of the groups that the actor may read, by id; none for a caller without user (AUTH-014). */
    async list(actor: Actor | null, { limit, offset, type }: GroupQuery): Promise<GroupOutput[]> {
      if (!actor) return []
      const groups = await store.listGroups(db, { limit, offset, types: typesIn(type), reader: readerOf(actor) })
      return render(db, actor, groups)
    },

    /** For searches: the groups that the caller may read, and the fields that it sees. */
    records: {
      access(actor: Actor, bind: (value: unknown) => string) {
        const reader = readerOf(actor)
        return {
          condition:
            reader === null
              ? 'true'
              : groupReadable(
                  `${bind(reader.principals)}::text[]`,
                  bind(reader.userId),
                  `${bind(reader.groupIds)}::bigint[]`,
                ),
          shown: { managers: hasRight(actor, manageGroups) },
        }
      },
      async render(actor: Actor, ids: readonly number[]): Promise<ReadonlyMap<number, GroupOutput>> {
        const wire = await render(db, actor, await store.findGroups(db, ids))
        return new Map(wire.map((one) => [one.group._id, one]))
      },
    },

    /** @throws {AppError} `ServerGeneric` when it does not exist, or the actor may not read it. */
    async read(actor: Actor, id: number): Promise<GroupOutput[]> {
      const [group] = await store.findGroups(db, [id])
      const reader = readerOf(actor)
      const readable = reader === null || (await store.readableGroups(db, [id], reader)).has(id)
      if (!group || !readable) throw unknownGroup(id)
      return render(db, actor, [group])
    },

    /** Gives for each caller the groups that it may read. Callers who may read all groups also get ids of deleted ones. */
    async readable(ids: readonly number[]): Promise<(actor: Actor) => ReadonlySet<number>> {
      const found = await store.readersOfGroups(db, ids)
      return (actor) => {
        if (readerOf(actor) === null) return new Set(ids)
        const principals = new Set(principalsOf(actor))
        return new Set(
          found.flatMap(({ id, readers }) =>
            actor.groupIds.includes(id) || readers.some((who) => principals.has(who)) ? id : [],
          ),
        )
      }
    },

    /** Creates and updates groups, all or none. */
    async save(actor: Actor, inputs: readonly GroupInput[]): Promise<GroupOutput[]> {
      const ids = await saveGroups(deps, actor, inputs)
      const groups = new Map((await store.findGroups(db, ids)).map((group) => [group.id, group]))
      return render(
        db,
        actor,
        ids.map((id) => groups.get(id)).filter((group) => group !== undefined),
      )
    },

    /** Deletes a group. The records that it owned get the fallback group as owner. Returns the group as it was. */
    remove(actor: Actor, id: number): Promise<GroupOutput[]> {
      requireRight(actor, manageGroups)
      return db.transaction(async (tx) => {
        const [group] = await store.lockGroups(tx, [id], [])
        const held = (await rightsById(tx, 'group', [id], actor)).get(id) ?? noRights
        const known = readsAllGroups(actor) || actor.groupIds.includes(id) || held.size > 0
        if (!group || !known) throw unknownGroup(id)
        if (group.type === 'system') throw new AppError('DeleteSystemGroup', { _id: id })
        const granted = actor.isRoot || held.has('delete')
        if (!granted && !covers(actor.systemRights, group.systemRights)) {
          throw missingSystemRight('system.root')
        }
        if (!granted && !(await reachOf(actor, rights, tx)([`g${id}`]))) {
          throw missingSystemRight('system.root')
        }
        await removal.replaceGroup(tx, id, fallbackGroupId)
        await store.deleteGroup(tx, id, fallbackGroupId)
        const { name, displayname, reference, version } = group
        await events.append(tx, [
          {
            type: 'GROUP_DELETE',
            actor,
            basetype: 'group',
            objectId: id,
            objectVersion: version,
            info: { name, displayname, reference },
          },
        ])
        await sessions.allChanged(tx)
        await principals.changed(tx)
        return render(tx, actor, [group])
      })
    },
  }
}

function unknownGroup(id: number): AppError {
  return badRequest('There is no group with this id.', { name: 'group', _id: id })
}

/** The types that a list is limited to; null: all. @throws {AppError} `ServerGeneric` with the name of an unknown one */
function typesIn(text: string | undefined): string[] | null {
  if (text === undefined || text === '') return null
  const types = text.split(',').map((type) => type.trim())
  const unknown = types.find((type) => type !== 'native' && type !== 'system')
  if (unknown !== undefined)
    throw badRequest('type is not a group type', { name: 'type', value: unknown.slice(0, 100) })
  return types
}
