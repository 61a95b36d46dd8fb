import { monitorEventLoopDelay } from 'node:perf_hooks'
import { PassThrough, type Readable } from 'node:stream'
import type { Measure } from '../platform/http/metrics.ts'
import { outsideDeadlines } from '../platform/limits/deadline.ts'
import type { Db, Queryable } from '../platform/postgres/db.ts'

/** Figures in the charts of the console, in their order, with their units. */
export const figureUnits = {
  'index_queue.saved': '',
  'index_queue.linked': '',
  'index_queue.reindex': '',
  index_lag_seconds: 's',
  'jobs.due': '',
  'jobs.running': '',
  'jobs.given_up': '',
  'slow.count': '',
  'slow.longest': 's',
  'connections.used': '',
  'connections.waiting': '',
  'memory.rss': 'bytes',
  'memory.heap': 'bytes',
  'loop.delay': 'ms',
} as const

export type FigureName = keyof typeof figureUnits

export interface Sample {
  readonly at: string
  readonly values: Readonly<Partial<Record<FigureName, number>>>
}

/** Milliseconds between two samples; they are taken while there are viewers, once for all of them. */
const every = 2000
const kept = 150
/** Milliseconds after which a stream ends: the browser connects again, and is authenticated again. */
const longest = 60_000
/** Maximum bytes that wait for a slow reader. */
const mostWaiting = 256 * 1024
export const mostStreams = 50

export interface FiguresDeps {
  readonly db: Db
  readonly measures: readonly Measure[]
  /** Whether the service is stopping: then the streams end. */
  readonly stopping: () => boolean
}

export type Figures = ReturnType<typeof createFigures>

export function createFigures({ db, measures, stopping }: FiguresDeps) {
  const history: Sample[] = []
  const streams = new Set<PassThrough>()
  const delay = monitorEventLoopDelay({ resolution: 20 })
  let timer: NodeJS.Timeout | null = null
  let sampling = false

  async function sample(): Promise<Sample> {
    const read = await Promise.all([...measures.map(readMeasure), slowStatements(db)])
    const { rss, heapUsed } = process.memoryUsage()
    const { totalCount, idleCount, waitingCount } = db.pool
    const milliseconds = delay.count === 0 ? 0 : delay.percentile(99) / 1e6
    delay.reset()
    const all: Readonly<Record<string, number>> = {
      ...Object.assign({}, ...read),
      'connections.used': totalCount - idleCount,
      'connections.waiting': waitingCount,
      'memory.rss': rss,
      'memory.heap': heapUsed,
      'loop.delay': milliseconds,
    }
    const names = Object.keys(figureUnits) as FigureName[]
    const values = Object.fromEntries(names.flatMap((name) => (all[name] === undefined ? [] : [[name, all[name]]])))
    return { at: new Date().toISOString(), values }
  }

  async function tick(): Promise<void> {
    if (stopping()) return endAll()
    // The database may be slow: the next sample waits for this one.
    if (sampling) return
    sampling = true
    try {
      const taken = await outsideDeadlines(sample)
      history.push(taken)
      if (history.length > kept) history.shift()
      for (const stream of streams) send(stream, 'sample', taken)
    } finally {
      sampling = false
    }
  }

  function send(stream: PassThrough, event: string, data: unknown): void {
    if (stream.writableLength > mostWaiting) stream.destroy()
    else stream.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
  }

  function leave(stream: PassThrough): void {
    streams.delete(stream)
    if (streams.size > 0 || timer === null) return
    clearInterval(timer)
    timer = null
    delay.disable()
    // Later figures do not continue these.
    history.length = 0
  }

  function endAll(): void {
    for (const stream of streams) stream.end()
  }

  return {
    /** The current figures. */
    now: sample,

    /** Figures as server-sent events, beginning with those of the last minutes; null: there are too many viewers. */
    stream(): Readable | null {
      if (streams.size >= mostStreams) return null
      const stream = new PassThrough()
      const end = setTimeout(() => stream.end(), longest).unref()
      stream.once('close', () => {
        clearTimeout(end)
        leave(stream)
      })
      streams.add(stream)
      stream.write('retry: 2000\n\n')
      send(stream, 'history', history)
      if (timer === null) {
        delay.enable()
        timer = setInterval(() => void tick().catch(() => {}), every).unref()
        void tick().catch(() => {})
      }
      return stream
    },

    close(): void {
      endAll()
      if (timer !== null) clearInterval(timer)
      delay.disable()
    },
  }
}

/** One number, or one for each value of its label; values that cannot be read now are left out. */
async function readMeasure({ name, read }: Measure): Promise<Record<string, number>> {
  const value = await Promise.resolve(read()).catch(() => ({}))
  if (typeof value === 'number') return { [name]: value }
  return Object.fromEntries(Object.entries(value).map(([label, number]) => [`${name}.${label}`, number]))
}

/** Statements of this database that have been running for more than a second. */
async function slowStatements(db: Queryable): Promise<Record<string, number>> {
  const { rows } = await db
    .query<{ count: number; longest: number }>(
      `select count(*)::int as count, coalesce(max(extract(epoch from clock_timestamp() - query_start)), 0)::float8 as longest
       from pg_stat_activity where datname = current_database() and state = 'active' and backend_type = 'client backend'
         and pid <> pg_backend_pid() and query_start < clock_timestamp() - interval '1 second'`,
      [],
      'console-slow',
    )
    .catch(() => ({ rows: [] }))
  const [read] = rows
  return read ? { 'slow.count': read.count, 'slow.longest': read.longest } : {}
}
