import pg from 'pg'
import { AppError } from '../errors.ts'
import { noDeadline } from '../limits/deadline.ts'
import { connectPatience } from './connection-watch.ts'
import { type Db, onConnection, type Queryable } from './db.ts'
import { unreachable } from './failures.ts'
import { byIndexesAlways } from './planning.ts'
import { assertNoTransaction } from './transaction-guard.ts'

/** Milliseconds after which PostgreSQL ends a statement here: a longer one should not run on these connections. */
const longest = 10_000

export interface PipelinedReads extends Queryable {
  /** The same without ever waiting for a connection that requests use: fails where `query` would continue on such a connection. */
  readonly alone: Queryable
  close(): Promise<void>
}

interface Lane {
  inFlight: number
  client: Promise<pg.Client> | null
}

/**
 * A second way to the database for reads of microseconds that change nothing: a few connections on which statements
 * are sent without waiting for the answers to earlier ones. That saves the hand-over of a connection and most of the
 * wake-ups on both sides: half of the processor time of a small read, measured with bench/read.ts.
 *
 * A slow statement would delay those behind it, so all other statements belong on `db`, and longer reads have separate lanes. No
 * transactions, no cursors; rows are looked up by indexes (`planning.ts`).
 */
export function openPipelinedReads({ db, connections = 2 }: { db: Db; connections?: number }): PipelinedReads {
  const lanes: Lane[] = Array.from({ length: connections }, () => ({ inFlight: 0, client: null }))
  let closed = false

  function clientOf(lane: Lane): Promise<pg.Client> {
    if (lane.client) return lane.client
    const { options = '', ...rest } = db.pool.options
    const client = new pg.Client({
      ...rest,
      connectionTimeoutMillis: connectPatience,
      options: `${options} -c statement_timeout=${longest} ${byIndexesAlways}`,
      pipeline: true,
    })
    const forget = (): void => {
      if (lane.client === opening) lane.client = null
    }
    client.on('error', forget)
    client.once('end', forget)
    const opening = client.connect().then(
      () => {
        db.connections.add(client)
        return client
      },
      (error: unknown) => {
        forget()
        throw unreachable(error)
      },
    )
    lane.client = opening
    return opening
  }

  async function send<T extends object>(text: string, values?: readonly unknown[], name?: string) {
    assertNoTransaction(text)
    const lane = lanes.reduce((best, each) => (each.inFlight < best.inFlight ? each : best))
    lane.inFlight += 1
    try {
      const client = await clientOf(lane)
      return await onConnection(client as pg.PoolClient).query<T>(text, values, name)
    } finally {
      lane.inFlight -= 1
    }
  }

  return {
    alone: { query: send },
    async query<T extends object>(text: string, values?: readonly unknown[], name?: string) {
      try {
        return await send<T>(text, values, name)
      } catch (error) {
        // The connection broke, or there was none: the pool can wait for a server that is restarting.
        if (closed || !isLost(error)) throw error
        // Several requests may wait for its result.
        return await db.within(noDeadline).query<T>(text, values, name)
      }
    },
    async close() {
      closed = true
      const open = lanes.flatMap((lane) => lane.client ?? [])
      await Promise.allSettled(open.map(async (client) => (await client).end()))
    },
  }
}

/** A refusal by PostgreSQL itself is no lost connection: it would refuse the statement again. */
function isLost(error: unknown): boolean {
  return error instanceof AppError ? error.code === 'ServiceUnavailable' : !(error instanceof pg.DatabaseError)
}
