/** Installing, updating, switching and removing plugins. */
import type { Readable } from 'node:stream'
import type { Logger } from 'pino'
import type { EventLog } from '../../events/service.ts'
import type { Actor } from '../../platform/actor.ts'
import { AppError, badRequest } from '../../platform/errors.ts'
import { type NeededRight, requireRight } from '../../platform/http/system-right.ts'
import type { Bus } from '../../platform/postgres/bus.ts'
import type { Db, Tx } from '../../platform/postgres/db.ts'
import { createPeriodic } from '../../platform/process/periodic.ts'
import type { Plugin } from '../model.ts'
import type { Arrived, Folders } from '../packages/folders.ts'
import { removeUnusedPackages, storePackage } from '../packages/store.ts'
import { type KeptPlugins, pluginTopic } from '../read.ts'
import { renderManaged } from '../render.ts'
import type { ManagedPlugin, ManagedPlugins, PluginInput } from '../schema.ts'
import * as store from '../store.ts'
import { checkedUrl, type FetchOptions, fetchArchive, fetchFailed } from './fetch.ts'
import { assertReadOnlyFields, sourceOf } from './input.ts'

export const managePlugins: NeededRight = { name: 'system.plugin' }

export interface ManageOptions {
  readonly db: Db
  readonly bus: Bus
  readonly events: EventLog
  readonly log: Logger
  readonly plugins: Pick<KeptPlugins, 'get' | 'renewed'>
  readonly folders: Folders
  /** The content of an uploaded archive. @throws {AppError} when the actor may not have it. */
  readonly openFile: (actor: Actor, id: number) => Promise<Readable>
  readonly outgoing: FetchOptions
  readonly externalUrl: string
  readonly mayInstall: boolean
  readonly readOnly: () => boolean
  /** The reason why programs of a plugin cannot run here; null: they can. */
  readonly problemOf: (plugin: Plugin) => Promise<string | null>
  readonly removeSettings: (tx: Tx, plugin: string) => Promise<void>
  /** Updates the types that plugins add to the datamodel, in the transaction that changes the plugins. */
  readonly takeCustomTypes: (tx: Tx) => Promise<void>
  /** Whether a path is a configured folder with plugins. */
  readonly onDisk: (path: string) => boolean
}

export type PluginManagement = ReturnType<typeof createPluginManagement>

/** Milliseconds between two checks for due addresses. */
const lookEvery = 10_000

export function createPluginManagement(options: ManageOptions) {
  const { db, bus, events, log, plugins, folders, openFile, outgoing, externalUrl, mayInstall, onDisk } = options

  function assertMayInstall(): void {
    if (mayInstall) return
    const message = 'svc.plugins.allowInstall does not allow to install plugins over the interface.'
    throw new AppError('ServerGeneric', { setting: 'svc.plugins.allowInstall' }, { message })
  }

  async function rendered(id: number): Promise<ManagedPlugin> {
    const [now, times] = [await plugins.renewed(), await store.readTimes(db)]
    const plugin = [...now.byName.values()].find((one) => one.id === id)
    const own = times.get(id)
    if (!plugin || !own) throw new AppError('PluginNotFound', { id })
    return renderManaged(plugin, own, externalUrl)
  }

  /** A change belongs to the configuration of the instance, and is logged as such. */
  async function note(
    tx: Tx,
    actor: Actor | null,
    { id, name, method }: { id: number; name: string; method: 'POST' | 'PATCH' },
  ) {
    const info = { ScopedNames: [`plugin.${name}`], Method: method, Path: `/plugin/${name}` }
    await events.append(tx, [{ type: 'BASE_CONFIG_UPDATE', actor, basetype: 'plugin', objectId: id, info }])
    await options.takeCustomTypes(tx)
    await bus.publish(tx, pluginTopic)
  }

  /** Stores an archive; answers the members for the row of its plugin. */
  async function stored(tx: Tx, { sha256, archive, size, raw, buildInfo }: Arrived) {
    await storePackage(tx, sha256, archive, size)
    return { package: sha256, manifest: raw, buildInfo }
  }

  async function receiveFrom(
    actor: Actor,
    source: { readonly kind: 'zip'; readonly fileId: number } | { readonly kind: 'url'; readonly url: string },
  ): Promise<{ arrived: Arrived; etag: string | null }> {
    if (source.kind === 'zip')
      return { arrived: await folders.receive(await openFile(actor, source.fileId)), etag: null }
    const arrived = await fetchAndReceive(source.url, null)
    if (!arrived) throw new Error('without a tag there is always an archive')
    return arrived
  }

  async function fetchAndReceive(
    url: string,
    etag: string | null,
  ): Promise<{ arrived: Arrived; etag: string | null } | null> {
    const found = await fetchArchive(outgoing, url, etag)
    if (!found) return null
    try {
      return { arrived: await folders.receive(told(url, found.content)), etag: found.etag }
    } finally {
      found.close()
    }
  }

  /** Replaces the archive of a plugin. */
  async function replace(
    actor: Actor | null,
    id: number,
    arrived: Arrived,
    change: store.PluginChange & { readonly zipFile: number | null; readonly etag: string | null },
  ): Promise<void> {
    const { zipFile, etag, ...rest } = change
    try {
      await db.transaction(async (tx) => {
        const before = await store.lockPlugin(tx, id)
        if (!before) throw new AppError('PluginNotFound', { id })
        if (before.name !== arrived.manifest.name) {
          const message = `The archive is that of ${arrived.manifest.name}, not of ${before.name}.`
          throw badRequest(message, { name: 'zip_file', expected: before.name, got: arrived.manifest.name })
        }
        const content = { ...(await stored(tx, arrived)), zipFile, etag }
        await store.updatePlugin(tx, id, { ...rest, content })
        await removeUnusedPackages(tx)
        await note(tx, actor, { id, name: before.name, method: 'PATCH' })
      })
      await arrived.keep()
    } finally {
      await arrived.discard()
    }
  }

  async function lookForUpdates(): Promise<void> {
    const urls = [...plugins.get().byName.values()].some(
      ({ type, updatePolicy }) => type === 'url' && updatePolicy !== 'never',
    )
    if (!urls) return
    for (const { id, url, etag } of await store.takeDue(db)) {
      try {
        const found = await fetchAndReceive(url, etag)
        const plugin = [...plugins.get().byName.values()].find((one) => one.id === id)
        if (found && plugin && plugin.package?.equals(found.arrived.sha256) === true) await found.arrived.discard()
        else if (found) {
          await replace(null, id, found.arrived, { zipFile: null, etag: found.etag })
          await plugins.renewed()
          log.info({ plugin: plugin?.name, version: found.arrived.manifest.version }, 'a plugin was updated')
        }
        await store.noteFailure(db, id, null)
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error)
        log.warn({ plugin: id, reason }, 'a plugin could not be updated')
        await store.noteFailure(db, id, reason.slice(0, 1000).replaceAll('\0', '').toWellFormed())
      }
    }
  }

  const updates = createPeriodic({
    every: lookEvery,
    paused: () => options.readOnly() || !mayInstall,
    work: lookForUpdates,
    onFailure: (error) => log.warn({ err: error }, 'plugins could not be looked at for updates'),
  })

  /** Reads the present state: another process may have installed or switched it a moment ago. */
  async function find(id: number): Promise<Plugin> {
    const plugin = [...(await plugins.renewed()).byName.values()].find((one) => one.id === id)
    if (!plugin) throw new AppError('PluginNotFound', { id })
    return plugin
  }

  return {
    /** All plugins, by name. */
    async list(actor: Actor | null): Promise<ManagedPlugins> {
      requireRight(actor, managePlugins)
      const times = await store.readTimes(db)
      return {
        plugins: [...plugins.get().byName.values()].flatMap((plugin) => {
          const own = times.get(plugin.id)
          return own ? renderManaged(plugin, own, externalUrl) : []
        }),
      }
    },

    async read(actor: Actor | null, id: number): Promise<ManagedPlugin> {
      requireRight(actor, managePlugins)
      return rendered(id)
    },

    /** Installs a plugin from an uploaded archive or from an address; it is off. @throws {AppError} `PluginDuplicateName` */
    async create(actor: Actor, input: PluginInput): Promise<ManagedPlugin> {
      requireRight(actor, managePlugins)
      assertMayInstall()
      if (input.id) throw badRequest('id must be 0 or left out: the service gives it', { name: 'id' })
      if (input.enabled) throw badRequest('A new plugin is off: switch it on when it is there.', { name: 'enabled' })
      const source = sourceOf(input)
      const updatePolicy = input.update_policy ?? 'never'
      if (source.kind === 'zip' && updatePolicy !== 'never') {
        throw badRequest('Only plugins from an address are updated from there.', { name: 'update_policy' })
      }
      const { arrived, etag } = await receiveFrom(actor, source)
      const { name } = arrived.manifest
      try {
        const id = await db.transaction(async (tx) => {
          const content = await stored(tx, arrived)
          const made = await store.insertPlugin(tx, {
            ...content,
            name,
            type: source.kind,
            path: null,
            url: source.kind === 'url' ? source.url : null,
            zipFile: source.kind === 'zip' ? source.fileId : null,
            updatePolicy,
            etag,
          })
          if (made === null) throw new AppError('PluginDuplicateName', { name })
          await note(tx, actor, { id: made, name, method: 'POST' })
          return made
        })
        await arrived.keep()
        const { unsupported } = arrived.manifest
        if (unsupported.length > 0)
          log.warn({ plugin: name, unsupported }, 'parts of the manifest of a plugin have no effect')
        return await rendered(id)
      } finally {
        await arrived.discard()
      }
    },

    /** Switches a plugin on or off, or replaces its archive. */
    async update(actor: Actor, id: number, input: PluginInput): Promise<ManagedPlugin> {
      requireRight(actor, managePlugins)
      const plugin = await find(id)
      assertReadOnlyFields(plugin, input)
      const url = input.url != null && input.url !== plugin.url ? checkedUrl(input.url) : null
      const fileId = input.zip_file != null && input.zip_file._id !== plugin.zipFile ? input.zip_file._id : null
      const settings = {
        ...(input.update_policy == null ? {} : { updatePolicy: input.update_policy }),
        ...(url === null ? {} : { url }),
      }
      if (url !== null || fileId !== null) {
        assertMayInstall()
        const source = fileId !== null ? ({ kind: 'zip', fileId } as const) : ({ kind: 'url', url: url ?? '' } as const)
        const { arrived, etag } = await receiveFrom(actor, source)
        await replace(actor, id, arrived, { ...settings, zipFile: fileId, etag })
      }
      const enabled = input.enabled ?? plugin.enabled
      if (enabled && !plugin.enabled) await assertRuns(await find(id))
      if (enabled !== plugin.enabled || Object.keys(settings).length > 0) {
        await db.transaction(async (tx) => {
          if (!(await store.lockPlugin(tx, id))) throw new AppError('PluginNotFound', { id })
          await store.updatePlugin(tx, id, { ...settings, enabled })
          await note(tx, actor, { id, name: plugin.name, method: 'PATCH' })
        })
      }
      return rendered(id)
    },

    /** Removes a plugin with its settings. A plugin in a folder of the configuration can only be switched off. */
    async remove(actor: Actor, id: number): Promise<void> {
      requireRight(actor, managePlugins)
      const plugin = await find(id)
      if (plugin.type === 'disk' && plugin.path !== null && onDisk(plugin.path)) {
        throw badRequest('The plugin is in a folder of the configuration: switch it off, or remove it there.', {
          id,
        })
      }
      await db.transaction(async (tx) => {
        if (!(await store.deletePlugin(tx, id))) throw new AppError('PluginNotFound', { id })
        await removeUnusedPackages(tx)
        await options.removeSettings(tx, plugin.name)
        await note(tx, actor, { id, name: plugin.name, method: 'PATCH' })
      })
      await plugins.renewed()
    },

    /** Checks the due addresses now. */
    lookForUpdates: updates.run,
    close: updates.close,
  }

  async function assertRuns(plugin: Plugin): Promise<void> {
    const problem = await options.problemOf(plugin)
    if (problem !== null)
      throw badRequest(`${plugin.name} cannot run here: ${problem}`, { name: 'enabled', reason: problem })
  }
}

async function* told(url: string, content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* content
  } catch (error) {
    throw fetchFailed(url, error)
  }
}
