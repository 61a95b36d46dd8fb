import type { AddressInfo } from 'node:net'
import { createCustomDataUpkeep } from '../objects/upkeep/custom-data.ts'
import { createPluginService } from '../plugins/service.ts'
import type { Given, Ground } from './ground.ts'
import type { People } from './people.ts'
import type { Readers } from './readers.ts'
import type { Workflow } from './workflow.ts'

export type Plugins = Awaited<ReturnType<typeof composePlugins>>

/** Plugins, which are installed beside the service. */
export async function composePlugins(
  { config, db, log }: Given,
  { bus, queued }: Ground,
  { baseConfig, datamodel, events, keptPlugins, readOnly, reindexing }: Readers,
  { signIn }: People,
  { files, mappings, pluginSettings, webhooks }: Workflow,
  opened: AsyncDisposableStack,
) {
  let address: () => AddressInfo | string | null = () => null
  const plugins = await createPluginService({
    db,
    bus,
    plugins: keptPlugins,
    events,
    log,
    settings: config,
    readOnly,
    webhooks,
    customData: createCustomDataUpkeep({ db, datamodel, wakeIndex: queued.raise }),
    systemActor: signIn.systemActor,
    mayUpdate: () => baseConfig.get().custom_data_type_updater.active,
    async setCustomTypes(tx, types) {
      const objecttypes = await datamodel.setCustomTypes(tx, types)
      const order = { actor: null, objecttypes, block: false, datamodel: datamodel.current().version }
      if (objecttypes.length > 0) await reindexing.begin(tx, order)
    },
    openFile: files.openOriginal,
    tokens: signIn.callTokens,
    actorByReference: signIn.actorByReference,
    tableOf: (objecttype) => datamodel.current().objecttypes.get(objecttype),
    settingOf: pluginSettings.settingOf,
    removeSettings: pluginSettings.remove,
    async actorOfSetting(plugin, section, parameter) {
      const userId = pluginSettings.userOf(plugin, section, parameter)
      return userId === null ? null : ((await signIn.actorsOf(db, [userId])).get(userId) ?? null)
    },
    config: (plugin) => ({ system: baseConfig.whole().system, plugin: pluginSettings.opened(plugin) }),
    apiUrl: () => ownAddress(address()) ?? config.externalUrl,
  })
  opened.defer(() => plugins.close())
  files.useRecipes(plugins.recipes)
  mappings.useRecipes(plugins.mappable)
  return {
    plugins,
    /** Programs of plugins call back to the address on which this process listens. */
    servedBy(server: { address(): AddressInfo | string | null }): void {
      address = () => server.address()
    },
  }
}

/** The address by which programs on this machine reach the service; null while it does not listen. */
function ownAddress(address: AddressInfo | string | null): string | null {
  if (address === null || typeof address === 'string') return null
  const { address: host, family, port } = address
  if (host === '0.0.0.0' || host === '::') return `http://127.0.0.1:${port}`
  return `http://${family === 'IPv6' ? `[${host}]` : host}:${port}`
}
