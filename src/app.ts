import type { Logger } from 'pino'
import { createEventUsers } from './auth/event-users.ts'
import { mailRecipients } from './auth/mail-recipients.ts'
import { createPrincipals } from './auth/principals.ts'
import { registerAuthRoutes } from './auth/routes.ts'
import { createAuth } from './auth/service.ts'
import { registerBaseConfigRoutes } from './config/routes.ts'
import { createBaseConfigService } from './config/service.ts'
import { registerObjecttypeRoutes } from './datamodel/objecttype-routes.ts'
import { registerDatamodelRoutes } from './datamodel/routes.ts'
import { createDatamodelService, createObjecttypeService } from './datamodel/service.ts'
import { registerEventRoutes } from './events/routes.ts'
import { createEventLog, createEventService, followEvents } from './events/service.ts'
import { registerFileRoutes } from './files/routes.ts'
import { createFileService } from './files/service.ts'
import { createJobs } from './jobs/service.ts'
import { createMailService } from './mail/service.ts'
import { registerMessageRoutes } from './messages/routes.ts'
import { createMessageService } from './messages/service.ts'
import { rememberedPeople } from './objects/read/people.ts'
import { createReadService } from './objects/read/read.ts'
import { registerReadRoutes } from './objects/read/routes.ts'
import { registerObjectRoutes } from './objects/routes.ts'
import { findOwners } from './objects/save/owners.ts'
import { runTransition } from './objects/save/run-transition.ts'
import { createObjectService, type ObjectDeps, refreshStandards } from './objects/service.ts'
import { createCommitHooks } from './objects/upkeep/commit-hooks.ts'
import { objectTagUse } from './objects/upkeep/uses.ts'
import { createBus } from './platform/bus.ts'
import type { Config } from './platform/config.ts'
import { shareConnections } from './platform/connections.ts'
import type { Db } from './platform/db.ts'
import { createHttp, type HttpApp } from './platform/http.ts'
import type { Measure } from './platform/metrics.ts'
import { createPlaces } from './platform/places.ts'
import { openQuickReads } from './platform/quick-reads.ts'
import { createSnapshots } from './platform/snapshot.ts'
import { version } from './platform/version.ts'
import { registerPoolRoutes } from './pools/routes.ts'
import { createPoolService } from './pools/service.ts'
import { createRightsService } from './rights/service.ts'
import { registerSearchRoutes } from './search/routes.ts'
import { createIndexer, createSearchService, reindexTypes, visionBytes } from './search/service.ts'
import { systemMeasures } from './system/measures.ts'
import { collectOpenApi } from './system/openapi/document.ts'
import { registerSystemRoutes } from './system/routes.ts'
import { createSystemService } from './system/service.ts'
import { registerTagRoutes } from './tags/routes.ts'
import { createTagService, effectiveTags, type TagUse } from './tags/service.ts'
import { registerTransitionActions } from './transitions/actions.ts'
import { registerTransitionRoutes } from './transitions/routes.ts'
import { createEventRuns, createTransitionService, type RunOnObjects } from './transitions/service.ts'
import { createWebhookService } from './webhooks/service.ts'
import { objecttypeParts, objectViews, ownerRemoval, poolParts, principalRights, transitionLayers } from './wiring.ts'

export interface App {
  readonly http: HttpApp
  /** What the service tells of itself beside requests. */
  readonly measures: readonly Measure[]
  /** Made up by the very first start when none is configured: to be printed until somebody has signed in with it. */
  readonly newRootPassword: string | null
  /**
   * Resolves when no background work of this process is queued or running (index queue, jobs). With `hurry`, jobs that
   * wait for a later attempt run at once.
   */
  idle(options?: { hurry?: boolean }): Promise<void>
  /** Stops background work; the HTTP server must be closed before. */
  close(): Promise<void>
}

/** What a service is given, and what tests give it in place of the machine's. */
interface Given {
  readonly db: Db
  readonly log: Logger
  /** Version of ICU. */
  readonly icu?: string
}

/** A service on a migrated database. What it opens is closed by `close`, or at once when it cannot be built. */
export async function buildApp(config: Config, given: Given): Promise<App> {
  const opened = new AsyncDisposableStack()
  try {
    return await composeApp(config, given, opened)
  } catch (error) {
    // What went wrong says more than what then cannot be closed.
    await opened.disposeAsync().catch(() => {})
    throw error
  }
}

/** The composition root: every service once, in import order, then the routes. Closes in the reverse order. */
async function composeApp(config: Config, given: Given, opened: AsyncDisposableStack): Promise<App> {
  const { db, log } = given
  const bus = await createBus({ db, log })
  opened.defer(() => bus.close())
  const shares = shareConnections(config.dbMaxConnections)
  const quick = openQuickReads({ db, connections: shares.quick })
  opened.defer(() => quick.close())
  const snapshots = createSnapshots({ bus, reads: quick.alone, log })
  opened.defer(() => snapshots.close())
  const jobs = createJobs({ db, log })
  const eventUsers = createEventUsers(db)
  const events = createEventLog({
    userFields: eventUsers.userFields,
    userInEventGroup: () => baseConfig.get().user.user_in_event_group,
    copyToEvent: () => baseConfig.get().user.copy_to_event,
  })
  const baseConfig = await createBaseConfigService({
    db,
    bus,
    events,
    snapshots,
    log,
    check: (tx, settings, changed) => files.checkSettings(tx, settings, changed),
  })
  const languages = () => baseConfig.get().languages.database.map(({ value }) => value)
  const principals = createPrincipals({ bus })
  opened.defer(() => principals.close())
  const auth = createAuth({
    config,
    db,
    bus,
    events,
    baseConfig,
    principals,
    rights: principalRights(() => rights),
    removal: ownerRemoval(
      () => pools,
      () => messages,
      () => indexer.wake(),
    ),
    instance: () => ({ name: baseConfig.instanceTitle(), external_url: config.externalUrl }),
  })
  opened.defer(() => auth.close())
  const messages = createMessageService({ db, events, principals, versionConvention: config.versionConvention })
  const rights = createRightsService({
    containers: () => ({ pools: pools.grants(), objecttypes: objecttypes.grants() }),
    findPeople: principals.find,
    existingTags: (from, ids) => tags.existing(from, ids),
    existingPresets: async () => new Set(),
    derivedBytes: (count) => visionBytes(datamodel.current().objecttypes.size, count),
  })
  const datamodel = await createDatamodelService({
    db,
    bus,
    snapshots,
    events,
    hooks: () => createCommitHooks((tx, types, options) => reindexTypes(tx, bus, indexer, types, options)),
    dataLanguage: () => languages()[0] ?? 'en-US',
  })
  const indexer = await createIndexer({
    db,
    bus,
    log,
    datamodel,
    languages,
    refreshStandards,
    poolPath: (id) => pools.byId(id)?.path ?? [],
    icu: given.icu ?? process.versions.icu ?? '',
    onFailure: async (id, error) => {
      const info = { IndexName: 'objects', DocID: `${id}`, Error: error }
      await events.append(db, [{ type: 'OBJECT_INDEX_ERROR', actor: null, systemObjectId: id, info }])
    },
  })
  opened.defer(() => indexer.close())
  const objecttypes = createObjecttypeService({
    db,
    events,
    rights,
    datamodel,
    languages,
    parts: objecttypeParts({ tags: () => tags, transitions: () => transitions }),
  })
  const pools = await createPoolService({
    db,
    bus,
    snapshots,
    events,
    rights,
    datamodel,
    versionConvention: config.versionConvention,
    parts: poolParts({ tags: () => tags, transitions: () => transitions, wakeIndex: () => indexer.wake() }),
  })
  const tagUses: TagUse[] = [...pools.tagUses, ...objecttypes.tagUses, objectTagUse(() => indexer.wake())]
  const tags = await createTagService({
    db,
    bus,
    events,
    snapshots,
    uses: tagUses,
    versionConvention: config.versionConvention,
  })
  const files = await createFileService({ db, bus, snapshots, config, settings: baseConfig.get })
  opened.defer(async () => files.close())
  const mail = createMailService({ db, jobs, events, baseConfig, externalUrl: config.externalUrl })
  const webhooks = createWebhookService({
    db,
    events,
    baseConfig,
    allowPrivate: config.allowPrivateWebhooks,
    tokenFor: auth.tokenForJob,
  })
  const transitions = await createTransitionService({
    db,
    bus,
    events,
    jobs,
    snapshots,
    tags,
    rights,
    layers: transitionLayers({ pools, objecttypes, datamodel }),
    contactOf: (id) => pools.byId(id)?.contact ?? null,
    objecttypes: () => ({ has: (id) => datamodel.current().tablesById.get(id)?.kind === 'object' }),
    webhooks: webhooks.names,
    versionConvention: config.versionConvention,
  })
  tagUses.push(transitions.tagUse)
  const heavy = createPlaces({ places: config.heavyRequests })
  const maskSettings = {
    objecttypeMasks: (id: number) => datamodel.settings(id).standardMasks,
    maskFilters: (id: number) => datamodel.settings(id).maskfilters,
  }
  const read = createReadService({
    db,
    quick,
    datamodel,
    rights,
    databaseName: config.databaseName,
    languages,
    pools,
    tags,
    ...maskSettings,
    people: rememberedPeople(principals, rights),
    limits: { bytes: config.answerLimit, embedded: 50_000 },
    heavy,
    snapshots: () => [pools.snapshot(), tags.snapshot(), baseConfig.get(), principals.generation()],
  })
  const objectDeps: ObjectDeps = {
    db,
    config,
    datamodel,
    rights,
    validateAcls: (tx, actor, changes) => rights.validateAcls(tx, actor, 'object', changes),
    pools,
    ...maskSettings,
    tags: {
      snapshot: tags.snapshot,
      lockForUse: tags.existing,
      available: (objecttype, pool) => {
        const layers = [objecttypes.tagLayer(objecttype), ...(pool === null ? [] : pools.tagLayers(pool))]
        const narrowed = layers.some((layer) => layer.private || layer.tags.length > 0)
        return narrowed ? effectiveTags(tags.snapshot(), layers) : null
      },
    },
    findOwners: (tx, actor, refs) => findOwners(principals, tx, actor, refs),
    runTransitions: (_, actor, items, given) => transitions.runOnItems(actor, items, given),
    afterRefusal: transitions.afterFailure,
    events,
    languages,
    heavy,
    wakeIndex: () => indexer.wake(),
    awaitIndexed: (ids, seconds) => indexer.awaitIndexed(ids, seconds),
    clock: () => new Date(),
  }
  const objects = createObjectService(objectDeps, read.renderSaved)
  const runOnObjects: RunOnObjects = (actor, request) =>
    runTransition({ ...objectDeps, runOnItems: transitions.runOnItems }, actor, request)
  const eventRuns = createEventRuns({
    db,
    jobs,
    log,
    transitions: transitions.all,
    follow: followEvents,
    runOnObjects,
    systemActor: auth.systemActor,
    paused: () => config.readOnly,
  })
  registerTransitionActions({
    db,
    jobs,
    mail,
    webhooks,
    recipients: mailRecipients,
    objects: objectViews(read, auth.systemActor),
    externalUrl: config.externalUrl,
    languages,
  })
  const eventService = createEventService({
    db,
    log: events,
    databaseName: config.databaseName,
    users: eventUsers,
    seen: {
      objects: read.told,
      pools: async (actor, ids) => {
        const own = await rights.forActor(actor)
        return new Set(ids.filter((id) => own.mayPool('bag_read', id)))
      },
      users: auth.users.readable,
      groups: auth.groups.readable,
      messages: messages.readable,
    },
  })
  const search = createSearchService({
    db,
    connections: shares.lexical,
    bus,
    log,
    indexer,
    datamodel,
    rights,
    languages,
    databaseName: config.databaseName,
    renderHits: read.renderHits,
    readable: read.readable,
    heavy,
    pools,
    ...maskSettings,
    snapshots: () => [pools.snapshot()],
    poolOf: (id) => pools.byId(id),
    tagName: (id) => tags.snapshot().get(id)?.displayname,
  })
  opened.defer(() => search.close())
  const http = await createHttp({
    log,
    bodyLimit: config.bodyLimit,
    requestTimeout: config.requestTimeout,
    maxConnections: config.maxConnections,
    mostUntaken: 2 * config.answerLimit,
    pace: { grace: config.slowGrace, leastRate: config.leastRate },
    corsOrigins: config.corsOrigins,
    trustedProxies: config.trustedProxies,
    timeLimits: { read: 1000 * config.readTimeLimit, write: 1000 * config.writeTimeLimit },
    readOnly: () => config.readOnly,
    authenticate: auth.authenticate,
  })
  // Requests see all changes that this process has heard of, without waiting for any of them later.
  http.addHook('onRequest', (_request, _reply, done) => {
    const changes = snapshots.settled()
    if (changes) changes.then(() => done(), done)
    else done()
  })
  const openApi = collectOpenApi(http, { version, externalUrl: config.externalUrl })
  registerSystemRoutes(http, {
    openApi,
    system: createSystemService({
      config,
      db,
      version,
      instanceName: baseConfig.instanceTitle,
      configName: () => baseConfig.get().name.internal_name,
      searchBlocked: search.blocked,
      openApiForEverybody: () => baseConfig.get().openapi_spec_endpoint.active,
      searchRebuilding: indexer.rebuilding,
      objecttypeName: (id) => datamodel.current().tablesById.get(id)?.name,
    }),
  })
  registerEventRoutes(http, eventService)
  registerBaseConfigRoutes(http, { baseConfig })
  await registerAuthRoutes(http, { auth })
  registerMessageRoutes(http, { messages, clientOf: auth.clientOf })
  registerDatamodelRoutes(http, datamodel)
  registerObjecttypeRoutes(http, { objecttypes, datamodel })
  registerPoolRoutes(http, { pools })
  registerTagRoutes(http, { tags })
  registerTransitionRoutes(http, { transitions, runOnObjects })
  registerFileRoutes(http, { files })
  registerReadRoutes(http, { read })
  registerObjectRoutes(http, { objects })
  registerSearchRoutes(http, { search })
  const newRootPassword = await auth.ensureRoot()
  // Jobs use all of the above, so they end first.
  await jobs.start()
  opened.defer(() => jobs.close())
  eventRuns.start()
  opened.defer(() => eventRuns.close())
  indexer.wake()
  return {
    http,
    measures: [...systemMeasures(db), auth.failedSignIns],
    newRootPassword,
    async idle(options) {
      // What follows the log may queue jobs at any time, and jobs write to the log: until nothing came in between.
      for (let seen = -1, queued = 0; queued !== seen; ) {
        seen = queued
        await jobs.idle(options)
        queued = await eventRuns.lookNow()
      }
      await indexer.idle()
      await search.idle()
    },
    close: () => opened.disposeAsync(),
  }
}
