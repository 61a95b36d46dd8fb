import type { Model } from '../../datamodel/model.ts'
import type { Tx } from '../../platform/postgres/db.ts'
import type { ObjectDeps } from './context.ts'

/**
 * Does the work of a transaction while PostgreSQL checks that the datamodel is the one in memory, and locks it. The statements of
 * `work` are sent together with this check. `work` must await the result before it writes.
 * @throws {AppError} `DatabaseLockError` when the datamodel was committed in between, whatever the result of `work`.
 */
export async function onCurrentModel<T>(
  { datamodel }: Pick<ObjectDeps, 'datamodel'>,
  tx: Tx,
  model: Model,
  work: (current: Promise<void>) => Promise<T>,
): Promise<T> {
  const current = datamodel.assertCurrent(tx, model)
  const [now, worked] = await Promise.allSettled([current, work(current)])
  if (now.status === 'rejected') throw now.reason
  if (worked.status === 'rejected') throw worked.reason
  return worked.value
}
