/** Grants on collections. */
import { isDeepStrictEqual } from 'node:util'
import type { Actor } from '../platform/actor.ts'
import type { Tx } from '../platform/postgres/db.ts'
import { actingRight, type RightsService, type StoredGrant } from '../rights/service.ts'

type Change = Parameters<RightsService['validateAcls']>[3][number]

/** The lists in stored form; undefined where a list is absent. */
export async function checkedAcls(
  { tx, actor, grants }: { tx: Tx; actor: Actor; grants: Pick<RightsService, 'validateAcls'> },
  changes: readonly Change[],
): Promise<(readonly StoredGrant[] | undefined)[]> {
  const said = changes.filter(({ wire }) => wire !== undefined)
  const lists = said.length === 0 ? [] : await grants.validateAcls(tx, actor, 'collection', said)
  const next = lists.values()
  return changes.map(({ wire }) => (wire === undefined ? undefined : next.next().value))
}

/** Whether a list newly lets others act in the name of the owner, or changes how they do. */
export function givesActing(after: readonly StoredGrant[], before: readonly StoredGrant[]): boolean {
  const known = new Map(before.map((grant) => [grant.id, grant]))
  return after.some((grant) => grant.rights[actingRight] && !isDeepStrictEqual(grant, known.get(grant.id)))
}
