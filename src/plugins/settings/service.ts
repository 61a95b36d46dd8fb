/** Settings of plugins: sections of the base configuration that their manifests describe. */
import { type PluginSectionChange, type PluginSections, sectionField, usersIn } from '../../config/service.ts'
import type { Actor } from '../../platform/actor.ts'
import { AppError, badRequest } from '../../platform/errors.ts'
import type { Bus } from '../../platform/postgres/bus.ts'
import type { Db, Tx } from '../../platform/postgres/db.ts'
import type { Snapshots } from '../../platform/postgres/snapshot.ts'
import type { Seal } from '../../platform/secrets/seal.ts'
import { createSealedTexts, LockedSecret, type SealedTexts } from '../../platform/secrets/sealed-texts.ts'
import type { ConfigSection } from '../manifest/model.ts'
import { isObject } from '../manifest/reader.ts'
import type { Plugin, PluginSnapshot } from '../model.ts'
import { lockSections, readSections, removeSections, type SectionRow, writeSections } from './store.ts'

const topic = 'plugin_config'
type Section = Record<string, unknown>
/** By plugin and section. */
type Stored = ReadonlyMap<string, Section>

export interface PluginSettingsOptions {
  readonly db: Db
  readonly bus: Bus
  readonly snapshots: Pick<Snapshots, 'open'>
  readonly seal: Pick<Seal, 'seal' | 'open' | 'prefix'>
  readonly plugins: () => PluginSnapshot
  /** Whether the actor may let a program act for that user: this setting gives the program the user's rights. */
  readonly mayActAs: (tx: Tx, actor: Actor, userId: number) => Promise<boolean>
}

export type PluginSettings = Awaited<ReturnType<typeof openPluginSettings>>

const keyOf = (plugin: string, section: string): string => `${plugin}\n${section}`
const aboutOf = ({ plugin, section }: { plugin: string; section: string }): string =>
  `plugin configuration ${plugin}/${section}`

export async function openPluginSettings({ db, bus, snapshots, seal, plugins, mayActAs }: PluginSettingsOptions) {
  const texts = createSealedTexts(seal)
  const snapshot = await snapshots.open<SectionRow[], Stored>({
    name: 'the settings of plugins',
    topics: [topic],
    read: async (from) => Promise.all((await readSections(from)).map((row) => openRow(texts, row))),
    build: (rows) => new Map(rows.map(({ plugin, section, value }) => [keyOf(plugin, section), value])),
  })

  const stored = ({ name }: Plugin, { name: section }: ConfigSection): Section =>
    snapshot.get().get(keyOf(name, section)) ?? {}

  function sectionOf({ plugin: name, section: sectionName, members }: PluginSectionChange): [Plugin, ConfigSection] {
    const path = ['plugin', name, 'config', sectionName, ...members].join('/')
    const plugin = plugins().enabled.find((one) => one.name === name)
    const section = plugin?.manifest.baseConfig.find((one) => one.name === sectionName)
    if (!plugin || !section) throw badRequest(`${path} does not exist`, { path })
    return [plugin, section]
  }

  /** The section in stored form, with sealed secrets. */
  async function changed(tx: Tx, actor: Actor, before: Section, change: PluginSectionChange): Promise<SectionRow> {
    const [plugin, section] = sectionOf(change)
    const path = ['plugin', plugin.name, 'config', section.name].join('/')
    const field = sectionField(section.parameters)
    // A section that is reset to its defaults keeps no secret.
    const kept = change.value === null && change.members.length === 0 ? {} : before
    const value = field.check(withMember(kept, change, path), path, kept) as Section
    for (const [name, userId] of usersIn(section.parameters, value)) {
      const known = usersIn(section.parameters, before).some(([member, id]) => member === name && id === userId)
      if (known || (await mayActAs(tx, actor, userId))) continue
      throw new AppError(
        'ColumnNeedsSystemRoot',
        { path: `${path}/${name}`, user: userId },
        {
          message: `${path}/${name}: only root may let programs act for a user who may do more than you.`,
        },
      )
    }
    return { plugin: plugin.name, section: section.name, value }
  }

  const sections: PluginSections = {
    list: () =>
      byPlugin((plugin) => ({
        defs: plugin.manifest.baseConfig.map(({ name, group, parameters }) => ({
          name,
          group,
          parameters: Object.fromEntries(
            Object.entries(parameters).map(([key, definition], position) => [
              key,
              { name: key, position, ...definition },
            ]),
          ),
          require_system_right: '',
          unauthenticated_visible: false,
          unavailable: false,
        })),
      })),

    shown: () =>
      byPlugin((plugin) => ({
        config: Object.fromEntries(
          plugin.manifest.baseConfig.map((section) => [
            section.name,
            sectionField(section.parameters).show(stored(plugin, section)),
          ]),
        ),
      })),

    async write(tx, actor, changes) {
      const rows = new Map((await lockSections(tx)).map((row) => [keyOf(row.plugin, row.section), row]))
      const written: SectionRow[] = []
      for (const change of changes) {
        const row = rows.get(keyOf(change.plugin, change.section))
        const before = row ? (await openRow(texts, row)).value : {}
        const after = await sealRow(texts, await changed(tx, actor, before, change), sectionOf(change)[1])
        rows.set(keyOf(after.plugin, after.section), after)
        written.push(after)
      }
      await writeSections(tx, written)
      await bus.publish(tx, topic)
      const left = [...rows.values()].filter(({ value }) => Object.keys(value).length > 0)
      const now = await Promise.all(left.map((row) => openRow(texts, row)))
      tx.afterCommit(() => snapshot.take(now))
      return written.map(({ plugin, section }) => `plugin.${plugin}.${section}`)
    },
  }

  function byPlugin<T>(of: (plugin: Plugin) => T): Record<string, T> {
    const having = plugins().enabled.filter(({ manifest }) => manifest.baseConfig.length > 0)
    return Object.fromEntries(having.map((plugin) => [plugin.name, of(plugin)]))
  }

  return {
    sections,

    /** For programs of the plugin: with secrets in plain text. */
    opened(plugin: Plugin): { config: Record<string, unknown> } {
      const config = plugin.manifest.baseConfig.map((section) => {
        const value = stored(plugin, section)
        const shown = sectionField(section.parameters).show(value) as Section
        return [section.name, unlocked(shown, value)]
      })
      return { config: Object.fromEntries(config) }
    },

    /** The value of a setting; its default where nothing is set. */
    settingOf(plugin: Plugin, sectionName: string, parameter: string): unknown {
      const section = plugin.manifest.baseConfig.find(({ name }) => name === sectionName)
      return section && (sectionField(section.parameters).show(stored(plugin, section)) as Section)[parameter]
    },

    /** The user named by a setting; null: none. */
    userOf(plugin: Plugin, sectionName: string, parameter: string): number | null {
      const section = plugin.manifest.baseConfig.find(({ name }) => name === sectionName)
      const found = section && usersIn(section.parameters, stored(plugin, section)).find(([name]) => name === parameter)
      return found?.[1] ?? null
    },

    /** Removes the settings of a plugin that is deleted. */
    async remove(tx: Tx, plugin: string): Promise<void> {
      const left = (await lockSections(tx)).filter((row) => row.plugin !== plugin)
      await removeSections(tx, plugin)
      await bus.publish(tx, topic)
      const now = await Promise.all(left.map((row) => openRow(texts, row)))
      tx.afterCommit(() => snapshot.take(now))
    },

    /** Seals all unsealed secrets with the present key. Answers how many secrets none of the keys here can open. */
    reseal: (): Promise<number> =>
      db.transaction(async (tx) => {
        let locked = 0
        const due: SectionRow[] = []
        for (const row of await lockSections(tx)) {
          let old = false
          const value = await mapSealed(row.value, aboutOf(row), async (sealed, about) => {
            const text = await texts.open(sealed, about)
            if (text instanceof LockedSecret) locked++
            if (typeof text !== 'string' || (await texts.isPresent(sealed))) return sealed
            old = true
            return texts.seal(text, about, '***')
          })
          if (old) due.push({ ...row, value: value as Section })
        }
        if (due.length > 0) await writeSections(tx, due)
        return locked
      }),
  }
}

/** The new section: only the named members are changed. */
function withMember(before: Section, { members, value, merge }: PluginSectionChange, path: string): unknown {
  const [member, ...rest] = members
  if (member === undefined) return merge && isObject(value) ? { ...before, ...value } : (value ?? {})
  if (rest.length > 0)
    throw badRequest(`${[path, ...members].join('/')} does not exist`, { path: [path, ...members].join('/') })
  return { ...before, [member]: value }
}

/** Secrets in plain text; other values as they are shown. */
function unlocked(shown: unknown, stored: unknown): unknown {
  if (shown === '***') return stored instanceof LockedSecret ? null : stored
  if (Array.isArray(shown))
    return shown.map((item, index) => unlocked(item, Array.isArray(stored) ? stored[index] : undefined))
  if (!isObject(shown)) return shown
  return Object.fromEntries(
    Object.entries(shown).map(([name, value]) => [name, unlocked(value, isObject(stored) ? stored[name] : undefined)]),
  )
}

async function openRow(texts: SealedTexts, row: SectionRow): Promise<SectionRow> {
  return { ...row, value: (await mapSealed(row.value, aboutOf(row), texts.open)) as Section }
}

async function sealRow(texts: SealedTexts, row: SectionRow, { parameters }: ConfigSection): Promise<SectionRow> {
  const secrets = sectionField(parameters)
  return { ...row, value: (await sealed(secrets, row.value, aboutOf(row))) as Section }

  async function sealed(field: typeof secrets | undefined, value: unknown, about: string): Promise<unknown> {
    if (value instanceof LockedSecret) return texts.seal(value, about, value.shown)
    const hidden = typeof value === 'string' ? field?.hide?.(value) : null
    if (typeof value === 'string' && hidden != null) return texts.seal(value, about, hidden)
    if (Array.isArray(value)) return Promise.all(value.map((item) => sealed(field?.row as typeof secrets, item, about)))
    if (!isObject(value) || !field?.members) return value
    const entries = Object.entries(value).map(async ([name, inner]): Promise<[string, unknown]> => {
      const member = field.members && Object.hasOwn(field.members, name) ? field.members[name] : undefined
      return [name, await sealed(member as typeof secrets | undefined, inner, `${about}/${name}`)]
    })
    return Object.fromEntries(await Promise.all(entries))
  }
}

/** Replaces all sealed values, at any depth; the rows of a table share one place. */
async function mapSealed(
  value: unknown,
  about: string,
  map: (value: unknown, about: string) => Promise<unknown>,
): Promise<unknown> {
  if (Array.isArray(value)) return Promise.all(value.map((item) => mapSealed(item, about, map)))
  if (!isObject(value)) return value
  if (typeof value.$sealed === 'string') return map(value, about)
  const entries = Object.entries(value).map(
    async ([name, inner]): Promise<[string, unknown]> => [name, await mapSealed(inner, `${about}/${name}`, map)],
  )
  return Object.fromEntries(await Promise.all(entries))
}
