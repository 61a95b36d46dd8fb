import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { type CacheSize, cacheSizes } from './byte-cache.ts'
import type { Db } from './db.ts'
import type { HttpApp } from './http.ts'

export interface Metrics {
  readonly contentType: string
  text(): Promise<string>
}

/** Numbers for Prometheus: process memory and event loop, requests by route pattern, the database pool. */
export function createMetrics({ db, http }: { db: Db; http: HttpApp }): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  observeRequests(http, registry)
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

/** The route label is the pattern, never the address: a label must not have endless values. */
function observeRequests(http: HttpApp, registry: Registry): void {
  const duration = new Histogram({
    name: 'strongroom_http_request_duration_seconds',
    help: 'Time from the request to the end of its answer.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [registry],
  })
  http.addHook('onResponse', async (request, reply) => {
    duration.observe(
      { method: request.method, route: request.routeOptions.url ?? 'none', status: reply.statusCode },
      reply.elapsedTime / 1000,
    )
  })
}
