import { createFigures } from '../inspect/figures.ts'
import { type Console, createConsole } from '../inspect/service.ts'
import type { HttpApp } from '../platform/http/http.ts'
import type { Measure } from '../platform/http/metrics.ts'
import type { SystemService } from '../system/service.ts'
import type { Exports } from './exports.ts'
import type { Given, Ground } from './ground.ts'
import type { Objects } from './objects.ts'
import type { Outlets } from './outlets.ts'
import type { People } from './people.ts'
import type { Plugins } from './plugins.ts'
import type { Readers } from './readers.ts'
import type { Upkeep } from './upkeep.ts'
import type { Workflow } from './workflow.ts'

interface ConsoleParts {
  readonly given: Given
  readonly ground: Ground
  readonly readers: Readers
  readonly people: People
  readonly workflow: Workflow
  readonly plugins: Plugins
  readonly objects: Objects
  readonly outlets: Pick<Outlets, 'publish'>
  readonly exports: Pick<Exports, 'clean'>
  readonly upkeep: Upkeep
  readonly measures: readonly Measure[]
  readonly system: SystemService
  readonly http: Pick<HttpApp, 'traffic'>
}

/** The console for administrators. It reads from all parts; no part depends on it. */
export function composeConsole(parts: ConsoleParts): Console {
  const { given, ground, readers, people, workflow, plugins, objects, outlets, exports, upkeep, measures } = parts
  const { config, db } = given
  const { baseConfig, datamodel, pools, index } = readers
  const { signIn } = people
  return createConsole({
    ...{ config, db, baseConfig, datamodel, index },
    figures: createFigures({ db, measures, stopping: () => parts.http.traffic.stopping }),
    instanceName: () => baseConfig.instanceTitle() || config.databaseName,
    basePath: signIn.basePath,
    events: objects.events,
    files: workflow.files,
    objecttypes: workflow.objecttypes,
    pools: { stats: workflow.pools.stats, snapshot: pools.snapshot },
    tags: workflow.tags,
    plugins: plugins.plugins.manage,
    search: objects.search,
    sessions: signIn.sessions,
    status: parts.system.status,
    // Each janitor has one run at a time, and reports its failures itself.
    runJanitors() {
      const { search, emptyTrash, eventJanitor } = objects
      const janitors = [
        ...[search.cleanPoints, emptyTrash, eventJanitor.run, people.userJanitor.run, workflow.files.tidy],
        ...[exports.clean, upkeep.keepBackups],
      ]
      for (const run of janitors) void run()
    },
    wakeIndex: ground.queued.raise,
    backups: upkeep.backups.inspection,
    tasks: upkeep.tasks,
    publish: outlets.publish,
    mappings: workflow.mappings,
    messages: people.messages,
    slowStatements: { from: config.slowStatement, list: ground.slowStatements.list },
  })
}
