import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { type CacheSize, cacheSizes } from '../memory/byte-cache.ts'
import type { Db } from '../postgres/db.ts'
import type { HttpApp } from './http.ts'

export interface Metrics {
  readonly contentType: string
  text(): Promise<string>
}

/** A metric of a capability. */
export interface Measure {
  /** Without the prefix `strongroom_`. */
  readonly name: string
  readonly help: string
  /** The current number; or one for each value of `label`. */
  read(): number | Promise<number> | Promise<Readonly<Record<string, number>>>
  readonly label?: string
}

export interface MetricsOptions {
  db: Db
  http: HttpApp
  measures: readonly Measure[]
}

/** Seconds from which a request counts as slow. */
const slow = 1

/** Numbers for Prometheus: memory, event loop, requests by route pattern, the database pool, and the given measures. */
export function createMetrics({ db, http, measures }: MetricsOptions): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  observeRequests(http, registry)
  // Read before the metrics below, which query the database.
  new Gauge({
    name: 'strongroom_db_connections',
    help: 'Database connections of this process by state; waiting: requests without one.',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      const { totalCount, idleCount, waitingCount } = db.pool
      this.set({ state: 'idle' }, idleCount)
      this.set({ state: 'used' }, totalCount - idleCount)
      this.set({ state: 'waiting' }, waitingCount)
    },
  })
  for (const measure of measures) showMeasure(measure, registry)
  observeCaches(registry)
  return { contentType: registry.contentType, text: () => registry.metrics() }
}

function observeCaches(registry: Registry): void {
  const gauge = (name: string, help: string, figure: keyof CacheSize): void => {
    new Gauge({
      name,
      help,
      labelNames: ['cache'],
      registers: [registry],
      collect() {
        for (const [cache, size] of cacheSizes()) this.set({ cache }, size[figure])
      },
    })
  }
  gauge('strongroom_cache_bytes', 'Bytes of each cache of this process, keys included.', 'bytes')
  gauge('strongroom_cache_entries', 'Entries of each cache of this process.', 'entries')
}

/** The route label is the pattern, never the address: a label must not have unlimited values. */
function observeRequests(http: HttpApp, registry: Registry): void {
  const duration = new Histogram({
    name: 'strongroom_http_request_duration_seconds',
    help: 'Time from the request to the end of its answer.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [registry],
  })
  const slowRequests = new Counter({
    name: 'strongroom_http_slow_requests_total',
    help: `Requests that took more than ${slow} second.`,
    labelNames: ['method', 'route'],
    registers: [registry],
  })
  http.addHook('onResponse', (request, reply, done) => {
    const labels = { method: request.method, route: request.routeOptions.url ?? 'none' }
    const seconds = reply.elapsedTime / 1000
    duration.observe({ ...labels, status: reply.statusCode }, seconds)
    if (seconds > slow) slowRequests.inc(labels)
    done()
  })
}

/** A metric that cannot be read now (the database is down) is left out; the other metrics are needed most then. */
function showMeasure({ name, help, label, read }: Measure, registry: Registry): void {
  new Gauge({
    name: `strongroom_${name}`,
    help,
    labelNames: label === undefined ? [] : [label],
    registers: [registry],
    async collect() {
      this.reset()
      const value = await Promise.resolve(read()).catch(() => null)
      if (typeof value === 'number') this.set(value)
      else for (const [key, number] of Object.entries(value ?? {})) this.set({ [label ?? '']: key }, number)
    },
  })
}
