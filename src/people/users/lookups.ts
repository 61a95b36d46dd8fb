import type { Actor } from '../../platform/actor.ts'
import { AppError, badRequest } from '../../platform/errors.ts'
import { hasSystemRight } from '../../platform/http/system-right.ts'
import type { Tx } from '../../platform/postgres/db.ts'
import type { StoredUser } from '../model.ts'
import { type PersonRight, rightsById } from '../person-rights.ts'
import { type Reference, referenceOf } from '../principals.ts'
import type { UserInput } from '../schema.ts'
import type { UserDraft } from './draft.ts'
import * as store from './store.ts'

/** One entry of the request while it is processed. */
export interface Item {
  readonly input: UserInput
  readonly path: string
  readonly reference: Reference | null
  readonly passwordHash: string | null
  stored: StoredUser | null
  /** The rights of the actor on the stored user. */
  rights: ReadonlySet<PersonRight>
}

/** Groups that the request names. */
export function groupsNamed(items: readonly Item[]): Map<Item, Reference[]> {
  return new Map(
    items.map((item) => [
      item,
      (item.input._groups ?? []).map((entry, index) => {
        const path = `${item.path}._groups[${index}].group`
        const reference = referenceOf('group', entry.group, path)
        if (!reference) throw badRequest(`${path} needs _id or lookup:_id`, { path })
        return reference
      }),
    ]),
  )
}

export interface Assigned {
  /** Null: absent in the request, so unchanged. */
  readonly groupIds: ReadonlyMap<Item, readonly number[] | null>
  readonly summaries: readonly store.GroupSummary[]
  /** Items whose added and removed groups are all groups on which the actor holds `link`, with `link` on the user. */
  readonly linked: ReadonlySet<Item>
}

/**
 * An actor with the right `link` on a user decides about the groups on which it also holds `link`, and about no others: groups that
 * it cannot see stay unchanged.
 */
export async function withinLinks(
  actor: Actor,
  items: readonly Item[],
  assigned: Omit<Assigned, 'linked'>,
  tx: Tx,
): Promise<Assigned> {
  const linking = items.filter((item) => item.rights.has('link') && assigned.groupIds.get(item))
  if (linking.length === 0) return { ...assigned, linked: new Set() }
  const groups = assigned.summaries.map(({ id }) => id)
  const held = await rightsById(tx, 'group', groups, actor)
  const mayLink = (group: number): boolean => held.get(group)?.has('link') === true
  const groupIds = new Map(assigned.groupIds)
  const linked = new Set<Item>()
  for (const item of linking) {
    const before = item.stored?.groupIds ?? []
    const sent = groupIds.get(item) ?? []
    const kept = hasSystemRight(actor, 'system.user') ? [] : before.filter((id) => !mayLink(id))
    const after = [...new Set([...kept, ...sent])]
    groupIds.set(item, after)
    const changed = [...before.filter((id) => !after.includes(id)), ...after.filter((id) => !before.includes(id))]
    if (changed.every(mayLink)) linked.add(item)
  }
  return { ...assigned, groupIds, linked }
}

/** Groups that users were put into. Groups of their type come back with every record, so naming those is no change. */
export async function assignedGroups(
  items: readonly Item[],
  drafts: readonly UserDraft[],
  named: ReadonlyMap<Item, readonly Reference[]>,
  found: ReadonlyMap<Reference, number>,
  tx: Tx,
): Promise<Omit<Assigned, 'linked'>> {
  const ids = [...found].filter(([reference]) => reference.kind === 'group').map(([, id]) => id)
  const before = items.flatMap((item) => item.stored?.groupIds ?? [])
  const summaries = await store.findGroupSummaries(tx, [...new Set([...ids, ...before])])
  const groupIds = new Map(
    items.map((item, index) => {
      const types: readonly unknown[] = [drafts[index]?.type, item.stored?.type]
      const assigned = (named.get(item) ?? []).flatMap((reference) => {
        const group = summaries.find((summary) => summary.id === found.get(reference))
        if (!group || group.memberTypes.some((type) => types.includes(type))) return []
        if (group.type === 'system')
          throw new AppError('GroupTypeNotAllowed', { path: reference.path, group: group.id })
        return [group.id]
      })
      return [item, item.input._groups === undefined ? null : [...new Set(assigned)]] as const
    }),
  )
  return { groupIds, summaries }
}
