import type { Model } from '../../datamodel/model.ts'
import type { Tx } from '../../platform/postgres/db.ts'
import type { ObjectDeps } from './context.ts'

/**
 * Does the work of a transaction while PostgreSQL makes sure that the datamodel is the one in memory, and keeps it so:
 * whatever `work` asks of the database leaves with that question. Before it writes it awaits the answer.
 * @throws {AppError} `DatabaseLockError` when a commit of the datamodel came between, whatever the work made of it.
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
