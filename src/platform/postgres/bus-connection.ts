import pg from 'pg'
import type { Logger } from 'pino'
import { answered, connectPatience, giveUp, processIdOf, workingSql } from './connection-watch.ts'
import type { Db } from './db.ts'
import { type BeatRow, createDelivery } from './delivery.ts'

export interface BusConnection {
  present(name: string): Promise<void>
  absent(name: string): Promise<void>
  /** Waits until all messages of transactions that are committed now were received; false: some take too long, and count as lost. */
  caughtUp(): Promise<boolean>
  close(): Promise<void>
}

export interface BusConnectionOptions {
  readonly db: Db
  readonly log: Logger
  readonly channel: string
  /** The seed of the lock that shows a name. */
  readonly presenceSeed: number
  /** Returns the number of the message. */
  readonly onMessage: (text: string) => number
  /**
   * Called when messages were lost, and everything may have changed; `another`: it is another server, or an older state of the same
   * one.
   */
  readonly onLoss: (another: boolean) => void
}

/** Milliseconds between two beats. */
const interval = 1000
/** Milliseconds after the last beat from which the end of a connection means that it had been silent before. */
const silence = 3000
/** Number of beats after which old messages are removed. */
const cleanEvery = 60
/** Milliseconds between attempts to connect: the first pause, and the longest. */
const shortestPause = 50
const longestPause = 1000
/** Milliseconds that a message may take. */
const longestWay = 2000
/** Attempts to show a name before the caller gets an error, and milliseconds between them. */
const attempts = 20
const attemptPause = 100

/**
 * A separate connection that only listens. Each second it asks the server for the messages that were sent, to check that it still
 * works: without an answer for five seconds, or with a message that never arrived, everything counts as changed. It is replaced
 * when it breaks, with pauses that grow to a second.
 */
export async function openBusConnection(options: BusConnectionOptions): Promise<BusConnection> {
  const { db, log, channel, presenceSeed, onMessage, onLoss } = options
  const names: string[] = []
  const delivery = createDelivery()
  let closed = false
  let client: pg.Client | null = null
  let last: Promise<unknown> = Promise.resolve()
  let server: string | null = null
  let trueIds = true
  let lastBeat = performance.now()
  let beats = 0
  let failing = false
  let timer: NodeJS.Timeout | undefined

  /** One statement after the other, all of them short. */
  function send<T extends pg.QueryResultRow>(to: pg.Client | null, text: string, values: readonly unknown[] = []) {
    if (!to) return Promise.reject(new Error('Connection terminated: the bus is not connected'))
    const answer = last.then(() => answered(to, to.query<T>(text, [...values])))
    last = answer.catch(() => {})
    return answer
  }

  /** Never waits for the lock: beats are queued behind it. */
  async function show(to: pg.Client | null, name: string): Promise<void> {
    for (let attempt = 0; attempt < attempts && !closed; attempt++) {
      const { rows } = await send<{ shown: boolean }>(
        to,
        'select pg_try_advisory_lock_shared(hashtextextended($1, $2)) as shown',
        [name, presenceSeed],
      )
      if (rows[0]?.shown) return
      await new Promise((resolve) => setTimeout(resolve, attemptPause))
    }
    throw new Error(`somebody keeps processes from showing the name ${name}`)
  }

  async function open(): Promise<'same' | 'another'> {
    const fresh = new pg.Client({
      ...db.pool.options,
      options: `${db.pool.options.options ?? ''} -c lock_timeout=${interval}`,
      connectionTimeoutMillis: connectPatience,
      keepAlive: true,
    })
    fresh.on('error', () => {})
    fresh.on('notification', ({ payload = '' }) => delivery.heard(onMessage(payload)))
    try {
      await fresh.connect()
      await send(fresh, `listen ${channel}`)
      const found = await identify(fresh)
      delivery.begin((await send<BeatRow>(fresh, beatSql, [null])).rows[0] as BeatRow)
      for (const name of names) await show(fresh, name)
      const another = server !== null && server !== found.server
      server = found.server
      trueIds = found.processId === processIdOf(fresh)
      if (closed) throw new Error('Connection terminated: the bus is closed')
      fresh.once('end', () => onEnd(fresh))
      client = fresh
      return another ? 'another' : 'same'
    } catch (error) {
      giveUp(fresh)
      throw error
    }
  }

  /**
   * An identity of this server in its present state, to tell it from others. Some servers that speak PostgreSQL's protocol give
   * less information.
   */
  async function identify(of: pg.Client): Promise<{ readonly server: string; readonly processId: number }> {
    const read = async (text: string) => {
      const { rows } = await send<{ server: string; pid: number }>(of, text)
      return { server: rows[0]?.server ?? '', processId: rows[0]?.pid ?? 0 }
    }
    return read(identitySql).catch((error: unknown) => {
      if (error instanceof pg.DatabaseError) return read(shortIdentitySql)
      throw error
    })
  }

  function onEnd(ended: pg.Client): void {
    if (client !== ended) return
    client = null
    if (closed) return
    if (performance.now() - lastBeat > silence) db.connections.closeIdle(lastBeat)
    again(shortestPause)
  }

  function again(pause: number): void {
    clearTimeout(timer)
    const attempt = async (): Promise<void> => {
      try {
        const found = await open()
        if (found === 'another') {
          log.warn('the database is another one, or another state of it: all that is in memory is read again')
          db.connections.closeAll(lastBeat)
        }
        onLoss(found === 'another')
        soon()
      } catch (error) {
        log.warn({ err: error }, 'the bus cannot listen yet')
        if (!closed) again(Math.min(pause * 2, longestPause))
      }
    }
    timer = setTimeout(() => void attempt(), pause).unref()
  }

  function soon(): void {
    clearTimeout(timer)
    if (!closed) timer = setTimeout(() => void beat(client), interval).unref()
  }

  async function beat(on: pg.Client | null): Promise<void> {
    try {
      const { rows } = await send<BeatRow>(on, beatSql, [delivery.seenUpTo])
      lastBeat = performance.now()
      if (delivery.compare(rows[0] as BeatRow)) {
        log.warn('messages of the database were lost: what is in memory is read again')
        onLoss(false)
      }
      beats++
      if (beats % cleanEvery === 0) await send(on, cleanSql)
      failing = false
    } catch (error) {
      // Otherwise the connection ends, and another one is opened.
      if (error instanceof pg.DatabaseError && !failing) log.warn({ err: error }, 'messages cannot be counted')
      failing = true
    }
    // Another connection has its own beat.
    if (on === client && on !== null) soon()
  }

  /** Whether sessions of the server are at work; only where process ids are real and not invented by a proxy. */
  async function working(processIds: readonly number[]): Promise<ReadonlySet<number>> {
    if (!trueIds) return new Set(processIds)
    const { rows } = await send<{ pid: number }>(client, workingSql, [processIds])
    return new Set(rows.map(({ pid }) => pid))
  }

  await open()
  const stopAsking = db.connections.askThrough(working)
  soon()
  return {
    async present(name) {
      await show(client, name)
      names.push(name)
    },
    async absent(name) {
      const at = names.indexOf(name)
      if (at >= 0) names.splice(at, 1)
      // The server releases all locks of a broken connection.
      await send(client, 'select pg_advisory_unlock_shared(hashtextextended($1, $2))', [name, presenceSeed]).catch(
        () => {},
      )
    },
    async caughtUp() {
      const { rows } = await send<BeatRow>(client, beatSql, [delivery.seenUpTo])
      return delivery.arrival(rows[0]?.ids ?? [], longestWay)
    },
    async close() {
      closed = true
      clearTimeout(timer)
      stopAsking()
      const open = client
      client = null
      if (open) await answered(open, open.end())
    },
  }
}

/**
 * Numbers are assigned before the commit, so a lower one can appear later: it is found by its transaction, which had not ended at
 * the previous look.
 */
const beatSql = `
  select s.xmin::text as "upTo", extract(epoch from clock_timestamp())::float8 as now, m.ids, m.recent
  from (select pg_snapshot_xmin(pg_current_snapshot()) as xmin) s cross join lateral (
    select coalesce(array_agg(id), '{}') as ids, coalesce(array_agg(transaction >= s.xmin), '{}') as recent
    from bus_message where transaction >= coalesce($1::xid8, s.xmin)) m`

const cleanSql = `
  delete from bus_message where id in
    (select id from bus_message where sent_at < now() - interval '5 minutes' order by id limit 10000 for update skip locked)`

const shortIdentitySql = `
  select concat_ws('/', current_database(), pg_postmaster_start_time()) as server, pg_backend_pid() as pid`

/** The timeline changes when a standby or an older state takes over. A copy of a database has another number. */
const identitySql = `
  select concat_ws('/', (select system_identifier from pg_control_system()),
      case when not pg_is_in_recovery() then left(pg_walfile_name(pg_current_wal_lsn()), 8) end,
      pg_postmaster_start_time(), (select oid from pg_database where datname = current_database())) as server,
    pg_backend_pid() as pid`
