import { type CollectionService, collectionsSeen } from '../collections/service.ts'
import type { EventService } from '../events/service.ts'
import type { ReadService } from '../objects/read/read.ts'
import { refreshStandards } from '../objects/service.ts'
import { objectsWithFiles } from '../objects/upkeep/file-uses.ts'
import { failureEvents } from '../search/queue/failure-events.ts'
import { indexedEvents } from '../search/queue/indexed-events.ts'
import { createIndexer, createQueryLanguage, createSearchService } from '../search/service.ts'
import type { Given, Ground } from './ground.ts'
import type { People } from './people.ts'
import type { Readers } from './readers.ts'
import type { Workflow } from './workflow.ts'

/** Keeps the search index up to date with the objects. */
export async function composeIndexer(
  { config, db, log }: Given,
  { bus, foreground, queued, snapshots }: Ground,
  { anyMarks, baseConfig, datamodel, events, index, languages, pools, reindexing }: Readers,
  { files }: Workflow,
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
  return indexer
}

interface Records {
  readonly read: ReadService
  readonly collections: CollectionService
  readonly events: EventService
}

/** Searches of objects and of all other records, and the language in which people write them. */
export function composeSearch(
  { config, db, log }: Given,
  { bus, heavyRequests, pipelined, snapshots }: Ground,
  { baseConfig, datamodel, index, languages, maskSettings, pools, reindexing, tags }: Readers,
  { rights, signIn, users, groups, messages }: People,
  { files, pools: poolService }: Workflow,
  { read, collections, events }: Records,
  opened: AsyncDisposableStack,
) {
  const clock = () => new Date()
  const search = createSearchService({
    db,
    clock,
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
      event: events.records,
    },
  })
  opened.defer(() => search.close())
  const language = createQueryLanguage({ datamodel, check: search.check, clock })
  return { search, language }
}
