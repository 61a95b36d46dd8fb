import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { AppError } from '../errors.ts'
import { currentDeadline, type Deadline, outsideDeadlines } from '../limits/deadline.ts'
import { cancelStatement } from './cancel-statement.ts'
import { type ConnectionWatch, connectPatience, createConnectionWatch } from './connection-watch.ts'
import {
  comesBackSoon,
  isFollowingFailure,
  leavesOpen,
  unavailabilityBehind,
  unknownOutcome,
  unreachable,
} from './failures.ts'
import { byIndexesLocally } from './planning.ts'
import { type QueryResult, run, runWithin } from './run-statement.ts'
import { assertNoTransaction, marked } from './transaction-guard.ts'

// bigint and numeric stay exact: int8 becomes a number only while it is safe, else the read fails loudly.
const exactInteger = (text: string): number => {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new RangeError(`integer ${text} is beyond 2^53`)
  return value
}

/** OID of bigint[], whose elements the driver would otherwise return as text. */
const int8Array = 1016 as unknown as typeof pg.types.builtins.INT8

const integers: (text: string) => unknown = pg.types.getTypeParser(int8Array)
pg.types.setTypeParser(pg.types.builtins.INT8, exactInteger)
pg.types.setTypeParser(int8Array, (text) =>
  (integers(text) as (string | null)[]).map((n) => (n === null ? null : exactInteger(n))),
)

export interface Queryable {
  /**
   * Runs one statement with `$n` parameters. Statements of constant text pass `name`: the server then parses and
   * plans them once per connection.
   */
  query<T extends object = Record<string, unknown>>(
    text: string,
    values?: readonly unknown[],
    name?: string,
  ): Promise<QueryResult<T>>
}

/** Statements that are sent at once are sent together: they are carried out in the order in which they were sent. */
export interface Tx extends Queryable {
  /** Registers work for after the commit (wake workers, drop caches); not run when the transaction fails. */
  afterCommit(action: () => void): void
}

export interface Db extends Queryable {
  /**
   * Runs `work` in one transaction. PostgreSQL failures become an `AppError` where a client can react to them: lock timeout,
   * deadlock and serialization failure become `DatabaseLockError` (423).
   */
  transaction<T>(work: (tx: Tx) => Promise<T>, options?: TransactionOptions): Promise<T>
  /**
   * The same database for statements that end with the deadline: when its time is over or its client has disconnected. Other
   * statements end with the request that they belong to, if any.
   */
  within(deadline: Deadline): Queryable
  /** A dedicated connection for LISTEN, cursors and exported snapshots; the caller releases it. */
  connect(): Promise<pg.PoolClient>
  /** Cancels the current statement on a connection from `connect`; the statement fails with `ServiceUnavailable`. */
  cancel(client: pg.PoolClient): Promise<void>
  readonly pool: pg.Pool
  /** Closes silent connections to this database, including those that other components open. */
  readonly connections: ConnectionWatch
  /**
   * Calls `listener` when a COMMIT got no answer: the changes of the transaction may be stored, or be stored later. Until the
   * returned function is called.
   */
  onUnknown(listener: () => void): () => void
  /** Further connections to the same database with different settings; the caller closes them. */
  sibling(options: { maxConnections: number; settings: Readonly<Record<string, string>> }): Db
  close(): Promise<void>
}

export interface TransactionOptions {
  readonly isolation?: 'repeatable read'
  readonly readOnly?: boolean
  /** The statements end with it, and with them the transaction; default: the deadline of the request. */
  readonly deadline?: Deadline
  /**
   * The first statements are sent together with `begin`, which saves a round trip. They must be harmless outside of a transaction
   * (locks, reads, ids drawn): `begin` can fail while they succeed.
   */
  readonly eager?: boolean
  /** The statements find some rows among many (`planning.ts`). */
  readonly byIndexes?: boolean
}

export interface DbOptions {
  connectionString: string
  maxConnections: number
  applicationName: string
  /** Milliseconds that a statement waits for a lock before the request gets 423. */
  lockTimeout: number
  /** Settings of PostgreSQL for these connections. */
  settings?: Readonly<Record<string, string>>
  /** Makes any attempt to take a connection inside a transaction fail; for tests, see `assertNoTransaction`. */
  guarded?: boolean
  onError: (error: Error) => void
  /** The watch of the main database, for a sibling. */
  connections?: ConnectionWatch
}

/** Milliseconds for which connecting is retried. */
const patience = 5000

/** Waiting for a free connection takes longer than opening a new one. */
class QuickClient extends pg.Client {
  constructor(config?: string | pg.ClientConfig) {
    super({ ...(config as pg.ClientConfig), connectionTimeoutMillis: connectPatience })
  }
}

export function openDb(options: DbOptions): Db {
  const address = { connectionString: options.connectionString, application_name: options.applicationName }
  const connections = options.connections ?? createConnectionWatch(() => new QuickClient({ ...address }))
  const onUnknown = new Set<() => void>()
  const pool = new pg.Pool({
    ...address,
    max: options.maxConnections,
    options: Object.entries({
      jit: 'off',
      timezone: 'UTC',
      lock_timeout: `${options.lockTimeout}`,
      ...options.settings,
    })
      .map(([name, value]) => `-c ${name}=${value}`)
      .join(' '),
    idleTimeoutMillis: 30_000,
    connectionTimeoutMillis: 30_000,
    keepAlive: true,
    Client: QuickClient,
  })
  pool.on('error', (error) => {
    // During a stop the server may end connections before our own termination message has arrived.
    if (!pool.ending) options.onError(error)
  })
  // Without this listener a connection that breaks while it is in use would end the process.
  pool.on('connect', (client) => client.on('error', () => {}))
  connections.ofPool(pool)
  const unknown = (): void => runAll([...onUnknown], options.onError)
  return {
    pool,
    connections,
    onUnknown(listener) {
      onUnknown.add(listener)
      return () => onUnknown.delete(listener)
    },
    query: (text, values, name) => runOnce(pool, currentDeadline(), text, values, name),
    within: (deadline) => ({ query: (text, values, name) => runOnce(pool, deadline, text, values, name) }),
    connect: () => connect(pool, 'connect'),
    cancel: cancelStatement,
    transaction: (work, settings) =>
      transaction(
        { pool, onError: options.onError, unknown },
        options.guarded ? (tx) => marked(() => work(tx)) : work,
        settings,
      ),
    sibling: ({ maxConnections, settings }) =>
      openDb({ ...options, connections, maxConnections, settings: { ...options.settings, ...settings } }),
    close: () => endPool(pool),
  }
}

/**
 * Ends the pool after the waiting callers have had their connections. The pool itself would forget them: they would get a timeout
 * after half a minute, when the process has ended.
 */
async function endPool(pool: pg.Pool): Promise<void> {
  while (pool.waitingCount > 0) await sleep(5)
  await pool.end()
}

/**
 * A connection of the pool. A server that is restarting (after a crash, a failover) gets a few seconds: no statement was sent yet,
 * so a retry is safe.
 */
async function connect(pool: pg.Pool, purpose: string): Promise<pg.PoolClient> {
  assertNoTransaction(purpose)
  const deadline = Date.now() + patience
  for (;;) {
    try {
      return await pool.connect()
    } catch (error) {
      if (!comesBackSoon(error) || Date.now() > deadline) throw unreachable(error)
      await sleep(100)
    }
  }
}

async function runOnce<T extends object>(
  pool: pg.Pool,
  deadline: Deadline,
  text: string,
  values?: readonly unknown[],
  name?: string,
): Promise<QueryResult<T>> {
  deadline.check()
  const client = await connect(pool, text)
  let broken = false
  try {
    return await runWithin(deadline, client, text, values, name)
  } catch (error) {
    broken = error instanceof AppError && error.code === 'ServiceUnavailable'
    throw error
  } finally {
    client.release(broken)
  }
}

/** Statements on a connection that `Db.connect` gave, one after the other, with the same translation of failures. */
export function onConnection(client: pg.PoolClient): Queryable {
  let before: Promise<unknown> = Promise.resolve()
  return {
    query<T extends object>(text: string, values?: readonly unknown[], name?: string) {
      const result = before.then(() => run<T>(client, text, values, name))
      before = result.catch(() => {})
      return result
    },
  }
}

interface TransactionContext {
  readonly pool: pg.Pool
  readonly onError: (error: Error) => void
  /** Called when the outcome of the COMMIT is unknown. */
  readonly unknown: () => void
}

async function transaction<T>(
  { pool, onError, unknown }: TransactionContext,
  work: (tx: Tx) => Promise<T>,
  { isolation, readOnly, deadline = currentDeadline(), eager = false, byIndexes = false }: TransactionOptions = {},
): Promise<T> {
  deadline.check()
  const client = await connect(pool, 'begin')
  const actions: (() => void)[] = []
  let failure: unknown
  let notBegun: unknown
  let ended = false
  const fail = (error: unknown): void => {
    failure ??= error
  }
  // Answers come in the order of the statements: a success after a failure means a rollback to a savepoint.
  const succeed = (): void => {
    failure = undefined
  }
  setPipelining(client, true)
  const mode = `${isolation ? ` isolation level ${isolation}` : ''}${readOnly ? ' read only' : ''}`
  const beginning = run(client, `begin${mode}${byIndexes ? `; ${byIndexesLocally}` : ''}`)
  const begun = beginning.then(
    () => {},
    (error: unknown) => {
      notBegun = error
    },
  )
  const tx: Tx = {
    async query<T extends object>(text: string, values?: readonly unknown[], name?: string) {
      // Outside of the transaction it would be committed on its own.
      if (notBegun !== undefined) throw notBegun
      if (ended) throw failure ?? new Error('the transaction is over')
      const result = runWithin<T>(deadline, client, text, values, name, begun)
      result.then(succeed, fail)
      return result
    },
    afterCommit: (action) => actions.push(action),
  }
  let broken = false
  try {
    if (!eager) await beginning
    const result = await work(tx)
    ended = true
    await beginning
    // PostgreSQL answers the commit of a transaction with a failed statement with a rollback, not with an error: if the failure was
    // swallowed, the caller would think that the changes are stored.
    const { command } = await commit(client, readOnly ? () => {} : unknown)
    if (command !== 'COMMIT') {
      throw new Error('The transaction was rolled back: a statement in it failed, and its error was not passed on.', {
        cause: failure,
      })
    }
    if (!readOnly) deadline.stored()
    outsideDeadlines(() => runAll(actions, onError))
    return result
  } catch (error) {
    // Some of the statements that were to be sent together may not have been sent yet.
    ended = true
    await client.query('rollback').catch(() => {
      broken = true
    })
    throw firstOf(failure, error)
  } finally {
    setPipelining(client, false)
    client.release(broken)
  }
}

/** A COMMIT without an answer may still be carried out, even later. */
async function commit(client: pg.PoolClient, unknown: () => void): Promise<{ readonly command: string }> {
  try {
    return await run(client, 'commit')
  } catch (error) {
    if (!leavesOpen(error)) throw error
    outsideDeadlines(unknown)
    throw unknownOutcome(error)
  }
}

/**
 * The error to report for a transaction that failed with `error`. Of statements that were sent together, the first failure has the
 * reason; the later ones only say that there was a failure before. If the database was lost, an error made from that loss does not
 * count either.
 */
function firstOf(failure: unknown, error: unknown): unknown {
  if (failure === undefined || error === failure) return error
  if (isFollowingFailure(error)) return failure
  return error instanceof AppError ? error : (unavailabilityBehind(failure) ?? error)
}

/**
 * Sets whether statements are sent without waiting for the answers to earlier ones. Only while a transaction has the connection:
 * COPY and notifications need a connection without pipelining.
 */
function setPipelining(client: pg.PoolClient, on: boolean): void {
  ;(client as { pipeline: boolean }).pipeline = on
}

/** Runs the actions after the commit. The change is stored, so a failure here must not look like a failure of the change. */
function runAll(actions: readonly (() => void)[], onError: (error: Error) => void): void {
  for (const action of actions) {
    try {
      action()
    } catch (error) {
      onError(error as Error)
    }
  }
}

/**
 * Waits for work on a connection that a stop is to interrupt: its current statement is cancelled, again and again, since PostgreSQL
 * may not yet have begun a statement that was sent. `client` returns null while there is nothing to cancel.
 */
export async function cutShort(db: Db, client: () => pg.PoolClient | null, work: Promise<unknown>): Promise<void> {
  let over = false
  const ended = work
    .catch(() => {})
    .finally(() => {
      over = true
    })
  while (!over) {
    const busy = client()
    if (busy) await db.cancel(busy).catch(() => {})
    await Promise.race([ended, sleep(100)])
  }
}
