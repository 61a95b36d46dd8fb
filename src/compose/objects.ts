import { collectionsOf, createCollectionService, leaveCollections } from '../collections/service.ts'
import { createUploadKeys, drivePath, hotfolderPath } from '../drives/service.ts'
import { followEvents } from '../events/service.ts'
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
  standardMask,
} from '../objects/service.ts'
import { grantStores, grantTables, namesInGrants } from '../objects/upkeep/grant-stores.ts'
import { janitorSettings } from '../objects/upkeep/janitor-policies.ts'
import { createTrashJanitor, purgePolicies } from '../objects/upkeep/trash-janitor.ts'
import { renewUniqueForms } from '../objects/upkeep/unique-forms.ts'
import { mailRecipients } from '../people/mail-recipients.ts'
import { pageLink } from '../platform/values/deep-link.ts'
import { publishedOf } from '../publish/service.ts'
import { createExplainService, createInvalidGrantService } from '../rights/service.ts'
import { narrowedTags } from '../tags/service.ts'
import { createEventRuns, type RunOnObjects, registerTransitionActions } from '../transitions/service.ts'
import { composeEventLog } from './event-log.ts'
import type { Given, Ground } from './ground.ts'
import type { People } from './people.ts'
import type { Plugins } from './plugins.ts'
import type { Readers } from './readers.ts'
import { composeIndexer, composeSearch } from './search.ts'
import type { Workflow } from './workflow.ts'

export type Objects = Awaited<ReturnType<typeof composeObjects>>

/** Objects: reading and saving, with all that depends on them: index and search, transitions that run by themselves, event log. */
export async function composeObjects(
  given: Given,
  ground: Ground,
  readers: Readers,
  people: People,
  workflow: Workflow,
  { plugins }: Plugins,
  opened: AsyncDisposableStack,
) {
  const { config, db, log, saveCallbacks = () => [] } = given
  const { memory, seal, jobs, pipelined, pages, heavyRequests, queued, snapshots } = ground
  const { baseConfig, datamodel, index, events, languages, objecttypes, pools, readOnly, sharing, tags, maskSettings } =
    readers
  const { principals, rights, signIn, pins, shares, shareMails, mail, conventionOf } = people
  const { files, mappings, transitions, webhooks } = workflow
  const indexer = await composeIndexer(given, ground, readers, workflow, opened)
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
    actorsOf: signIn.actorsOf,
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
    paused: () => readOnly() || !config.allowPurge || !baseConfig.get().janitor.active,
  })
  opened.defer(() => trashJanitor.close())
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
    paused: readOnly,
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
  const eventLog = composeEventLog(given, ground, readers, people, { read, collections }, opened)
  const records = { read, collections, events: eventLog.events }
  const { search, language } = composeSearch(given, ground, readers, people, workflow, records, opened)
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
    locking: ground.shares.locking,
  })
  return {
    ...eventLog,
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
  }
}
