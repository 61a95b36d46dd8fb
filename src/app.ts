import type { Logger } from 'pino'
import { createBus } from './platform/bus.ts'
import type { Config } from './platform/config.ts'
import type { Db } from './platform/db.ts'
import { createHttp, type HttpApp } from './platform/http.ts'

export interface App {
  readonly http: HttpApp
  /** Resolves when no background work of this process is queued or running (index queue, jobs). */
  idle(): Promise<void>
  /** Stops background work; the HTTP server must be closed before. */
  close(): Promise<void>
}

/**
 * The composition root: every service once, in import order, then the routes. Opens nothing by itself but what it
 * closes in `close`; the database is migrated and given.
 */
export async function buildApp(config: Config, { db, log }: { db: Db; log: Logger }): Promise<App> {
  const bus = await createBus({ db, log })
  const http = await createHttp({
    log,
    bodyLimit: config.bodyLimit,
    corsOrigins: config.corsOrigins,
    trustedProxies: config.trustedProxies,
    readOnly: () => config.readOnly,
    authenticate: async () => null,
  })
  return {
    http,
    idle: async () => {},
    close: async () => {
      await bus.close()
    },
  }
}
