import type { Logger } from 'pino'
import { createEventUsers } from './auth/event-users.ts'
import { createPrincipals } from './auth/principals.ts'
import { createPrincipals } from './auth/principals.ts'
import { registerAuthRoutes } from './auth/routes.ts'
import { createAuth } from './auth/service.ts'
import { registerBaseConfigRoutes } from './config/routes.ts'
import { createBaseConfigService } from './config/service.ts'
import { registerDatamodelRoutes } from './datamodel/routes.ts'
import { createDatamodelService } from './datamodel/service.ts'
import { registerEventRoutes } from './events/routes.ts'
import { createEventLog, createEventService } from './events/service.ts'
import { createJobs } from './jobs/service.ts'
import { createCommitHooks } from './objects/commit-hooks.ts'
import { createReadService } from './objects/read.ts'
import { registerReadRoutes } from './objects/read-routes.ts'
import { registerObjectRoutes } from './objects/routes.ts'
import { createObjectService } from './objects/service.ts'
import { countInPools, objectTagUse, requeuePools } from './objects/uses.ts'
import { createBus } from './platform/bus.ts'
import type { Config } from './platform/config.ts'
import type { Db } from './platform/db.ts'
import { createHttp, type HttpApp } from './platform/http.ts'
import { registerPoolRoutes } from './pools/routes.ts'
import { createPoolService } from './pools/service.ts'
import { createRightsService } from './rights/service.ts'
import { registerPoolRoutes } from './pools/routes.ts'
import { createPoolService } from './pools/service.ts'
import { createRightsService } from './rights/service.ts'
import { effectiveTags } from './tags/check.ts'
import { renderTag } from './tags/render.ts'
import { registerTagRoutes } from './tags/routes.ts'
import { createTagService } from './tags/service.ts'
import { registerTransitionRoutes } from './transitions/routes.ts'
import { createTransitionService } from './transitions/service.ts'
import { registerTransitionRoutes } from './transitions/routes.ts'
import { createTransitionService, type TransitionLayer } from './transitions/service.ts'
import { poolParts } from './wiring.ts'

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
  const eventUsers = createEventUsers(db)
  const events = createEventLog({
    userFields: eventUsers.userFields,
    userInEventGroup: () => baseConfig.get().user.user_in_event_group,
    copyToEvent: () => baseConfig.get().user.copy_to_event,
  })
  const baseConfig = await createBaseConfigService({ db, bus, events, log })
  const auth = createAuth({ config, db, bus, events, baseConfig })
  const principals = createPrincipals({ bus, db })
  const rights = createRightsService({
    bus,
    containers: async () => ({ pools: await pools.grants(), objecttypes: new Map() }),
    findPeople: principals.find,
    existingTags: (from, ids) => tags.existing(from, ids),
    existingPresets: async () => new Set(),
  })
  const datamodel = createDatamodelService({
    db,
    bus,
    events,
    hooks: () => hooksWithoutObjects,
    dataLanguage: () => baseConfig.get().languages.database[0]?.value ?? 'en-US',
  })
  await datamodel.load()
  const pools = await createPoolService({
    db,
    bus,
    log,
    events,
    rights,
    datamodel,
    versionConvention: config.versionConvention,
    parts: poolParts({ tags: () => tags, transitions: () => transitions }),
  })
  const tags = await createTagService({ db, bus, events, log, uses: pools.tagUses })
  const transitions = await createTransitionService({
    db,
    bus,
    events,
    jobs,
    log,
    tags,
    rights,
    layers: {
      pools: (id) => pools.transitionLayers(id) as readonly TransitionLayer[],
      objecttype: () => ({ private: false, transitions: [] }),
    },
    contactOf: (id) => pools.byId(id)?.contact ?? null,
    objecttypes: () => datamodel.current().tablesById,
    webhooks: () => new Set(baseConfig.get().transition_webhook.webhooks.map((webhook) => webhook.name)),
  })
  const eventService = createEventService({
    db,
    log: events,
    databaseName: config.databaseName,
    users: eventUsers,
    readableObjects: async () => new Set(),
  })
  const http = await createHttp({
    log,
    bodyLimit: config.bodyLimit,
    corsOrigins: config.corsOrigins,
    trustedProxies: config.trustedProxies,
    readOnly: () => config.readOnly,
    authenticate: auth.authenticate,
  })
  registerEventRoutes(http, eventService)
  registerBaseConfigRoutes(http, { baseConfig })
  await registerAuthRoutes(http, { auth })
  registerPoolRoutes(http, { pools })
  registerTagRoutes(http, { tags })
  registerTransitionRoutes(http, { transitions })
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
      principals.close()
      baseConfig.close()
      await bus.close()
    },
  }
}
