/** Grants on collections as they may be made today. */
import type { Actor } from '../platform/actor.ts'
import { badRequest } from '../platform/errors.ts'
import type { Tx } from '../platform/postgres/db.ts'
import { type RightsService, type StoredGrant, waitingRights } from '../rights/service.ts'

type Change = Parameters<RightsService['validateAcls']>[3][number]

/**
 * The lists in stored form; undefined where nothing is said. A grant with a right that nothing asks for yet is refused: nobody
 * shares what does nothing.
 * @throws {AppError} naming right and place
 */
export async function checkedAcls(
  { tx, actor, grants }: { tx: Tx; actor: Actor; grants: Pick<RightsService, 'validateAcls'> },
  changes: readonly Change[],
): Promise<(readonly StoredGrant[] | undefined)[]> {
  const said = changes.flatMap((change, index) => (change.wire === undefined ? [] : [{ change, index }]))
  const lists =
    said.length === 0
      ? []
      : await grants.validateAcls(
          tx,
          actor,
          'collection',
          said.map(({ change }) => change),
        )
  const all = new Array<readonly StoredGrant[] | undefined>(changes.length).fill(undefined)
  for (const [place, { change, index }] of said.entries()) {
    const list = lists[place] ?? []
    for (const [entry, { rights }] of list.entries()) {
      const waiting = Object.keys(rights).find((name) => waitingRights('collection').has(name))
      if (waiting === undefined) continue
      const path = `${change.place}[${entry}].rights.${waiting}`
      throw badRequest(`${path}: a collection does not give this right yet`, { path, right: waiting })
    }
    all[index] = list
  }
  return all
}
