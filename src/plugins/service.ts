/** Plugins: their callbacks, extensions and files for browsers. */
import { stat } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import type { Logger } from 'pino'
import type { CustomTypes } from '../datamodel/service.ts'
import type { EventLog } from '../events/service.ts'
import { CallbackFailed, type PendingChange, type PendingObject, type SaveCallback } from '../objects/service.ts'
import type { Actor } from '../platform/actor.ts'
import type { Config } from '../platform/config/config.ts'
import { AppError } from '../platform/errors.ts'
import { outsideDeadlines } from '../platform/limits/deadline.ts'
import { blockedHosts } from '../platform/outgoing/addresses.ts'
import type { Bus } from '../platform/postgres/bus.ts'
import type { Db, Tx } from '../platform/postgres/db.ts'
import { createBrowserFiles } from './browser/files.ts'
import type { TableOf } from './callbacks/payload.ts'
import { createCallbacks, keptKey } from './callbacks/pre-save.ts'
import { createTransitionActions } from './callbacks/transition-actions.ts'
import { createWebhookAsking, type WebhookOptions } from './callbacks/webhook.ts'
import { readCustomTypes } from './custom-types.ts'
import { createExportPrograms } from './exports/programs.ts'
import { callExtension, type ExtensionCall } from './extensions/call.ts'
import { findOnDisk, registerPlugins } from './manage/disk.ts'
import { createPluginManagement } from './manage/service.ts'
import type { Manifest, Program } from './manifest/model.ts'
import type { Plugin, PluginSnapshot } from './model.ts'
import { createFolders, type PluginFolder } from './packages/folders.ts'
import type { KeptPlugins } from './read.ts'
import { createMappableRecipes } from './recipes/asked.ts'
import { createRecipePrograms } from './recipes/recipes.ts'
import { renderList } from './render.ts'
import { type CallerOptions, createCaller } from './run/call.ts'
import { createKeptProcesses } from './run/keep.ts'
import { createServices } from './run/programs.ts'
import type { PluginList } from './schema.ts'
import { type CustomDataStore, createUpdaters } from './updater/updater.ts'

export type { ExportCall, ExportHook, ExportPrograms } from './exports/programs.ts'
export { managePlugins } from './manage/service.ts'
export {
  checkParams,
  missingParam,
  type ParamsBy,
  type RecipeConfigs,
  type RecipeParams,
} from './manifest/recipe-params.ts'
export { type KeptPlugins, openPlugins } from './read.ts'
export type { MappableRecipe, MappableRecipes, RecipeField } from './recipes/asked.ts'
export { NoPlace } from './run/call.ts'
export { linesOf } from './run/log-lines.ts'
export { openPluginSettings } from './settings/service.ts'

export interface PluginOptions extends Pick<CallerOptions, 'apiUrl' | 'config'> {
  readonly db: Db
  readonly bus: Bus
  readonly plugins: KeptPlugins
  readonly events: EventLog
  readonly log: Logger
  /** Nothing may be stored. */
  readonly readOnly: () => boolean
  readonly settings: Pick<
    Config,
    | 'dataDir'
    | 'externalUrl'
    | 'pluginPaths'
    | 'allowPluginInstall'
    | 'allowPrivatePlugins'
    | 'blockedFileHosts'
    | 'pluginServices'
    | 'pluginSeconds'
    | 'pluginWait'
    | 'pluginMemory'
    | 'pluginOutput'
    | 'pluginPlaces'
    | 'slowGrace'
    | 'leastRate'
  >
  readonly webhooks: WebhookOptions['webhooks']
  readonly customData: CustomDataStore
  readonly systemActor: () => Promise<Actor>
  /** Whether updaters may run on schedule. */
  readonly mayUpdate: () => boolean
  /** Stores the types of values that plugins add, and indexes the objects concerned again. */
  readonly setCustomTypes: (tx: Tx, types: CustomTypes) => Promise<void>
  readonly openFile: (actor: Actor, id: number) => Promise<Readable>
  readonly tokens: CallerOptions['tokens'] & { revokeLeft(): Promise<void> }
  readonly actorByReference: (reference: string) => Promise<Actor | null>
  /** The present object type with that name. */
  readonly tableOf: TableOf
  /** The value of a setting of a plugin. */
  readonly settingOf: (plugin: Plugin, section: string, parameter: string) => unknown
  readonly removeSettings: (tx: Tx, plugin: string) => Promise<void>
  /** The user named by a setting of a plugin; null: there is none, or the user is not active. */
  readonly actorOfSetting: (plugin: Plugin, section: string, parameter: string) => Promise<Actor | null>
}

export type PluginService = Awaited<ReturnType<typeof createPluginService>>

export async function createPluginService(options: PluginOptions) {
  const { db, bus, plugins, events, log, settings } = options
  const folders = createFolders({ db, dataDir: settings.dataDir })
  const services = createServices(settings.pluginServices)
  const kept = createKeptProcesses()
  const found = await findOnDisk(settings.pluginPaths, log)
  const onDisk = new Set(found.map(({ path }) => path))
  await registerPlugins({ db, bus, folders, log }, found)
  const takeCustomTypes = async (tx: Tx): Promise<void> => options.setCustomTypes(tx, await readCustomTypes(tx))
  if (!options.readOnly()) await db.transaction(takeCustomTypes)
  await options.tokens.revokeLeft()
  await plugins.renewed()
  const forget = plugins.onChange((now) => {
    kept.retain(keptKeys(now))
    unpackAll(now)
  })
  await folders.tidy([...plugins.get().byName.values()].flatMap((plugin) => plugin.package ?? []))

  async function folderOf(plugin: Plugin): Promise<PluginFolder> {
    if (plugin.package) return folders.ofPackage(plugin.package, plugin.name)
    const there = plugin.path === null ? null : await stat(plugin.path).catch(() => null)
    if (!there?.isDirectory()) throw new CallbackFailed('its folder is not on this machine')
    return folders.knownDisk(plugin.name, plugin.path ?? '')
  }

  /** In the background: calls unpack the folders that they need by themselves. */
  function unpackAll({ enabled }: PluginSnapshot): void {
    for (const plugin of enabled) {
      outsideDeadlines(() => folderOf(plugin)).catch((error: unknown) => {
        log.warn({ plugin: plugin.name, err: error }, 'a plugin could not be unpacked')
      })
    }
  }
  unpackAll(plugins.get())

  async function pluginUser(plugin: Plugin, { pluginUser: user, path }: Program): Promise<Actor | null> {
    if (user?.kind === 'config') return options.actorOfSetting(plugin, user.section, user.parameter)
    if (user?.kind !== 'reference') return null
    const actor = await options.actorByReference(user.reference)
    if (!actor && !user.optional)
      throw new CallbackFailed(`${path}.plugin_user: there is no user ${user.reference} who may act`)
    return actor
  }

  const caller = createCaller({
    folders,
    folderOf,
    services,
    tokens: options.tokens,
    pluginUser,
    config: options.config,
    apiUrl: options.apiUrl,
    externalUrl: settings.externalUrl,
    limits: {
      seconds: settings.pluginSeconds,
      wait: settings.pluginWait,
      memory: settings.pluginMemory * 1_000_000,
      places: settings.pluginPlaces,
    },
    log,
  })
  const callbacks = createCallbacks({
    caller,
    services,
    kept,
    mostOutput: settings.pluginOutput * 1_000_000,
    tableOf: options.tableOf,
  })
  const ofAction = createTransitionActions({
    plugins: plugins.get,
    ask: callbacks.ask,
    askWebhook: createWebhookAsking({
      webhooks: options.webhooks,
      tokens: options.tokens,
      apiUrl: options.apiUrl,
      externalUrl: settings.externalUrl,
      places: settings.pluginPlaces,
      mostOutput: settings.pluginOutput * 1_000_000,
      tableOf: options.tableOf,
    }),
  })
  const updaters = createUpdaters({
    plugins: plugins.get,
    caller,
    say: callbacks.say,
    data: options.customData,
    events,
    db,
    systemActor: options.systemActor,
    paused: () => options.readOnly() || !options.mayUpdate(),
    setting: (plugin, section, parameter) => options.settingOf(plugin, section, parameter),
    log,
  })
  const browser = createBrowserFiles({ plugins: plugins.get, folderOf })
  const manage = createPluginManagement({
    db,
    bus,
    events,
    log,
    plugins,
    folders,
    openFile: options.openFile,
    outgoing: {
      rules: { allowPrivate: settings.allowPrivatePlugins, blocked: blockedHosts(settings.blockedFileHosts) },
      pace: { grace: settings.slowGrace, leastRate: settings.leastRate },
    },
    externalUrl: settings.externalUrl,
    mayInstall: settings.allowPluginInstall,
    readOnly: options.readOnly,
    async problemOf({ manifest }) {
      const programs = programsOf(manifest)
      const problems = await Promise.all(programs.map(services.problemOf))
      return problems.find((problem) => problem !== null) ?? null
    },
    removeSettings: options.removeSettings,
    takeCustomTypes,
    onDisk: (path) => onDisk.has(path),
  })
  /** One list for each state, since each save asks for it. */
  let steps: { readonly of: PluginSnapshot; readonly callbacks: readonly SaveCallback[] } | null = null

  /** @throws {AppError} `PluginNotFound`, `PluginDisabled` */
  function uploadProgram(name: string, entry: string): { readonly plugin: Plugin; readonly program: Program } {
    const plugin = browser.enabled(name)
    const program = plugin.manifest.uploads.get(entry)
    if (!program) throw new AppError('PluginNotFound', { plugin: name, collection_upload: entry })
    return { plugin, program }
  }

  return {
    manage,

    /** Runs recipes for files. */
    recipes: createRecipePrograms({ plugins: plugins.get, caller, services, systemActor: options.systemActor }),
    /** Recipes that mappings take values from. */
    mappable: createMappableRecipes({
      plugins: plugins.get,
      caller,
      say: callbacks.say,
      systemActor: options.systemActor,
      log,
    }),
    browser,
    uploadProgram,

    /** Sends objects to be saved to the program for uploads into a collection. @throws {AppError} */
    askAboutUpload: ({ name, entry }: { readonly name: string; readonly entry: string }, ...asked: AskedOfUpload) =>
      callbacks.askWhole(uploadProgram(name, entry), ...asked),

    /** The enabled plugins, for front ends. */
    list: (): PluginList => renderList(plugins.get().enabled, settings.externalUrl),

    /** The steps of all enabled plugins in their order. */
    saveCallbacks(): readonly SaveCallback[] {
      const now = plugins.get()
      if (steps?.of !== now) steps = { of: now, callbacks: now.enabled.flatMap(callbacks.stepsOf) }
      return steps.callbacks
    },

    /** Updates values of plugins' types now, as if at that time. */
    updateCustomData: updaters.run,

    /** The callback that an action of a transition runs before the write. */
    ofAction,

    /** Programs of exports and of their transports. */
    exports: createExportPrograms({ plugins: plugins.get, caller, services, say: callbacks.say }),

    /** Checks first whether the plugin is on, then the caller. @throws {AppError} */
    async extension(
      actor: Actor | null,
      name: string,
      path: string,
      call: Pick<ExtensionCall, 'request' | 'body' | 'signal'>,
    ) {
      const plugin = browser.enabled(name)
      if (!actor) throw new AppError('UserRequired')
      const program = plugin.manifest.extensions.get(path)
      if (!program) throw new AppError('PluginNotFound', { plugin: name, extension: path })
      return callExtension({ caller, services }, { plugin, program, actor, ...call })
    },

    async close(): Promise<void> {
      forget()
      await Promise.all([caller.close(), updaters.close()])
      await manage.close()
      await kept.close()
      await folders.close()
    },
  }
}

type AskedOfUpload = [change: PendingChange, objects: readonly PendingObject[], more: Readonly<Record<string, unknown>>]

/** All programs of a plugin that the service runs. */
function programsOf(manifest: Manifest): Program[] {
  const { preSave, transitions, uploads, extensions, exports, exportTransports, customTypes } = manifest
  const updaters = [...customTypes.values()].flatMap(({ update }) => update?.program ?? [])
  const named = [preSave, transitions, uploads, extensions, exports, exportTransports]
  return [...named.flatMap((programs) => [...programs.values()]), ...updaters]
}

function keptKeys({ enabled }: PluginSnapshot): ReadonlySet<string> {
  return new Set(enabled.flatMap((plugin) => programsOf(plugin.manifest).map((program) => keptKey(plugin, program))))
}
