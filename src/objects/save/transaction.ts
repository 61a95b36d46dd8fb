import type { Deadline } from '../../platform/limits/deadline.ts'
import type { Tx } from '../../platform/postgres/db.ts'
import type { ObjectDeps } from './context.ts'

/**
 * The end of a transaction of a change: the change is stored, or rolled back. A dry run takes the same path. A look reads the
 * result that a change would have, all of it from one snapshot.
 */
export type Ending = 'store' | 'dry run' | 'look'

/** Number of objects from which a request counts as large. */
const mostSmall = 1000

/** Carries the result out of a transaction that is rolled back. */
class Undone<T> extends Error {
  readonly result: T

  constructor(result: T) {
    super('undone')
    this.result = result
  }
}

export async function inTransaction<T>(
  deps: Pick<ObjectDeps, 'db' | 'heavyRequests' | 'afterRefusal'>,
  { ending, objects, deadline }: { ending: Ending; objects: number; deadline: Deadline },
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  const options = {
    deadline,
    eager: true,
    byIndexes: true,
    ...(ending === 'look' ? { isolation: 'repeatable read' as const } : {}),
  }
  const run = async (): Promise<T> =>
    deps.db.transaction(async (tx) => {
      const result = await work(tx)
      if (ending !== 'store') throw new Undone(result)
      return result
    }, options)
  try {
    return await (objects > mostSmall ? deps.heavyRequests.run(deadline, run) : run())
  } catch (error) {
    if (error instanceof Undone) return error.result as T
    if (ending === 'store') await deps.afterRefusal(error)
    throw error
  }
}
