import { openShares } from '../collections/service.ts'
import { type BaseConfig, openBaseConfig } from '../config/service.ts'
import { createDatamodelService } from '../datamodel/service.ts'
import { createEventLog } from '../events/service.ts'
import { createCommitHooks } from '../objects/upkeep/commit-hooks.ts'
import { marksAnywhere } from '../objects/upkeep/file-marks.ts'
import { openObjecttypes } from '../objecttypes/service.ts'
import { createEventUsers } from '../people/event-users.ts'
import { clientConventions } from '../platform/config/versions.ts'
import { clearCaches } from '../platform/memory/byte-cache.ts'
import { openPlugins } from '../plugins/service.ts'
import { openPools } from '../pools/service.ts'
import { createPostgresIndex, createReindexing } from '../search/service.ts'
import { openTags } from '../tags/service.ts'
import type { Given, Ground } from './ground.ts'

export type Readers = Awaited<ReturnType<typeof composeReaders>>

/** Small data that all parts need, kept in memory; the services that change it come later. Also the log of events. */
export async function composeReaders(
  { config, db, log, icu, searchIndex = createPostgresIndex }: Given,
  { bus, memory, seal, snapshots, jobs, pipelined, shares: portions }: Ground,
  opened: AsyncDisposableStack,
) {
  const baseConfig = await openBaseConfig({ snapshots, seal, log })
  const { level } = log
  const setLevel = ({ logging }: Pick<BaseConfig, 'logging'>): void => {
    log.level = logging.level || level
  }
  setLevel(baseConfig.get())
  opened.defer(baseConfig.onChange(setLevel))
  opened.defer(() => setLevel({ logging: { level: '', timings: false } }))
  const eventUsers = createEventUsers(db)
  const events = createEventLog({
    userFields: eventUsers.userFields,
    userInEventGroup: () => baseConfig.get().user.user_in_event_group,
    copyToEvent: () => baseConfig.get().user.copy_to_event,
  })
  const index = searchIndex({
    db,
    pipelined,
    log,
    jobs,
    icu: icu ?? process.versions.icu ?? '',
    connections: portions.lexical,
    memory,
  })
  opened.defer(() => index.close())
  opened.defer(
    bus.onAnotherServer(() => {
      clearCaches()
      index.forget()
    }),
  )
  const reindexing = createReindexing({ bus, events, target: index.target })
  const datamodel = await createDatamodelService({
    db,
    bus,
    snapshots,
    events,
    hooks: createCommitHooks(reindexing.begin),
    conventionOf: clientConventions(config),
    dataLanguage: () => baseConfig.databaseLanguages()[0] ?? 'en-US',
  })
  const [tags, objecttypes, pools, plugins, sharing] = await Promise.all([
    openTags({ snapshots }),
    openObjecttypes({ snapshots, bus }),
    openPools({ snapshots, bus }),
    openPlugins({ snapshots, log }),
    openShares({ snapshots, bus }),
  ])
  return {
    baseConfig,
    /** Whether everything that changes stored data is refused, by the configuration of the process or by the base configuration. */
    readOnly: (): boolean => config.readOnly || baseConfig.get().readonly.enabled,
    languages: baseConfig.databaseLanguages,
    eventUsers,
    events,
    datamodel,
    index,
    reindexing,
    tags,
    objecttypes,
    pools,
    keptPlugins: plugins,
    sharing,
    anyMarks: marksAnywhere({ pools, objecttypes }),
    /** Selection and filters of masks. */
    maskSettings: {
      objecttypeMasks: (id: number) => objecttypes.settings(id).standardMasks,
      maskFilters: (id: number) => objecttypes.settings(id).maskfilters,
    },
  }
}
