import pg from 'pg'
import type { Deadline } from '../limits/deadline.ts'
import { isTracing, traced } from '../tracing/spans.ts'
import { cancelStatement } from './cancel-statement.ts'
import { giveUp } from './connection-watch.ts'
import { translate } from './failures.ts'
import { readYielding } from './read-yielding.ts'
import { statementSpan, tellStatement } from './statements.ts'

export interface QueryResult<T> {
  rows: T[]
  rowCount: number
}

/** Number of attempts, one a second, to cancel a statement before its connection is closed. */
const mostCancels = 10

export async function run<T extends object>(
  target: pg.PoolClient,
  text: string,
  values: readonly unknown[] = [],
  name?: string,
): Promise<QueryResult<T> & { command: string }> {
  const end = tellStatement(text, name)
  try {
    const config = { text, values: values as unknown[], ...(name ? { name } : {}) }
    const result = await (isTracing()
      ? traced(
          () => statementSpan(text, name),
          () => send<T>(target, config),
        )
      : send<T>(target, config))
    return { rows: result.rows, rowCount: result.rowCount ?? 0, command: result.command }
  } catch (error) {
    // The stack of the caller is more useful than that of the driver's callback.
    if (error instanceof pg.DatabaseError) Error.captureStackTrace(error)
    throw translate(error)
  } finally {
    end?.()
  }
}

/**
 * Not with the promise that the driver makes itself: with it, V8 treated half of all rows as old, as if each of these promises
 * referred to the one before, and collected its whole heap once a second in vain.
 */
function send<T extends object>(target: pg.PoolClient, config: pg.QueryConfig): Promise<pg.QueryResult<T>> {
  return new Promise((resolve, reject) => {
    target.query<T>(config, (error, result) => (error ? reject(error) : resolve(result)))
  })
}

async function runInTurns<T extends object>(
  client: pg.PoolClient,
  text: string,
  values?: readonly unknown[],
  name?: string,
): Promise<QueryResult<T>> {
  const ended = readYielding(client)
  try {
    return await run<T>(client, text, values, name)
  } finally {
    ended()
  }
}

/** A statement that is cancelled when the deadline is over. */
export async function runWithin<T extends object>(
  deadline: Deadline,
  client: pg.PoolClient,
  text: string,
  values?: readonly unknown[],
  name?: string,
  cancellable: Promise<unknown> = Promise.resolve(),
): Promise<QueryResult<T>> {
  if (deadline.neverEnds) return runInTurns(client, text, values, name)
  deadline.check()
  const { left } = deadline
  const begun = performance.now()
  let least = 0
  let cancelling: Promise<void> | null = null
  let again: NodeJS.Timeout | undefined
  let cancels = 0
  const cancel = (): void => {
    cancels++
    // The server has been asked to cancel, and does not end the statement.
    if (cancels > mostCancels) giveUp(client)
    // Never cancels the beginning of a transaction: its next statements are already sent.
    cancelling = cancellable.then(() => cancelStatement(client))
    // The statement may not have arrived yet when it was cancelled.
    again = setTimeout(cancel, 1000)
  }
  const onTimeOver = (): void => {
    least = left
    cancel()
  }
  const timer = Number.isFinite(left) ? setTimeout(onTimeOver, left) : undefined
  const forget = deadline.onOver(cancel)
  try {
    const [ended] = await Promise.allSettled([runInTurns<T>(client, text, values, name)])
    deadline.spend(Math.max(least, performance.now() - begun))
    if (ended.status === 'fulfilled') return ended.value
    throw (cancelling && deadline.over) ?? ended.reason
  } finally {
    clearTimeout(timer)
    clearTimeout(again)
    forget()
    // A pending cancel could end the next statement on this connection.
    await cancelling
  }
}
