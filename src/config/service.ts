/**
 * The base configuration: what an administrator sets at run time, kept in the database. A *section* (`languages`) has
 * *members* of fixed kinds (catalogue.ts). Code reads the *snapshot*, `baseConfig.get().oauth2.expirations.access_token`,
 * which is complete (defaults filled in), immutable and the same in all processes a moment after a change.
 */
import type { Logger } from 'pino'
import type { EventLog } from '../events/service.ts'
import type { Actor } from '../platform/actor.ts'
import type { Bus } from '../platform/bus.ts'
import type { Db, Tx } from '../platform/db.ts'
import { AppError } from '../platform/errors.ts'
import { outsideLifetimes } from '../platform/lifetime.ts'
import type { Snapshots } from '../platform/snapshot.ts'
import { hasSystemRight, type NeededRight, requireRight } from '../platform/system-right.ts'
import { type BaseConfig, type SectionName, sections } from './catalogue.ts'
import {
  accepted,
  at,
  type Change,
  type ConfigDocument,
  compile,
  describe,
  type Path,
  patchAt,
  replaceSections,
  resetAt,
  show,
} from './document.ts'
import { inLanguage } from './fields.ts'
import { lockSections, readSections, type StoredSections, writeSections } from './store.ts'

export const manageConfig: NeededRight = { name: 'system.config' }

export { type BaseConfig, bcryptRule } from './catalogue.ts'

export type BaseConfigService = Awaited<ReturnType<typeof createBaseConfigService>>

export interface BaseConfigDependencies {
  db: Db
  bus: Bus
  events: EventLog
  snapshots: Pick<Snapshots, 'open'>
  log: Logger
  /** What a change must fit to besides its own rules; in its transaction. @throws {AppError} */
  check?: (tx: Tx, config: BaseConfig, changed: ReadonlySet<SectionName>) => Promise<void>
}

const topic = 'base_config'

/** A save as events name it; partial saves are logged as `PATCH`. */
interface Save {
  method: 'POST' | 'PATCH'
  path: Path
  changes: () => Map<SectionName, Change>
}

/** What is stored, as far as it is valid, and what it means. */
interface Compiled {
  readonly stored: StoredSections
  readonly config: BaseConfig
}

export async function createBaseConfigService({ db, bus, events, snapshots, log, check }: BaseConfigDependencies) {
  const listeners = new Set<(config: BaseConfig) => void>()
  const onInvalid = (path: string, error: unknown): void =>
    log.warn({ err: error, path }, 'the stored base configuration is invalid here: the default holds')
  const snapshot = await snapshots.open<StoredSections, Compiled>({
    name: 'the base configuration',
    topics: [topic],
    read: readSections,
    build(sections) {
      const stored = accepted(sections, onInvalid)
      return { stored, config: compile(stored) }
    },
    onChange({ config }) {
      for (const listener of listeners) listener(config)
    },
  })

  const mayRead = (actor: Actor | null) => (section: SectionName) => {
    const { visible } = sections[section]
    return visible === 'public' || (actor !== null && (visible === 'user' || hasSystemRight(actor, visible)))
  }

  function write(actor: Actor, save: Save): Promise<void> {
    return db.transaction(async (tx) => {
      const changes = save.changes()
      const before = accepted(await lockSections(tx), () => {})
      const changed = new Map([...changes].map(([name, change]) => [name, change(before.get(name) ?? {})]))
      if (changed.size === 0) return
      const after = new Map([...before, ...changed])
      await check?.(tx, compile(after), new Set(changed.keys()))
      await writeSections(tx, changed, actor.userId)
      const info = {
        ScopedNames: [...changed.keys()].map((name) => `system.${name}`),
        Method: save.method,
        Path: `/${save.path.join('/')}`,
      }
      await events.append(tx, [{ type: 'BASE_CONFIG_UPDATE', actor, basetype: 'base_config', info }])
      tx.afterCommit(() => snapshot.take(after))
      await bus.publish(tx, topic)
    })
  }

  /** A refused save by somebody who may save is logged: administrators look there for what went wrong. */
  async function save(actor: Actor, request: Save): Promise<ConfigDocument> {
    requireRight(actor, manageConfig)
    try {
      await write(actor, request)
    } catch (error) {
      if (error instanceof AppError && error.status === 400) {
        const info = { Error: error.message, Method: request.method, Path: `/${request.path.join('/')}` }
        const logged = [{ type: 'BASE_CONFIG_ERROR', actor, basetype: 'base_config', info }] as const
        await outsideLifetimes(() => events.append(db, logged))
      }
      throw error
    }
    return show(snapshot.get().stored, mayRead(actor))
  }

  return {
    /** The current configuration, immutable. Ask again for each use: it changes while the service runs. */
    get: (): BaseConfig => snapshot.get().config,

    /** Calls `listener` with each new configuration, until the returned function is called. */
    onChange(listener: (config: BaseConfig) => void): () => void {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },

    /** Codes of the data languages, best first. */
    databaseLanguages: (): readonly string[] =>
      snapshot.get().config.languages.database.map((language) => language.value),

    /** Name of the instance, in the first of the data languages that it has; empty when none is set. */
    instanceTitle(): string {
      const { name, languages } = snapshot.get().config
      const preferred = languages.database.map((language) => language.value)
      return inLanguage(name.title, preferred)
    },

    /** What the caller may see; `null` is a caller before sign-in. */
    document: (actor: Actor | null): ConfigDocument => show(snapshot.get().stored, mayRead(actor)),

    /** @throws {AppError} `ResourceNotFound` (404) when there is nothing at the path, or nothing for this caller. */
    read: (actor: Actor | null, path: Path): unknown => at(show(snapshot.get().stored, mayRead(actor)), path),

    /** All sections with their members, for a generic form. */
    list(actor: Actor) {
      requireRight(actor, manageConfig)
      return describe()
    },

    /** Replaces the sections that the body names; secrets that it does not name stay. Returns the whole document. */
    replace: (actor: Actor, body: unknown) =>
      save(actor, { method: 'POST', path: [], changes: () => replaceSections(body) }),

    /** Sets what stands at a path; of forms only the members given. Returns the value there. */
    patch: async (actor: Actor, path: Path, value: unknown): Promise<unknown> =>
      at(await save(actor, { method: 'PATCH', path, changes: () => patchAt(path, value) }), path),

    /** Puts what stands at a path back to its defaults. Returns the value there. */
    reset: async (actor: Actor, path: Path): Promise<unknown> =>
      at(await save(actor, { method: 'PATCH', path, changes: () => resetAt(path) }), path),
  }
}
