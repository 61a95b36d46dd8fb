/**
 * Compares the index with the objects, some at a time with pauses between, whenever nothing waits to be indexed: each document is
 * built once more and compared with the stored one. Missing, surplus or different documents are queued, and are right again moments
 * later. The process that is the indexer does this, one process at a time. The progress is stored in the database.
 */
import type { Logger } from 'pino'
import type { Queryable } from '../../platform/postgres/db.ts'
import * as state from './check-store.ts'
import * as store from './store.ts'
import type { DocumentBatch, IndexConnection } from './target.ts'
import { inIndexTransaction } from './transaction.ts'

/** Objects of one step. It takes some hundredths of a second, for which new saves wait. */
const stepSize = 100
/** The highest number of surplus documents in one step. */
const mostSurplus = 1000
/** The highest number of repetitions of a step because objects were saved meanwhile. */
const mostTries = 5
const nothing: state.Drift = { missing: [], surplus: [], different: [] }
/** The highest number of objects of one step in an event. */
const mostNamed = 20

export interface IndexCheckDeps {
  readonly log: Logger
  /** Seconds between two steps (0: no check), and between the end of a round and the next one. */
  readonly pause: number
  readonly every: number
  /** Documents of the objects as they should be now. */
  readonly make: (db: Queryable, ids: readonly number[]) => Promise<DocumentBatch>
  /** Documents of objects that no longer exist, between two ids; null: to the end. */
  readonly surplus: (db: Queryable, after: number, upto: number | null, limit: number) => Promise<readonly number[]>
  /** In the transaction of the step: makes the index write these documents anew, even if they seem to be up to date. */
  readonly distrust: (db: Queryable, ids: readonly number[]) => Promise<void>
  /** Fails when the datamodel of the compared documents is not the current one. */
  readonly assertCurrent: (db: Queryable) => Promise<void>
  /** Reports objects that are indexed again. */
  readonly onRepair: (db: Queryable, found: readonly store.Failed[]) => Promise<void>
}

/** `step` returns whether something was queued. To be called by the indexer, while nothing waits. */
export function createIndexCheck(deps: IndexCheckDeps) {
  /** How often the objects of this step were compared while something was saved. */
  let tries = 0

  async function step({ db, client }: IndexConnection): Promise<boolean> {
    const after = await state.claimStep(db, deps)
    if (after === null) return false
    const ids = await state.nextObjects(db, after, stepSize)
    const upto = ids.length < stepSize ? null : (ids.at(-1) as number)
    const compared = ids.length === 0 ? { missing: [], different: [] } : await compare({ db, client }, ids)
    const surplus = await deps.surplus(db, after, upto, mostSurplus)
    let drift: state.Drift = { ...compared, surplus }
    let found = drift.missing.length + drift.different.length + surplus.length
    // An object that was saved meanwhile, and objects that show data of it, would look like drift. They are compared once more.
    if (found > 0 && (await state.anyWaiting(db))) {
      if (++tries < mostTries) return false
      // Objects are being saved all the time: the next round will compare these again.
      drift = nothing
      found = 0
    }
    tries = 0
    await inIndexTransaction(db, async () => {
      await deps.assertCurrent(db)
      if (found > 0) await repair(db, drift)
      // If there are more surplus documents than one step takes, the next step continues with them.
      await state.noteStep(db, surplus.length === mostSurplus ? after : upto, ids.length, drift)
    })
    return found > 0
  }

  async function compare(connection: IndexConnection, ids: readonly number[]) {
    const failing = await state.readFailing(connection.db, ids)
    const batch = await deps.make(
      connection.db,
      ids.filter((id) => !failing.has(id)),
    )
    return batch.compare(connection)
  }

  async function repair(db: Queryable, { missing, surplus, different }: state.Drift): Promise<void> {
    const named = [
      ...missing.map((id) => ({ id, error: 'the object has no document' })),
      ...surplus.map((id) => ({ id, error: 'the document has no object' })),
      ...different.map((id) => ({ id, error: 'the document is not what the object says' })),
    ]
    await deps.distrust(db, different)
    await store.queueAnew(
      db,
      named.map(({ id }) => id),
    )
    await deps.onRepair(db, named.slice(0, mostNamed))
    deps.log.warn(
      { missing: missing.length, surplus: surplus.length, different: different.length },
      'the search index differed from the objects; what did is indexed anew',
    )
  }

  return { step }
}
