/**
 * The base configuration: the settings that an administrator changes at run time, stored in the database. A *section* (`languages`)
 * has *members* of fixed kinds (catalogue.ts). Code reads the *snapshot*, `baseConfig.get().oauth2.expirations.access_token`, which
 * is complete (defaults filled in), immutable and the same in all processes a moment after a change.
 */
import type { Logger } from 'pino'
import type { Actor } from '../platform/actor.ts'
import { hasSystemRight } from '../platform/http/system-right.ts'
import type { Snapshots } from '../platform/postgres/snapshot.ts'
import type { Seal } from '../platform/secrets/seal.ts'
import { createSealedTexts } from '../platform/secrets/sealed-texts.ts'
import { type BaseConfig, type SectionName, sections } from './catalogue.ts'
import { accepted, at, type ConfigDocument, compile, deepFreeze, type Path, show } from './document.ts'
import { inLanguage } from './fields/values.ts'
import { readSections } from './sealing.ts'
import type { StoredSections } from './store.ts'

/** Messages of this topic mean that the base configuration changed and must be read again. */
export const baseConfigTopic = 'base_config'

/** The valid part of the stored configuration, and the compiled values. */
interface Compiled {
  readonly stored: StoredSections
  readonly config: BaseConfig
  /** The same list as long as the configuration is the same, because other code caches data by it. */
  readonly languages: readonly string[]
  /** The document for callers who may see everything, still without secrets. */
  readonly whole: ConfigDocument
}

export { type BaseConfig, fileClasses } from './catalogue.ts'
export { inLanguage } from './fields/values.ts'
export { type PluginSectionChange, type PluginSections, sectionField, usersIn } from './plugin-sections.ts'
export type { RecipeName, RenditionClass } from './renditions.ts'
export type { SynonymRule } from './synonyms.ts'
export { namesProfile, readCustomVersion, type VersionPreset } from './version-presets.ts'

export type BaseConfigService = Awaited<ReturnType<typeof openBaseConfig>>

export interface BaseConfigDependencies {
  readonly snapshots: Pick<Snapshots, 'open'>
  readonly seal: Pick<Seal, 'seal' | 'open' | 'prefix'>
  readonly log: Logger
}

/** The base configuration in memory, renewed when a process on the same database has changed it. */
export async function openBaseConfig(deps: BaseConfigDependencies) {
  const texts = createSealedTexts(deps.seal)
  const listeners = new Set<(config: BaseConfig) => void>()
  const onInvalid = (path: string, error: unknown): void =>
    deps.log.warn({ err: error, path }, 'the stored base configuration is invalid here: the default holds')
  const snapshot = await deps.snapshots.open<StoredSections, Compiled>({
    name: 'the base configuration',
    topics: [baseConfigTopic],
    read: (from) => readSections(from, texts),
    build(sections) {
      const stored = accepted(sections, onInvalid)
      const config = compile(stored)
      const languages = config.languages.database.map((language) => language.value)
      return { stored, config, languages, whole: deepFreeze(show(stored, () => true)) }
    },
    onChange({ config }) {
      for (const listener of listeners) listener(config)
    },
  })
  const mayRead = (actor: Actor | null) => (section: SectionName) => {
    const { visible } = sections[section]
    return visible === 'public' || (actor !== null && (visible === 'user' || hasSystemRight(actor, visible)))
  }
  const document = (actor: Actor | null): ConfigDocument => show(snapshot.get().stored, mayRead(actor))
  const databaseLanguages = (): readonly string[] => snapshot.get().languages

  return {
    /** The current configuration, immutable. Ask again for each use: it changes while the service runs. */
    get: (): BaseConfig => snapshot.get().config,
    /** The document as the caller may see it; `null` is a caller before sign-in. */
    document,

    /** The whole document, for callers who may see everything; still without secrets. Immutable. */
    whole: (): ConfigDocument => snapshot.get().whole,

    /** @throws {AppError} `ResourceNotFound` (404) when there is nothing at the path, or nothing for this caller. */
    read: (actor: Actor | null, path: Path): unknown => at(document(actor), path),

    /** Makes a configuration current that this process has just committed. */
    take: snapshot.take,

    /** Calls `listener` with each new configuration, until the returned function is called. */
    onChange(listener: (config: BaseConfig) => void): () => void {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },

    /** Codes of the data languages, best first. */
    databaseLanguages,

    /** Name of the instance, in the first of the data languages that it has; empty when none is set. */
    instanceTitle: (): string => inLanguage(snapshot.get().config.name.title, databaseLanguages()),
  }
}
