import { addedParameterTypes, type ParameterType } from '../../rights/service.ts'
import { readProduce } from './cookbooks.ts'
import { readCustomType, wrongIntervals } from './custom-types.ts'
import type { AddedRight, ConfigSection, Manifest, Program, Step } from './model.ts'
import { readProgram, readSingleProgram } from './programs.ts'
import { Place, wrongManifest } from './reader.ts'

/** Names of plugins, for addresses and the base configuration. */
const namePattern = /^[a-z][a-z0-9_-]*[a-z0-9]$/
const longestName = 100

/**
 * Reads and checks a manifest. Parts without effect here are kept and listed in `unsupported`, so that plugins for other
 * systems can be installed unchanged. @throws {AppError} with the place of the error.
 */
export function readManifest(raw: Record<string, unknown>): Manifest {
  const ignored = new Set<string>()
  const root = new Place(raw, '', ignored)
  root.knows('plugin', 'base_url_prefix', 'dependencies', 'extensions', 'callbacks', ...effective)
  const plugin = root.at('plugin')
  if (plugin.absent) throw plugin.wrong('there: it names the plugin')
  plugin.knows(
    ...['name', 'version', 'displayname', 'info', 'l10n', 'url', 'server', 'webfrontend', 'custom', 'dependencies'],
  )
  const name = readName(plugin.at('name'))
  const callbacks = root.at('callbacks')
  callbacks.knows('db_pre_save', 'transition_db_pre_save', 'export', 'export_transport')
  const preSave = callbacks.at('db_pre_save')
  preSave.knows('steps', 'callbacks')
  const webfrontend = plugin.at('webfrontend')
  for (const part of ['url', 'css', 'html']) {
    if (!webfrontend.at(part).absent) assertInside(webfrontend.at(part))
  }
  const customTypes = new Map(root.at('custom_types').members(100).map(readCustomType))
  const baseConfig = readBaseConfig(root.at('base_config'))
  for (const path of wrongIntervals(customTypes.values(), baseConfig)) ignored.add(path)
  const { displayname, info } = { displayname: plugin.at('displayname').texts(), info: plugin.at('info').texts() }
  return {
    name,
    version: plugin.at('version').textOr('', 200),
    displayname: Object.keys(displayname).length > 0 ? displayname : { 'en-US': name },
    info: Object.keys(info).length > 0 ? info : { 'en-US': '-' },
    l10n: plugin.at('l10n').absent ? null : assertInside(plugin.at('l10n')),
    url: plugin.at('url').textOr(null, 2000),
    server: plugin.at('server').absent ? null : plugin.at('server').object(),
    webfrontend: webfrontend.object(),
    custom: plugin.at('custom').absent ? null : plugin.at('custom').object(),
    staticFolder: readStaticFolder(root.at('base_url_prefix')),
    dependencies: [root, plugin, webfrontend].flatMap((place) => place.at('dependencies').items(100)).map(readName),
    extensions: new Map(root.at('extensions').members().map(readExtension)),
    steps: preSave.at('steps').items().map(readStep),
    preSave: programsOf(preSave.at('callbacks')),
    transitions: programsOf(callbacks.at('transition_db_pre_save')),
    exports: new Map(callbacks.at('export').members(200).map(readExportProgram)),
    exportTransports: new Map(callbacks.at('export_transport').members(200).map(readExportProgram)),
    collectionUpload: root.at('collection_upload').object(),
    uploads: readUploads(root.at('collection_upload')),
    baseConfig,
    customTypes,
    systemRights: root.at('system_rights').items(200).map(readRight),
    events: new Map(root.at('custom_events').members(200).map(readEvent)),
    produce: readProduce(root.at('fas_config'), name),
    unsupported: [...ignored],
  }
}

const effective = ['collection_upload', 'base_config', 'system_rights', 'custom_types', 'custom_events', 'fas_config']

function readName(place: Place): string {
  const name = place.text(longestName)
  if (!namePattern.test(name)) {
    throw place.wrong('lower-case letters, digits, - and _, from a letter to a letter or digit')
  }
  return name
}

/** A path of a file or folder of the plugin, in its normal form. */
function assertInside(place: Place): string {
  const path = place.text(1000)
  const steps = path.split('/').filter((step) => step !== '' && step !== '.')
  if (path.startsWith('/') || path.includes('\\') || path.includes('\0') || steps.includes('..')) {
    throw place.wrong('a path inside the plugin')
  }
  return steps.join('/')
}

/** Without a folder no file is served: the programs of a plugin must not be readable. */
function readStaticFolder(place: Place): string | null {
  const path = place.absent ? '' : assertInside(place)
  return path === '' ? null : path
}

function readExtension([name, entry]: [string, Place]) {
  if (name.length > 500 || name.startsWith('/') || name.endsWith('/') || name.includes('//')) {
    throw entry.wrong('named by steps that are separated by one slash')
  }
  const contentType = entry.at('content_type').textOr(null, 200)
  if (contentType !== null && !/^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(; ?charset=[\w-]+)?$/.test(contentType)) {
    throw entry.at('content_type').wrong('a content type such as text/html; charset=utf-8')
  }
  return [name, { ...readSingleProgram(entry, 'content_type'), contentType }] as const
}

function programsOf(callbacks: Place) {
  return new Map(callbacks.members(200).map(([name, entry]) => [name, readProgram(entry)]))
}

/**
 * A program that ends with its call: its output may be the content of a file, whose end is only marked by the end of the
 * program.
 */
function readExportProgram([name, entry]: [string, Place]): [string, Program] {
  const program = readProgram(entry)
  if (program.keep) throw entry.at('exec').at('keep').wrong('left out: programs of exports end with their call')
  return [name, program]
}

function readStep(step: Place): Step {
  step.knows('name', 'callback', 'filter')
  const filter = step.at('filter')
  filter.knows('type', 'objecttypes')
  const objecttypes = filter.absent
    ? null
    : filter
        .at('objecttypes')
        .items()
        .map((one) => one.text(200))
  if (!filter.absent && filter.at('type').text(64) !== 'objecttype') throw filter.at('type').wrong('objecttype')
  return { name: step.at('name').textOr('', 1000), callback: step.at('callback').text(200), objecttypes }
}

/** Programs that change the objects made of uploads into collections. Their settings in each collection are for front ends. */
function readUploads(place: Place) {
  return new Map(
    place.members(200).map(([name, entry]) => {
      if (!/^[a-z][a-z_0-9]+$/.test(name)) throw entry.wrong('named by lower-case letters, digits and _')
      entry.knows('config', 'callbacks')
      entry.at('config').items(200)
      entry.at('callbacks').knows('objects')
      return [name, readProgram(entry.at('callbacks').at('objects'))] as const
    }),
  )
}

function readBaseConfig(list: Place): ConfigSection[] {
  const known = new Set<string>()
  return list.items(200).map((section) => {
    section.knows('name', 'group', 'parameters')
    const name = section.at('name').text(200)
    if (name === '' || name.includes('/')) throw section.at('name').wrong('a name without a slash')
    if (known.has(name)) throw section.at('name').wrong('another name than the sections before it')
    known.add(name)
    const parameters = section.at('parameters').members(500)
    return {
      name,
      group: section.at('group').textOr('', 200),
      parameters: Object.fromEntries(parameters.map(([key, place]) => [key, place.object()])),
    }
  })
}

function readRight(right: Place): AddedRight {
  right.knows('name', 'comment', 'parameters')
  const name = right.at('name').text(100)
  if (!/^[a-z0-9][a-z0-9_.-]*$/.test(name)) throw right.at('name').wrong('lower-case letters, digits, . - and _')
  return {
    name,
    comment: right.at('comment').textOr('', 1000),
    parameters: right
      .at('parameters')
      .items(100)
      .map((parameter) => ({
        name: parameter.at('name').text(100),
        type: parameterType(parameter.at('type')),
        choices: parameter
          .at('choices')
          .items(1000)
          .map((choice) => choice.text(200)),
      })),
  }
}

function parameterType(place: Place): ParameterType {
  const type = place.text(64)
  const known = parameterTypes.find((one) => one === type)
  if (known === undefined) throw place.wrong(`one of ${parameterTypes.join(', ')}`)
  return known
}

const parameterTypes: readonly ParameterType[] = ['bool', 'string-list', ...addedParameterTypes]

function readEvent([name, entry]: [string, Place]) {
  if (!/^[A-Z][A-Z0-9_]{0,99}$/.test(name)) throw entry.wrong('named by capital letters, digits and _')
  entry.knows('user')
  return [name, { user: entry.at('user').flag() }] as const
}

/** Checks that the name in the manifest is also the name of its folder. @throws {AppError} */
export function assertFolder(manifest: Manifest, folder: string): void {
  if (manifest.name === folder) return
  throw wrongManifest(`plugin.name must be ${folder}, as the folder is called`, { path: 'plugin.name', folder })
}
