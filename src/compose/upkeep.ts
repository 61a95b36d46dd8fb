import { join } from 'node:path'
import { backupLocations } from '../files/service.ts'
import { createAlarms, createBackupSchedule, createBackupService } from '../maintenance/service.ts'
import { objectsForTasks } from '../objects/service.ts'
import type { Queryable } from '../platform/postgres/db.ts'
import { createTaskModules, createTaskService } from '../tasks/service.ts'
import type { Given, Ground } from './ground.ts'
import type { Objects } from './objects.ts'
import type { People } from './people.ts'
import type { Readers } from './readers.ts'
import type { Workflow } from './workflow.ts'

export type Upkeep = ReturnType<typeof composeUpkeep>

/** Operations of users on many objects, and on all stored data. */
export function composeUpkeep(
  { config, db, log }: Given,
  { foreground, jobs }: Ground,
  { baseConfig, datamodel, events, languages, maskSettings, pools, readOnly, tags }: Readers,
  { principals, rights, signIn, mail, mailQuota, conventionOf }: People,
  { files, mappings }: Workflow,
  { metadataImport, objects, read, search }: Objects,
  opened: AsyncDisposableStack,
) {
  const namesOfUsers = async (from: Queryable, userIds: readonly number[]) =>
    (await principals.names(from, { userIds, groupIds: [] }, [])).users
  const tasks = createTaskService({
    db,
    jobs,
    events,
    mail,
    modules: createTaskModules({
      search,
      objects,
      read: objectsForTasks({ db, datamodel, rights, masks: { ...maskSettings, pools } }),
      readable: read.readable,
      stream: read.stream,
      map: metadataImport.map,
      mapping: (id) => mappings.find(db, id),
      tags: tags.snapshot,
      conventionOf,
    }),
    actorsOf: signIn.actorsOf,
    names: namesOfUsers,
    languages,
    instance: () => baseConfig.instanceTitle() || config.databaseName,
    paused: readOnly,
    conventionOf,
    foreground,
    most: config.quotaTasks,
    mailQuota,
    clock: () => new Date(),
  })
  const backups = createBackupService({
    db,
    jobs,
    events,
    config,
    place: files.backupPlace,
    storeOf: files.storeOf,
    names: namesOfUsers,
    actorsOf: signIn.actorsOf,
    alarm: mail.alarm,
    alarmWithin: mail.alarmWithin,
  })
  const schedule = createBackupSchedule({
    db,
    log,
    events,
    beginWithin: backups.beginWithin,
    storeOf: files.storeOf,
    settings: () => baseConfig.get().backup_scheduler,
    paused: readOnly,
  })
  opened.defer(() => schedule.close())
  const alarms = createAlarms({
    db,
    log,
    mail: mail.alarmWithin,
    folders: () => foldersOf({ config, db }),
    leastFree: 1_000_000 * config.leastFreeDisk,
    certificates: signIn.certificates,
    paused: readOnly,
  })
  opened.defer(() => alarms.close())
  return {
    tasks,
    backups,
    /** Removes scheduled backups that are not to be kept. */
    keepBackups: schedule.keep,
    /** Starts the backup that is due at a time, and removes backups that are not to be kept. */
    scheduleBackups: schedule.run,
    /** Alerts administrators about conditions that last until somebody acts. */
    lookForAlarms: alarms.run,
  }
}

/** The folders with data of this process, on any disk. */
async function foldersOf({ config, db }: Pick<Given, 'config' | 'db'>): Promise<string[]> {
  const { dataDir, fileFolders, hotfolderPath } = config
  const locations = await backupLocations(db, { dataDir, folders: fileFolders })
  return [
    dataDir,
    join(dataDir, 'postgres', 'data'),
    ...(hotfolderPath === null ? [] : [hotfolderPath]),
    ...locations.flatMap(({ folder }) => (folder ? [folder.path] : [])),
  ]
}
