import { composeExports } from './compose/exports.ts'
import { composeFolders } from './compose/folders.ts'
import { composeGround, type Given, type Ground } from './compose/ground.ts'
import { composeHarvest } from './compose/harvest.ts'
import { composeHttp } from './compose/http.ts'
import { composeObjects } from './compose/objects.ts'
import { composeOutlets } from './compose/outlets.ts'
import { composePeople, type People } from './compose/people.ts'
import { composePlugins } from './compose/plugins.ts'
import { composeReaders } from './compose/readers.ts'
import { composeUpkeep } from './compose/upkeep.ts'
import { composeWorkflow, type Workflow } from './compose/workflow.ts'
import type { FormatService } from './formats/service.ts'
import type { BackendConsoleOptions } from './inspect/backend.ts'
import { shadowedUsers } from './people/service.ts'
import type { Config } from './platform/config/config.ts'
import type { HttpApp } from './platform/http/http.ts'
import type { Measure } from './platform/http/metrics.ts'
import { isKnownSecretKey } from './platform/postgres/seal-check.ts'
import type { SearchService } from './search/service.ts'
import { systemMeasures } from './system/measures.ts'

export interface App {
  readonly http: HttpApp
  /** For the backend port: the console, the actor with whose rights it reads there, and whether nothing may be changed. */
  readonly console: Pick<BackendConsoleOptions, 'console' | 'actor' | 'readOnly'>
  /** The metrics of the service beside requests. */
  readonly measures: readonly Measure[]
  /** Searches over all matches, for code that goes through all of them (search/walk.ts). */
  readonly search: Pick<SearchService, 'walk' | 'changes'>
  /** Objects as documents of other formats. */
  readonly formats: FormatService
  /**
   * The password that the very first start generated because none is configured. It is to be printed until somebody has signed in
   * with it.
   */
  readonly newRootPassword: string | null
  /**
   * Resolves when no background work of this process is queued or running (index queue, jobs). With `hurry`, jobs that
   * wait for a later attempt run at once.
   */
  idle(options?: { hurry?: boolean }): Promise<void>
  /** Deletes expired data, as far as that is allowed at the time; otherwise periodic runs do this. */
  tidy(at?: Date): Promise<void>
  /** Stops background work; the HTTP server must be closed before. */
  close(): Promise<void>
}

/** A service on a migrated database. The resources that it opens are closed by `close`, or at once when it cannot be built. */
export async function buildApp(config: Config, given: Omit<Given, 'config'>): Promise<App> {
  const opened = new AsyncDisposableStack()
  try {
    return await composeApp({ ...given, config }, opened)
  } catch (error) {
    // The first error is more useful than a later failure to close something.
    await opened.disposeAsync().catch(() => {})
    throw error
  }
}

/**
 * The composition root: each part of src/compose is built from the parts before it, and none depends on a later one. Closes in the
 * reverse order.
 */
async function composeApp(given: Given, opened: AsyncDisposableStack): Promise<App> {
  const ground = await composeGround(given, opened)
  const readers = await composeReaders(given, ground, opened)
  const people = composePeople(given, ground, readers, opened)
  const workflow = await composeWorkflow(given, ground, readers, people, opened)
  const plugins = await composePlugins(given, ground, readers, people, workflow, opened)
  const objects = await composeObjects(given, ground, readers, people, workflow, plugins, opened)
  const folders = composeFolders(given, readers, people, workflow, objects, opened)
  const outlets = composeOutlets(given, ground, readers, people, workflow, objects)
  const harvest = composeHarvest(given, ground, readers, people, objects, outlets, opened)
  const exports = composeExports(given, ground, readers, people, workflow, plugins, objects, outlets, opened)
  const upkeep = composeUpkeep(given, ground, readers, people, workflow, objects, opened)
  const { jobs } = ground
  const { signIn } = people
  const measures = [...systemMeasures(given.db), ...jobs.measures, signIn.failedSignIns, workflow.files.fixity.measure]
  const { http, console } = await composeHttp(
    given,
    ground,
    readers,
    people,
    workflow,
    plugins,
    objects,
    { ...folders, ...outlets, ...harvest, ...upkeep, exports },
    measures,
  )
  opened.defer(() => console.close())
  plugins.servedBy(http.server)
  const { index, indexer, eventRuns, search, emptyTrash } = objects
  const newRootPassword = await signIn.ensureRoot()
  await sealAnew(given, ground, people, workflow)
  const shadowed = await shadowedUsers(given.db)
  if (shadowed.length > 0) {
    given.log.warn({ users: shadowed }, 'addresses of users are the logins of others, and do not name them')
  }
  for (const { objecttype, key, object, holder } of await objects.renewUniqueForms()) {
    given.log.warn(
      { objecttype, key, object, holder },
      'two objects have the same value of a unique key, written in two forms of Unicode: give the first one another',
    )
  }
  // Jobs use all of the above, so they end first.
  await jobs.start()
  opened.defer(() => jobs.close())
  await workflow.files.renditions.wake()
  await workflow.files.moves.wake()
  await exports.wake()
  await upkeep.tasks.wake()
  await upkeep.backups.wake()
  eventRuns.start()
  opened.defer(() => eventRuns.close())
  indexer.wake()
  return {
    http,
    console: { console, actor: signIn.systemActor, readOnly: readers.readOnly },
    measures,
    search,
    formats: outlets.formats,
    newRootPassword,
    async idle(options) {
      // The index queues jobs where captions show data of linked objects.
      for (let waited = true; waited; waited = await jobs.idle(options)) {
        // Runs that follow the log may queue jobs at any time, and jobs write to the log. So repeat until no new jobs were queued.
        for (let seen = -1, queued = 0; queued !== seen; ) {
          seen = queued
          await index.idle()
          await jobs.idle(options)
          queued = await eventRuns.lookNow()
        }
        await indexer.idle()
      }
    },
    // Files of purged objects have no owner any more.
    async tidy(at) {
      await search.cleanPoints()
      await plugins.plugins.manage.lookForUpdates(at)
      await plugins.plugins.updateCustomData(at)
      await emptyTrash(at)
      await exports.beginDue(at)
      await exports.clean(at)
      await people.userJanitor.run(at)
      await objects.eventJanitor.run(at)
      await workflow.files.tidy(at)
      await upkeep.scheduleBackups(at)
      await upkeep.lookForAlarms(at)
    },
    close: () => opened.disposeAsync(),
  }
}

/** Seals stored secrets with the current secret key, and reports secrets that no available key can read. */
async function sealAnew(
  { db, log }: Given,
  { seal }: Ground,
  { signIn, shares }: People,
  { baseConfig, pluginSettings, files }: Workflow,
) {
  if (!(await isKnownSecretKey(db, seal))) {
    log.warn('the secret key is another one than that which was used last: what that one has sealed cannot be read')
  }
  const { apps, accounts } = await signIn.reseal()
  const settings = (await baseConfig.reseal()) + (await pluginSettings.reseal())
  const { locations, addresses } = await files.reseal()
  if (apps > 0) log.warn({ apps }, 'authenticator apps are sealed with a key that is not here')
  if (accounts > 0) log.warn({ accounts }, 'accounts without a password are sealed with a key that is not here')
  const links = await shares.reseal()
  if (links > 0)
    log.warn({ links }, 'links to collections are sealed with a key that is not here: they cannot be copied')
  if (settings > 0) {
    log.warn({ settings }, 'secrets of the base configuration are sealed with a key that is not here: enter them again')
  }
  if (locations > 0) {
    log.warn({ locations }, 'secret keys of locations are sealed with a key that is not here: enter them again')
  }
  if (addresses > 0) {
    log.warn({ addresses }, 'addresses of contents on the web are sealed with a key that is not here')
  }
}
