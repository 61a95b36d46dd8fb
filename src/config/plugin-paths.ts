import { badRequest } from '../platform/errors.ts'
import { isRecord } from '../platform/values/records.ts'
import { type Path, pathNotFound } from './document.ts'
import { wrong } from './fields/field.ts'
import type { PluginSectionChange } from './plugin-sections.ts'

/** The changes of plugin sections in the body of `POST /config`, each section as a whole. */
export function pluginChangesIn(body: unknown, known: object): PluginSectionChange[] {
  const plugins = isRecord(body) ? body.plugin : undefined
  if (plugins === undefined || plugins === null) return []
  const unknown = membersOf(plugins, 'plugin').find(([name]) => !Object.hasOwn(known, name))
  if (unknown) throw badRequest(`plugin/${unknown[0]} does not exist`, { path: `plugin/${unknown[0]}` })
  return changesOfPlugins(plugins, false)
}

function changesOfPlugins(plugins: unknown, merge: boolean): PluginSectionChange[] {
  return membersOf(plugins, 'plugin').flatMap(([plugin, given]) => changesOfPlugin(plugin, given, merge))
}

function changesOfPlugin(plugin: string, given: unknown, merge: boolean): PluginSectionChange[] {
  return membersOf(given, `plugin/${plugin}`).flatMap(([key, config]) => {
    if (key !== 'config') throw wrong(`plugin/${plugin}/${key}`, 'left out: there is config alone')
    return changesOfConfig(plugin, config, merge)
  })
}

function changesOfConfig(plugin: string, config: unknown, merge: boolean): PluginSectionChange[] {
  return membersOf(config, `plugin/${plugin}/config`).map(([section, value]) => ({
    plugin,
    section,
    members: [],
    value,
    merge,
  }))
}

/** The changes of `POST /config/plugin/…`. */
export function pluginChangesAt(path: Path, value: unknown): PluginSectionChange[] {
  const [, plugin, config, section] = path
  if (plugin === undefined) return changesOfPlugins(value, true)
  if (config === undefined) return changesOfPlugin(plugin, value, true)
  if (config !== 'config') throw pathNotFound(path)
  return section === undefined ? changesOfConfig(plugin, value, true) : [pluginChangeAt(path, value)]
}

/** The change of one section, or of a value in it; `value` null: back to its default. */
export function pluginChangeAt(path: Path, value: unknown): PluginSectionChange {
  const [, plugin, config, section, ...members] = path
  if (plugin === undefined || config !== 'config' || section === undefined) throw pathNotFound(path)
  return { plugin, section, members, value, merge: value !== null }
}

function membersOf(value: unknown, path: string): [string, unknown][] {
  if (!isRecord(value)) throw wrong(path, 'an object')
  return Object.entries(value)
}
