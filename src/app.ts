import type { Logger } from 'pino'
import { registerAuthRoutes } from './auth/routes.ts'
import { createAuth } from './auth/service.ts'
import { registerBaseConfigRoutes } from './config/routes.ts'
import { createBaseConfigService } from './config/service.ts'
import { registerDatamodelRoutes } from './datamodel/routes.ts'
import { createDatamodelService, hooksWithoutObjects } from './datamodel/service.ts'
import { createEventLog } from './events/service.ts'
import { createJobs } from './jobs/service.ts'
import { createBus } from './platform/bus.ts'
import type { Config } from './platform/config.ts'
import type { Db } from './platform/db.ts'
import { createHttp, type HttpApp } from './platform/http.ts'
import { registerTagRoutes } from './tags/routes.ts'
import { createTagService } from './tags/service.ts'

export interface App {
  readonly http: HttpApp
  /** Made up on the very first start when none is configured: to be printed once. */
  readonly newRootPassword: string | null
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
  const jobs = createJobs({ db, log })
  const events = createEventLog({
    userInEventGroup: () => baseConfig.get().user.user_in_event_group,
    copyToEvent: () => baseConfig.get().user.copy_to_event,
  })
  const baseConfig = await createBaseConfigService({ db, bus, events, log })
  const auth = createAuth({ config, db, bus, events, baseConfig })
  const tags = await createTagService({ db, bus, events, log, uses: [] })
  const datamodel = createDatamodelService({
    db,
    bus,
    events,
    hooks: () => hooksWithoutObjects,
    dataLanguage: () => baseConfig.get().languages.database[0]?.value ?? 'en-US',
  })
  await datamodel.load()
  const http = await createHttp({
    log,
    bodyLimit: config.bodyLimit,
    corsOrigins: config.corsOrigins,
    trustedProxies: config.trustedProxies,
    readOnly: () => config.readOnly,
    authenticate: auth.authenticate,
  })
  registerBaseConfigRoutes(http, { baseConfig })
  await registerAuthRoutes(http, { auth })
  registerTagRoutes(http, { tags })
  registerDatamodelRoutes(http, datamodel)
  const newRootPassword = await auth.ensureRoot()
  await jobs.start()
  return {
    http,
    newRootPassword,
    idle: () => jobs.idle(),
    close: async () => {
      await jobs.close()
      datamodel.close()
      auth.close()
      baseConfig.close()
      await bus.close()
    },
  }
}
