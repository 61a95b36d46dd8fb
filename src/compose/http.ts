import { registerCollectionRoutes } from '../collections/routes.ts'
import { registerBaseConfigRoutes } from '../config/routes.ts'
import { registerDatamodelRoutes } from '../datamodel/routes.ts'
import { registerDeepLinkRoutes } from '../deep-links/routes.ts'
import { registerHotfolderRoutes } from '../drives/hotfolder/routes.ts'
import { registerDriveRoutes } from '../drives/routes.ts'
import { driveAliases } from '../drives/service.ts'
import { driveSurface } from '../drives/surface.ts'
import { registerEventRoutes } from '../events/routes.ts'
import { registerEventStream } from '../events/stream/routes.ts'
import { registerExportRoutes } from '../exports/routes.ts'
import { registerFileRoutes } from '../files/routes.ts'
import { registerFormatRoutes } from '../formats/routes.ts'
import { registerHarvestRoutes } from '../harvest/routes.ts'
import { createConsoleSessions, registerConsoleRoutes } from '../inspect/routes.ts'
import type { Console } from '../inspect/service.ts'
import { registerMailRoutes } from '../mail/routes.ts'
import { registerBackupRoutes } from '../maintenance/routes.ts'
import { registerMappingRoutes } from '../mappings/routes.ts'
import { registerMessageRoutes } from '../messages/routes.ts'
import { registerOAuthServerRoutes } from '../oauth/server-routes.ts'
import { registerObjectInfoRoutes } from '../objects/info/routes.ts'
import { registerReadRoutes } from '../objects/read/routes.ts'
import { registerObjectRoutes } from '../objects/routes.ts'
import { registerObjecttypeRoutes } from '../objecttypes/routes.ts'
import { registerGroupRoutes } from '../people/groups/routes.ts'
import { registerUserRoutes } from '../people/users/routes.ts'
import { apiSurface } from '../platform/http/api-surface.ts'
import type { HttpApp } from '../platform/http/http.ts'
import type { Measure } from '../platform/http/metrics.ts'
import { createHttp } from '../platform/http/server.ts'
import { onSurface } from '../platform/http/surface.ts'
import { build, version } from '../platform/version.ts'
import { registerPluginRoutes } from '../plugins/routes.ts'
import { registerPoolRoutes } from '../pools/routes.ts'
import { registerPublishRoutes } from '../publish/routes.ts'
import { registerRightRoutes } from '../rights/routes.ts'
import { registerSearchRoutes } from '../search/routes.ts'
import { registerSuggestRoutes } from '../search/suggest/routes.ts'
import { registerSignInRoutes } from '../signin/routes.ts'
import { pageSurface } from '../signin/service.ts'
import { registerJanitorRoutes } from '../system/janitors/routes.ts'
import { registerShareLinkRoutes } from '../system/links/routes.ts'
import { createShareLinks } from '../system/links/service.ts'
import { collectOpenApi } from '../system/openapi/document.ts'
import { registerPageRoutes } from '../system/pages/routes.ts'
import { createPurgeService } from '../system/purge/service.ts'
import { registerSystemRoutes } from '../system/routes.ts'
import { createSystemService } from '../system/service.ts'
import { registerTagRoutes } from '../tags/routes.ts'
import { registerTaskRoutes } from '../tasks/routes.ts'
import { registerTransitionRoutes } from '../transitions/routes.ts'
import { composeConsole } from './console.ts'
import type { Exports } from './exports.ts'
import type { Folders } from './folders.ts'
import type { Given, Ground } from './ground.ts'
import type { Harvest } from './harvest.ts'
import type { Objects } from './objects.ts'
import type { Outlets } from './outlets.ts'
import type { People } from './people.ts'
import type { Plugins } from './plugins.ts'
import type { Readers } from './readers.ts'
import type { Upkeep } from './upkeep.ts'
import type { Workflow } from './workflow.ts'

/** The parts that are built on objects. */
type Built = Folders & Outlets & Harvest & Upkeep & { readonly exports: Exports }

/** The HTTP interface of all capabilities, and the console, which is served on another port as well. */
export async function composeHttp(
  given: Given,
  ground: Ground,
  readers: Readers,
  people: People,
  workflow: Workflow,
  composedPlugins: Plugins,
  composed: Objects,
  built: Built,
  measures: readonly Measure[],
): Promise<{ readonly http: HttpApp; readonly console: Console }> {
  const { config, db, log } = given
  const { foreground, memory, snapshots, standstill, jobs } = ground
  const { baseConfig, datamodel, keptPlugins } = readers
  const { signIn, oauth, users, userJanitor, groups, mail, mailQuota, messages } = people
  const { files, mappings, transitions, objecttypes, pools, tags, presets, baseConfig: administration } = workflow
  const { plugins } = composedPlugins
  const { drives, hotfolder, publish, formats, deepLinks, sitemaps, harvest, tasks, backups, exports } = built
  const {
    index,
    read,
    objects,
    collections,
    info,
    ingest,
    eventJanitor,
    invalid,
    nameInObject,
    mapMetadata,
    metadataIn,
    runOnObjects,
    search,
    language,
    events,
    streams,
    explain,
  } = composed
  const api = apiSurface({ authenticators: [signIn.bearer], requestTokens: signIn.requestTokens })
  const http = await createHttp({
    log,
    bodyLimit: config.bodyLimit,
    bodyMemory: Math.min(memory.bodies, 3 * config.bodyLimit),
    requestTimeout: config.requestTimeout,
    maxConnections: config.maxConnections,
    maxConnectionsOfNetwork: Math.max(1, Math.floor((config.maxConnections * config.quotaConnections) / 100)),
    mostUntaken: Math.min(memory.answers, 2 * config.answerLimit),
    pace: { grace: config.slowGrace, leastRate: config.leastRate },
    corsOrigins: config.corsOrigins,
    trustedProxies: config.trustedProxies,
    timeLimits: { read: 1000 * config.readTimeLimit, write: 1000 * config.writeTimeLimit },
    // Settings of the process cannot be changed here.
    readOnly: ({ endsReadOnly }) => (endsReadOnly ? config.readOnly : readers.readOnly()),
    timings: () => baseConfig.get().logging.timings,
    standstill,
    foreground,
    elsewhere: pageSurface(signIn.pages, api),
    aliases: driveAliases,
  })
  // Requests see all changes that this process has been notified of. The hook waits for them once, at the beginning of the request.
  http.addHook('onRequest', (_request, _reply, done) => {
    const changes = snapshots.whenCurrent()
    if (changes) changes.then(() => done(), done)
    else done()
  })
  const openApi = collectOpenApi(http, { version, externalUrl: config.externalUrl })
  const system = createSystemService({
    config,
    db,
    version,
    build,
    instanceName: baseConfig.instanceTitle,
    readOnly: readers.readOnly,
    configName: () => baseConfig.get().name.internal_name,
    searchBlocked: search.blocked,
    openApiForEverybody: () => baseConfig.get().openapi_spec_endpoint.active,
    searchIndex: index.target,
    certificates: signIn.certificates,
    objecttypeName: (id) => datamodel.current().tablesById.get(id)?.name,
  })
  const purge = createPurgeService({
    db,
    log,
    standstill,
    allowed: config.allowPurgeAll,
    settings: () => baseConfig.get().purge,
    externalUrl: config.externalUrl,
    rootPassword: signIn.rootPassword,
    jobs,
    datamodel,
  })
  const console = composeConsole({
    ...{ given, ground, readers, people, workflow, plugins: composedPlugins, objects: composed },
    ...{ outlets: built, exports: built.exports, upkeep: built, measures, system, http },
  })
  const { externalUrl, quotaShareLinks: most } = config
  const links = createShareLinks({ db, externalUrl, most, clock: () => new Date() })
  await onSurface(http, api, async (scope) => {
    registerSystemRoutes(scope, { openApi, system, purge })
    await registerPageRoutes(scope, { system, pages: signIn.pages })
    await registerConsoleRoutes(scope, {
      console,
      sessions: createConsoleSessions({
        codes: oauth.codes,
        sessions: signIn.sessions,
        aliases: signIn.aliases,
        externalUrl: config.externalUrl,
        basePath: signIn.basePath,
      }),
      bearer: signIn.bearer,
      pages: signIn.pages,
    })
    await registerShareLinkRoutes(scope, { links, pages: signIn.pages })
    await registerEventStream(scope, { streams, held: signIn.held })
    registerEventRoutes(scope, events)
    registerBaseConfigRoutes(scope, { baseConfig: administration })
    const lookAtPictures = files.pictures
    await registerOAuthServerRoutes(scope, oauth)
    await registerSignInRoutes(scope, { signIn, lookAtPictures })
    registerUserRoutes(scope, { users }, lookAtPictures)
    registerGroupRoutes(scope, { groups })
    registerMailRoutes(scope, {
      mail,
      quota: mailQuota,
      instanceName: () => baseConfig.instanceTitle() || config.databaseName,
    })
    registerMessageRoutes(scope, { messages })
    registerDatamodelRoutes(scope, datamodel)
    registerObjecttypeRoutes(scope, { objecttypes })
    registerRightRoutes(scope, { presets, explain, invalid, addedSystemRights: keptPlugins.systemRights })
    registerPoolRoutes(scope, { pools })
    registerTagRoutes(scope, { tags })
    registerTransitionRoutes(scope, { transitions, runOnObjects })
    await registerFileRoutes(scope, { files, nameInObject, mapMetadata, metadataIn, collections: ingest.ofUploads })
    registerReadRoutes(scope, { read })
    registerObjectRoutes(scope, { objects })
    registerObjectInfoRoutes(scope, { info })
    registerCollectionRoutes(scope, { collections })
    registerMappingRoutes(scope, { mappings })
    await registerPluginRoutes(scope, { plugins })
    registerFormatRoutes(scope, { formats })
    await registerDeepLinkRoutes(scope, { deepLinks, sitemaps, files, nameInObject, metadataIn })
    await registerHarvestRoutes(scope, { harvest, externalUrl: config.externalUrl })
    registerPublishRoutes(scope, { publish })
    registerSearchRoutes(scope, { search, language })
    registerSuggestRoutes(scope, { search })
    registerExportRoutes(scope, exports)
    registerTaskRoutes(scope, { tasks })
    registerBackupRoutes(scope, { backups })
    registerJanitorRoutes(scope, { janitors: [userJanitor.due, eventJanitor.due] })
  })
  await onSurface(http, driveSurface(api), async (scope) => {
    registerDriveRoutes(scope, { drives })
    registerHotfolderRoutes(scope, { hotfolder })
  })
  return { http, console }
}
