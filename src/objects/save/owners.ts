import type { Actor } from '../../platform/actor.ts'
import type { Queryable } from '../../platform/postgres/db.ts'
import { storedReference } from '../../platform/values/system-references.ts'
import type { FindPeople } from '../../rights/service.ts'
import type { OwnerRef } from './request/refs.ts'

/**
 * Users and groups named as owners, by reference object; absent: there is no such one that the actor may read. They are kept until the
 * transaction ends. A constant number of statements.
 */
export async function findOwners(
  principals: { find: FindPeople },
  from: Queryable,
  actor: Actor,
  refs: readonly OwnerRef[],
): Promise<ReadonlyMap<OwnerRef, number>> {
  const ids = (kind: OwnerRef['kind']) =>
    refs.flatMap((ref) => (ref.kind === kind && ref.id !== undefined ? [ref.id] : []))
  const references = (kind: OwnerRef['kind']) =>
    refs.flatMap((ref) =>
      ref.kind === kind && ref.reference !== undefined ? [storedReference(kind, ref.reference)] : [],
    )
  const found = await principals.find(
    from,
    {
      userIds: ids('user'),
      userReferences: references('user'),
      groupIds: ids('group'),
      groupReferences: references('group'),
      namedBy: { actor, userIds: [], groupIds: [] },
      kept: 'all',
    },
    [],
  )
  const result = new Map<OwnerRef, number>()
  for (const ref of refs) {
    const people = ref.kind === 'user' ? found.users : found.groups
    const reference = storedReference(ref.kind, ref.reference ?? '')
    const match = people.find((person) =>
      ref.id === undefined ? person.reference === reference : person.id === ref.id,
    )
    if (match) result.set(ref, match.id)
  }
  return result
}
