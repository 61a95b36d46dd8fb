import { createBackupService } from '../maintenance/service.ts'
import { objectsForTasks } from '../objects/service.ts'
import type { Queryable } from '../platform/postgres/db.ts'
import { createTaskModules, createTaskService } from '../tasks/service.ts'
import type { Given, Ground } from './ground.ts'
import type { Objects } from './objects.ts'
import type { People } from './people.ts'
import type { Readers } from './readers.ts'
import type { Workflow } from './workflow.ts'

export type Upkeep = ReturnType<typeof composeUpkeep>

/** What people have the service do to many objects, and to all that it keeps. */
export function composeUpkeep(
  { config, db }: Given,
  { jobs }: Ground,
  { baseConfig, datamodel, events, languages, maskSettings, pools, tags }: Readers,
  { principals, rights, signIn, mail, conventionOf }: People,
  { files, mappings }: Workflow,
  { metadataImport, objects, read, search }: Objects,
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
    paused: () => config.readOnly,
    conventionOf,
    most: config.quotaTasks,
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
  })
  return { tasks, backups }
}
