import type { Tx } from '../../platform/db.ts'
import { AppError, badRequest } from '../../platform/errors.ts'
import type { StoredUser } from '../model.ts'
import { type Reference, referenceOf } from '../principals.ts'
import type { UserInput } from '../schema.ts'
import type { UserDraft } from './draft.ts'
import * as store from './store.ts'

/** One entry of the request on its way. */
export interface Item {
  readonly input: UserInput
  readonly path: string
  readonly reference: Reference | null
  readonly passwordHash: string | null
  stored: StoredUser | null
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
  /** Null: not said, so as before. */
  readonly groupIds: ReadonlyMap<Item, readonly number[] | null>
  readonly summaries: readonly store.GroupSummary[]
}

/** Groups that users were put into. Groups of their type come back with every record, so naming those is no change. */
export async function assignedGroups(
  items: readonly Item[],
  drafts: readonly UserDraft[],
  named: ReadonlyMap<Item, readonly Reference[]>,
  found: ReadonlyMap<Reference, number>,
  tx: Tx,
): Promise<Assigned> {
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
