import { collectionsOf, collectionsSeen, createCollectionService, leaveCollections } from '../collections/service.ts'
import { createUploadKeys, drivePath, hotfolderPath } from '../drives/service.ts'
import {
  createEventJanitor,
  createEventService,
  createEventStreams,
  followEvents,
  type Seen,
} from '../events/service.ts'
import { readableExports } from '../exports/service.ts'
import { createIngestService } from '../ingest/service.ts'
import { createMetadataExport } from '../mappings/export/service.ts'
import { createMetadataImport } from '../mappings/import/service.ts'
import { createObjectInfoService } from '../objects/info/service.ts'
import { createFileNames } from '../objects/read/file-names.ts'
import { objectsForActions } from '../objects/read/for-actions.ts'
import { rememberedPeople } from '../objects/read/people.ts'
import { createReadService } from '../objects/read/read.ts'
import { createRenderPages, type ReadDeps } from '../objects/read/render-pages.ts'
import { createSavedAnswers } from '../objects/save/answers.ts'
import { findOwners } from '../objects/save/owners.ts'
import { runTransition } from '../objects/save/run-transition.ts'
import {
  createObjectService,
  findNamedObjects,
  findObjectsByValues,
  type ObjectDeps,
  readNamedObject,
  refreshStandards,
  standardMask,
} from '../objects/service.ts'
import { objectsWithFiles } from '../objects/upkeep/file-uses.ts'
import { grantStores, grantTables, namesInGrants } from '../objects/upkeep/grant-stores.ts'
import { janitorSettings } from '../objects/upkeep/janitor-policies.ts'
import { createTrashJanitor, purgePolicies } from '../objects/upkeep/trash-janitor.ts'
import { renewUniqueForms } from '../objects/upkeep/unique-forms.ts'
import { mailRecipients } from '../people/mail-recipients.ts'
import { pageLink } from '../platform/values/deep-link.ts'
import { publishedOf } from '../publish/service.ts'
import { createExplainService, createInvalidGrantService } from '../rights/service.ts'
import { failureEvents } from '../search/queue/failure-events.ts'
import { indexedEvents } from '../search/queue/indexed-events.ts'
import { createIndexer, createQueryLanguage, createSearchService } from '../search/service.ts'
import { narrowedTags } from '../tags/service.ts'
import { readableTasks } from '../tasks/service.ts'
import { createEventRuns, type RunOnObjects, registerTransitionActions } from '../transitions/service.ts'
import type { Given, Ground } from './ground.ts'
import type { People } from './people.ts'
import type { Plugins } from './plugins.ts'
import type { Readers } from './readers.ts'
import type { Workflow } from './workflow.ts'

export type Objects = Awaited<ReturnType<typeof composeObjects>>

/** Objects: reading and saving, the index and search, transitions that run by themselves, and the log as callers may read it. */
export async function composeObjects(
  { config, db, log, saveCallbacks = () => [] }: Given,
  { bus, memory, seal, jobs, pipelined, pages, foreground, heavyRequests, queued, snapshots }: Ground,
  {
    baseConfig,
    datamodel,
    index,
    reindexing,
    events,
    eventUsers,
    languages,
    objecttypes,
    pools,
    sharing,
    tags,
    maskSettings,
    anyMarks,
    keptPlugins,
  }: Readers,
  { principals, rights, signIn, pins, shares, shareMails, users, groups, mail, messages, conventionOf }: People,
  { files, mappings, transitions, webhooks, pools: poolService }: Workflow,
  { plugins }: Plugins,
  opened: AsyncDisposableStack,
) {
  const indexer = await createIndexer({
    db,
    bus,
    log,
    datamodel,
    languages,
    refreshStandards,
    linkedChanged: async (ids) => {
      const having = anyMarks() ? await objectsWithFiles(db, ids) : []
      if (having.length > 0) await db.transaction((tx) => files.renewMarks(tx, having))
    },
    readFiles: files.forIndex,
    poolPath: pools.path,
    target: index.target,
    queued,
    foreground,
    upToDate: snapshots.upToDate,
    reindexing,
    check: { pause: config.indexCheckPause, every: 3600 * config.indexCheckEvery },
    async onIndexed(from, ids) {
      if (ids.length > 0 && baseConfig.get().object_index_event.active)
        await events.append(from, await indexedEvents(from, ids))
    },
    onFailure: async (id, error) => {
      await events.append(db, await failureEvents(db, 'OBJECT_INDEX_ERROR', [{ id, error }]))
    },
    onRetry: async (tx, failed) => {
      await events.append(tx, await failureEvents(tx, 'OBJECT_INDEX_REQUEUE', failed))
    },
  })
  opened.defer(() => indexer.close())
  const readDeps: ReadDeps = {
    db,
    pipelined,
    pages,
    datamodel,
    rights,
    databaseName: config.databaseName,
    languages,
    pools,
    tags,
    ...maskSettings,
    namesFiles: objecttypes.namesFiles,
    people: rememberedPeople(principals, rights),
    files,
    limits: { bytes: config.answerLimit, embedded: 50_000 },
    memory,
    heavyRequests,
    world: snapshots.world,
    collectionsOf,
    publishedOf,
  }
  const render = createRenderPages(readDeps)
  const read = createReadService(readDeps, render)
  const saved = createSavedAnswers(readDeps, render)
  const clock = (): Date => new Date()
  const keys = createUploadKeys(seal)
  const collections = createCollectionService({
    db,
    events,
    rights,
    datamodel,
    pools,
    tags,
    requireMappings: mappings.requireUsable,
    conventionOf,
    languages,
    databaseName: config.databaseName,
    clock,
    quotas: { collections: config.quotaCollections, entries: config.quotaCollectionEntries },
    uploadAddresses: async (collectionId, generation) => {
      const { read_write_access, hotfolder: drops } = baseConfig.get().webdav
      const key = read_write_access || drops ? await keys.keyOf({ collectionId, generation }) : ''
      const urlOf = (path: string): string => `${config.externalUrl}${path}/${key}/`
      return [
        ...(read_write_access ? [{ type: 'webdav' as const, url: urlOf(drivePath) }] : []),
        ...(drops ? [{ type: 'webdav-hotfolder' as const, url: urlOf(hotfolderPath) }] : []),
      ]
    },
    pins,
    shares,
    shareMails,
    sharing,
    objects: {
      find: (tx, actor, named, options) => findNamedObjects(objectDeps, tx, actor, named, options),
      readLookup: (lookup, path) => readNamedObject({ datamodel }, lookup, path),
      readable: read.readable,
    },
  })
  const objectDeps: ObjectDeps = {
    db,
    config,
    conventionOf,
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
        return narrowedTags(tags.snapshot(), layers)
      },
    },
    files,
    collections: {
      add: collections.lists.add,
      review: collections.review,
      collect: collections.collect,
      leave: (tx, ids) => leaveCollections(sharing, tx, ids),
    },
    findOwners: (tx, actor, refs) => findOwners(principals, tx, actor, refs),
    runTransitions: transitions.runOnItems,
    transitionAsks: transitions,
    afterRefusal: transitions.afterFailure,
    callbacks: {
      list: () => [...saveCallbacks(), ...plugins.saveCallbacks()],
      ofAction: plugins.ofAction,
      viewer: (tx) => signIn.systemActor(tx),
      show: saved.showPending,
    },
    events,
    languages,
    heavyRequests,
    wakeIndex: queued.raise,
    awaitIndexed: indexer.awaitIndexed,
    clock,
  }
  const trashJanitor = createTrashJanitor({
    objects: objectDeps,
    log,
    policies: () => purgePolicies(janitorSettings({ baseConfig, datamodel, objecttypes, pools })),
    systemActor: signIn.systemActor,
    paused: () => config.readOnly || !config.allowPurge || !baseConfig.get().janitor.active,
  })
  opened.defer(() => trashJanitor.close())
  const eventJanitor = createEventJanitor({
    db,
    events,
    log,
    settings: () => baseConfig.get().janitor,
    paused: () => config.readOnly,
  })
  opened.defer(() => eventJanitor.close())
  const runOnObjects: RunOnObjects = (actor, request) => runTransition(objectDeps, actor, request)
  const eventRuns = createEventRuns({
    db,
    jobs,
    log,
    transitions: transitions.all,
    follow: followEvents,
    runOnObjects,
    events,
    actorsOf: signIn.actorsOf,
    paused: () => config.readOnly,
    upToDate: snapshots.upToDate,
  })
  registerTransitionActions({
    db,
    jobs,
    mail,
    webhooks,
    recipients: mailRecipients,
    objects: objectsForActions(read),
    actorsOf: signIn.actorsOf,
    events,
    externalUrl: config.externalUrl,
    linkOf: (object) => pageLink(config.externalUrl, baseConfig.get(), object),
    languages,
  })
  const { databaseName } = config
  const seen: Seen = {
    objects: read.told,
    pools: async (ids) => async (actor) => {
      const own = await rights.forActor(actor)
      return new Set(ids.filter((id) => own.mayPool('bag_read', id)))
    },
    users: users.readable,
    groups: groups.readable,
    messages: messages.readable,
    collections: collections.readable,
    exports: (ids) => readableExports(db, ids),
    tasks: (ids) => readableTasks(db, ids),
  }
  const eventService = createEventService({
    db,
    log: events,
    databaseName,
    users: eventUsers,
    seen,
    pluginType: keptPlugins.eventType,
    quotas: {
      eventBytes: config.quotaEventBytes,
      events: config.quotaEvents,
      eventStorage: config.quotaEventStorage,
    },
  })
  const search = createSearchService({
    db,
    pipelined,
    engine: index.engine,
    checksIndex: config.indexCheckPause > 0,
    followedSince: () => index.target.followedSince(db),
    bus,
    reindexing,
    datamodel,
    rights,
    languages,
    databaseName: config.databaseName,
    renderHits: read.renderHits,
    readable: read.readable,
    withAncestors: read.withAncestors,
    heavyRequests,
    guest: signIn.actorOfGuests,
    synonyms: () => baseConfig.get().languages.database,
    log,
    pointQuotas: {
      own: config.quotaPointsInTime,
      all: config.quotaAllPointsInTime,
      hits: config.quotaPointInTimeHits,
    },
    pools,
    ...maskSettings,
    world: snapshots.world,
    freeVersions: files.freeVersions,
    alike: files.alike,
    collectionsSeen,
    poolOf: pools.byId,
    poolByReference: (reference) => pools.byReference(reference)?.id,
    tagName: (id) => tags.snapshot().get(id)?.displayname,
    keepers: {
      pool: poolService.records,
      collection: collections.records,
      user: users.records,
      group: groups.records,
      message: messages.records,
      event: eventService.records,
    },
  })
  opened.defer(() => search.close())
  const objects = createObjectService(objectDeps, saved.renderSaved)
  const metadataImport = createMetadataImport({
    db,
    datamodel,
    mappings,
    objecttypes,
    pools,
    languages,
    rights,
    metadata: files.metadata,
    recipes: plugins.mappable,
    ask: files.askRecipes,
    find: (actor, wanted) => findObjectsByValues(objectDeps, actor, wanted),
    maskOf: (table, poolId) => standardMask({ deps: { ...maskSettings, pools } }, { table, poolId }),
  })
  const ingest = createIngestService({
    db,
    events,
    datamodel,
    collections,
    objects,
    read,
    search,
    languages,
    findByValues: (actor, wanted) => findObjectsByValues(objectDeps, actor, wanted),
    metadata: { wait: files.awaitMetadata, ...metadataImport },
    requirePlugin: ({ name, entry }) => void plugins.uploadProgram(name, entry),
    askPlugin: plugins.askAboutUpload,
    fileRecords: (actor, ids) => files.read(actor, ids, 'long', {}),
  })
  const language = createQueryLanguage({ datamodel, check: search.check, clock: () => new Date() })
  return {
    index,
    indexer,
    read,
    collections,
    objects,
    ingest,
    uploadKeys: keys,
    metadataImport,
    /** Purges objects that have been in the trash for long enough. */
    emptyTrash: trashJanitor.run,
    eventJanitor,
    info: createObjectInfoService(objectDeps),
    nameInObject: createFileNames({
      db,
      datamodel,
      read,
      languages,
      templatesOf: (id) => objecttypes.settings(id).exportAssetFilenames,
    }),
    metadataIn: createMetadataExport({
      db,
      datamodel,
      mappings,
      objecttypes,
      pools,
      languages,
      externalUrl: config.externalUrl,
      read: (actor, ids) => read.stream(actor, ids, { format: 'long', mergeLinkedObjects: 'all' }),
    }),
    mapMetadata: metadataImport.map,
    runOnObjects,
    renewUniqueForms: () => renewUniqueForms(db, datamodel.current),
    eventRuns,
    search,
    language,
    events: eventService,
    invalid: createInvalidGrantService({
      db,
      stores: grantStores,
      tables: grantTables,
      model: () => namesInGrants(datamodel.current()),
      findPeople: principals.find,
    }),
    explain: createExplainService({
      db,
      forActor: rights.forActor,
      containers: () => ({ pools: pools.grants(), objecttypes: objecttypes.grants() }),
      findPeople: principals.find,
      actorOf: signIn.actorOfUser,
      objectOf: read.guarded,
      isObjecttype: (id) => datamodel.current().tablesById.get(id)?.kind === 'object',
      hasOwnGrants: (id) => datamodel.current().tablesById.get(id)?.aclTable === true,
    }),
    streams: createEventStreams({
      db,
      log,
      databaseName,
      seen,
      callers: signIn.callers,
      most: Math.floor(config.maxConnections / 2),
      mostOfCaller: config.quotaStreams,
      maxBytes: memory.eventStreams,
      patience: 1000 * config.slowGrace,
    }),
  }
}
