import { createCleaning } from '../exports/clean.ts'
import { createDeliveries } from '../exports/deliver/service.ts'
import { checkDataFormats } from '../exports/run/formats.ts'
import { createRunJobs } from '../exports/run/job.ts'
import { createSchedules } from '../exports/schedules.ts'
import { createExportService, exportMappingUse } from '../exports/service.ts'
import { createShow } from '../exports/show.ts'
import { createTransports } from '../exports/transports/run.ts'
import { createNamesOfRendered } from '../objects/read/file-names.ts'
import { checkFilenameTemplate } from '../objecttypes/service.ts'
import { mailRecipients } from '../people/mail-recipients.ts'
import { badRequest } from '../platform/errors.ts'
import { outgoingLimits } from '../platform/outgoing/limits.ts'
import type { Queryable } from '../platform/postgres/db.ts'
import type { Given, Ground } from './ground.ts'
import type { Objects } from './objects.ts'
import type { Outlets } from './outlets.ts'
import type { People } from './people.ts'
import type { Plugins } from './plugins.ts'
import type { Readers } from './readers.ts'
import type { Workflow } from './workflow.ts'

export type Exports = ReturnType<typeof composeExports>

/** Exports: their records, their runs, and the delivery of their results. */
export function composeExports(
  { config, db, log }: Given,
  { seal, jobs }: Ground,
  { baseConfig, datamodel, events, languages, objecttypes, readOnly }: Readers,
  { rights, signIn, mail, conventionOf }: People,
  { files, mappings }: Workflow,
  { plugins: { exports: plugins } }: Pick<Plugins, 'plugins'>,
  { read, search, metadataIn, events: eventService }: Objects,
  { formats }: Pick<Outlets, 'formats'>,
  opened: AsyncDisposableStack,
) {
  const clock = () => new Date()
  const actorOf = async (from: Queryable, userId: number) => (await signIn.actorsOf(from, [userId])).get(userId) ?? null
  const { externalUrl } = config
  const show = createShow({
    db,
    seal,
    rights,
    eventsOf: (id, { since }) => eventService.ofRecord({ basetype: 'export', id, since, most: 1000 }),
    externalUrl,
  })
  const deliveries = createDeliveries({ db, events, files, metadataIn, actorOf, externalUrl, plugins, show })
  opened.defer(() => deliveries.close())
  const exports = createExportService({
    db,
    events,
    jobs,
    seal,
    rights,
    conventionOf,
    datamodel,
    checkSearch: search.check,
    checkFormats: async (_actor, body) => checkDataFormats(formats, (name) => plugins.knows('export', name), body),
    checkTemplate: checkFilenameTemplate,
    presets: files.presets,
    expiry: files.expiry,
    requireMappings: mappings.requireUsable,
    checkTransportPlugin(plugin, path) {
      if (plugins.knows('transport', plugin)) return
      throw badRequest(`${path}: there is no plugin with a transport ${plugin.slice(0, 100)}`, { path })
    },
    show,
    most: config.quotaExports,
    mostRuns: config.quotaExportRuns,
    clock,
  })
  mappings.addUses([exportMappingUse])
  const transports = createTransports({
    db,
    events,
    seal,
    plugins,
    show,
    deliveries,
    rules: { allowPrivate: config.allowPrivateExports },
    patience: outgoingLimits(config).time,
    externalUrl,
    mail,
    recipients: mailRecipients,
    instanceName: () => baseConfig.instanceTitle() || config.databaseName,
  })
  const runs = createRunJobs({
    db,
    events,
    jobs,
    log,
    datamodel,
    search,
    read,
    formats,
    files,
    plugins,
    show,
    nameOfAsset: createNamesOfRendered({
      datamodel,
      languages,
      templatesOf: (id) => objecttypes.settings(id).exportAssetFilenames,
    }),
    databaseName: config.databaseName,
    actorOf,
    transports,
    mostOfUser: config.quotaExportRuns,
  })
  const schedules = createSchedules({
    db,
    jobs,
    events,
    log,
    actorsOf: signIn.actorsOf,
    paused: () => readOnly() || !baseConfig.get().export_scheduler.active,
    clock,
  })
  opened.defer(() => schedules.close())
  const cleaning = createCleaning({
    db,
    jobs,
    events,
    log,
    expireDays: () => baseConfig.get().export.expire_days,
    paused: readOnly,
    clock,
  })
  opened.defer(() => cleaning.close())
  return {
    exports,
    deliveries,
    mostArchives: config.quotaArchives,
    wake: runs.wake,
    /** Starts the exports that are due at a time. */
    beginDue: schedules.run,
    clean: cleaning.run,
  }
}
