/** Reading and changing the base configuration over HTTP, with the rights to read and set its sections. */
import { isDeepStrictEqual } from 'node:util'
import type { EventLog } from '../events/service.ts'
import type { Actor } from '../platform/actor.ts'
import { AppError } from '../platform/errors.ts'
import { type NeededRight, requireRight } from '../platform/http/system-right.ts'
import { outsideDeadlines } from '../platform/limits/deadline.ts'
import type { Bus } from '../platform/postgres/bus.ts'
import type { Db, Tx } from '../platform/postgres/db.ts'
import type { Seal } from '../platform/secrets/seal.ts'
import { createSealedTexts } from '../platform/secrets/sealed-texts.ts'
import { type BaseConfig, isSectionName, type SectionName, sections } from './catalogue.ts'
import {
  accepted,
  at,
  type Change,
  type ConfigDocument,
  compile,
  describe,
  type Path,
  patchAt,
  placeOf,
  replaceSections,
  replaceWhatFits,
  resetAt,
} from './document.ts'
import { pluginChangeAt, pluginChangesAt, pluginChangesIn } from './plugin-paths.ts'
import type { PluginSectionChange, PluginSections } from './plugin-sections.ts'
import { opened, resealConfig, sealed } from './sealing.ts'
import { type BaseConfigService, baseConfigTopic } from './service.ts'
import { lockRows, type StoredSections, writeSections } from './store.ts'
import { type SettingFiles, takeFiles } from './taken-files.ts'

export const manageConfig: NeededRight = { name: 'system.config' }

export type BaseConfigAdministration = ReturnType<typeof createBaseConfigAdministration>

interface Dependencies {
  db: Db
  seal: Pick<Seal, 'seal' | 'open' | 'prefix'>
  bus: Bus
  events: EventLog
  baseConfig: BaseConfigService
  /** Sections of plugins. */
  plugins: PluginSections
  /** Gives access to files that settings refer to. */
  files?: (tx: Tx, actor: Actor) => SettingFiles
  /** Checks of a change beyond the rules of its sections; runs in its transaction. @throws {AppError} */
  check?: (tx: Tx, change: CheckedChange) => Promise<void>
}

export interface CheckedChange {
  readonly actor: Actor
  readonly before: BaseConfig
  readonly config: BaseConfig
  readonly changed: ReadonlySet<SectionName>
}

/** A save, with the data for its events; partial saves are logged as `PATCH`. */
interface Save {
  method: 'POST' | 'PATCH'
  path: Path
  changes: () => Map<SectionName, Change>
  plugins?: readonly PluginSectionChange[]
  /** Collects sections that do not fit to others; they stay unchanged. If it is absent, such sections are refused. */
  ignored?: Set<string>
}

/** In read-only mode only the end of it can be saved. @throws {AppError} `ReadOnlyMode` */
function assertWayBack(before: StoredSections, changed: StoredSections, plugins: Save['plugins'] = []): void {
  const [old, now] = [compile(before), compile(new Map([...before, ...changed]))]
  const others = [...changed.keys()].filter((name) => isSectionName(name) && name !== 'readonly')
  const stays = others.every((name) => isDeepStrictEqual(old[name as SectionName], now[name as SectionName]))
  if (!stays || plugins.length > 0 || now.readonly.enabled) throw new AppError('ReadOnlyMode')
}

export function createBaseConfigAdministration({
  db,
  seal,
  bus,
  events,
  baseConfig,
  files,
  check,
  plugins,
}: Dependencies) {
  const texts = createSealedTexts(seal)

  function write(actor: Actor, save: Save): Promise<void> {
    return db.transaction(async (tx) => {
      const changes = save.changes()
      const before = accepted(await opened(texts, await lockRows(tx)), () => {})
      const changed = new Map([...changes].map(([name, change]) => [name, change(before.get(name) ?? {})]))
      if (compile(before).readonly.enabled) assertWayBack(before, changed, save.plugins)
      await checkTogether(tx, actor, { before, changed, ignored: save.ignored })
      const ofPlugins = save.plugins?.length ? await plugins.write(tx, actor, save.plugins) : []
      if (changed.size === 0 && ofPlugins.length === 0) return
      const after = new Map([...before, ...changed])
      await writeSections(tx, await sealed(texts, changed), actor.userId)
      const info = {
        ScopedNames: [...[...changed.keys()].map((name) => `system.${name}`), ...ofPlugins],
        Method: save.method,
        Path: `/${save.path.join('/')}`,
      }
      await events.append(tx, [{ type: 'BASE_CONFIG_UPDATE', actor, basetype: 'base_config', info }])
      if (changed.size === 0) return
      tx.afterCommit(() => baseConfig.take(after))
      await bus.publish(tx, baseConfigTopic)
    })
  }

  /** Checks the changed sections together. Removes sections that do not fit from `changed`, if errors may be ignored. */
  async function checkTogether(
    tx: Tx,
    actor: Actor,
    {
      before,
      changed,
      ignored,
    }: {
      readonly before: StoredSections
      readonly changed: Map<SectionName, Record<string, unknown>>
      readonly ignored: Set<string> | undefined
    },
  ): Promise<void> {
    while (changed.size > 0) {
      try {
        if (files)
          await takeFiles(files(tx, actor), changed, (name) => (isSectionName(name) ? sections[name].field : undefined))
        const config = compile(new Map([...before, ...changed]))
        await check?.(tx, { actor, before: compile(before), config, changed: new Set(changed.keys()) })
        return
      } catch (error) {
        const section = placeOf(error)?.split('/')[2]
        if (!ignored || section === undefined || !isSectionName(section) || !changed.delete(section)) throw error
        ignored.add(`system/config/${section}`)
      }
    }
  }

  /** A refused save of a caller who may save is logged: administrators look there for the cause. */
  async function save(actor: Actor, request: Save): Promise<ConfigDocument> {
    requireRight(actor, manageConfig)
    try {
      await write(actor, request)
    } catch (error) {
      if (error instanceof AppError && error.status === 400) {
        const info = { Error: error.message, Method: request.method, Path: `/${request.path.join('/')}` }
        const logged = [{ type: 'BASE_CONFIG_ERROR', actor, basetype: 'base_config', info }] as const
        await outsideDeadlines(() => events.append(db, logged))
      }
      throw error
    }
    return document(actor)
  }

  /** Checks a path into the sections of plugins. @throws {AppError} `ResourceNotFound` */
  function known(path: Path): Path {
    at({ plugin: plugins.shown() }, path)
    return path
  }

  function document(actor: Actor): ConfigDocument {
    return { ...baseConfig.document(actor), plugin: plugins.shown() }
  }

  return {
    document,

    /** Seals secrets with the current key that are sealed with another one. Returns the number of secrets that no key can open. */
    reseal: (): Promise<number> => resealConfig(db, texts),

    /** @throws {AppError} `ResourceNotFound` (404) when there is nothing at the path, or nothing for this caller. */
    read: (actor: Actor, path: Path): unknown => at(document(actor), path),

    /** All sections with their members, for a generic form. */
    list(actor: Actor) {
      requireRight(actor, manageConfig)
      return { ...describe(), plugin: plugins.list() }
    },

    /** Replaces the sections in the body; secrets that are absent there stay. Returns the whole document. */
    replace: (actor: Actor, body: unknown) =>
      save(actor, {
        method: 'POST',
        path: [],
        changes: () => replaceSections(body),
        plugins: pluginChangesIn(body, plugins.shown()),
      }),

    /**
     * The same for a configuration of another instance: stores the valid parts and returns the paths of the others. The stored
     * values at these paths stay.
     */
    async takeOver(actor: Actor, body: unknown) {
      const ignored = new Set<string>()
      const changes = () => {
        ignored.clear()
        return replaceWhatFits(body, ignored)
      }
      const saved = await save(actor, { method: 'POST', path: [], changes, ignored })
      return { document: saved, ignored: [...ignored] }
    },

    /** Sets the value at a path; for forms only the given members. Returns the value there. */
    patch: async (actor: Actor, path: Path, value: unknown): Promise<unknown> =>
      at(
        await save(
          actor,
          path[0] === 'plugin'
            ? { method: 'PATCH', path, changes: () => new Map(), plugins: pluginChangesAt(known(path), value) }
            : { method: 'PATCH', path, changes: () => patchAt(path, value) },
        ),
        path,
      ),

    /** Resets the value at a path to its defaults. Returns the value there. */
    reset: async (actor: Actor, path: Path): Promise<unknown> =>
      at(
        await save(
          actor,
          path[0] === 'plugin'
            ? { method: 'PATCH', path, changes: () => new Map(), plugins: [pluginChangeAt(known(path), null)] }
            : { method: 'PATCH', path, changes: () => resetAt(path) },
        ),
        path,
      ),
  }
}
