/** Checks the settings of an export: each member when it is saved. */
import { fileClasses, readCustomVersion } from '../config/service.ts'
import type { Column, Model, Table } from '../datamodel/model.ts'
import { mergeModes } from '../objects/service.ts'
import { fileFields } from '../objecttypes/service.ts'
import type { Actor } from '../platform/actor.ts'
import { badRequest } from '../platform/errors.ts'
import type { SearchRequest } from '../search/schema.ts'
import { readField } from './fields.ts'
import { type ExportType, exportTypes } from './model.ts'
import { type ExportBlock, type ExportBody, type ExportVersion, exportMembers } from './schema.ts'

export interface CheckDeps {
  readonly datamodel: { current(): Model }
  /** @throws {AppError} the error of the search */
  readonly checkSearch: (actor: Actor, request: SearchRequest) => Promise<void>
  /** Checks the settings for data files: mapping, style sheet, plugin. @throws {AppError} */
  readonly checkFormats: (actor: Actor, body: ExportBody) => Promise<void>
  /** Checks a template for the names of files of these object types. @throws {AppError} */
  readonly checkTemplate: (template: string, path: string, tables: readonly Table[]) => void
  readonly presets: () => readonly { readonly name: string }[]
  /** @throws {AppError} for more days than allowed */
  readonly expiry: (days: number | undefined) => unknown
}

type Sent = Readonly<import('typebox').Static<typeof ExportBlock>>

/** A mapping for metadata in copies of files, or for the documents, and the place that names it. */
export interface NamedMapping {
  readonly id: number
  readonly use: 'exiftool_export' | 'xml_export'
  readonly path: string
}

export interface Checked {
  readonly name: string
  readonly type: ExportType
  readonly body: ExportBody
  /** Mappings that are still to be found. */
  readonly mappings: readonly NamedMapping[]
}

/** @throws {AppError} naming the place of the error */
export async function checkExport(deps: CheckDeps, actor: Actor, sent: Sent): Promise<Checked> {
  const { _id, _version, user_id, name, type, ...rest } = sent
  const unknown = Object.keys(sent).find((key) => !exportMembers.includes(key))
  if (unknown !== undefined) throw wrong(unknown, 'is not known')
  if (name === undefined || name.trim() === '') throw wrong('name', 'is required')
  if (!exportTypes.some((known) => known === type)) throw wrong('type', `must be one of ${exportTypes.join(', ')}`)
  const body: ExportBody = rest
  await checkSearch(deps, actor, body)
  checkLinked(body)
  checkFields(deps.datamodel.current(), body)
  checkNames(deps, body)
  deps.expiry(body.file_url_expire_days)
  const mappings = [
    ...(typeof body.mapping === 'number'
      ? [{ id: body.mapping, use: 'xml_export' as const, path: 'export.mapping' }]
      : []),
    ...versionsOf(body).flatMap(({ version, path }) => checkVersion(deps, version, path)),
  ]
  await deps.checkFormats(actor, body)
  return { name, type: type as ExportType, body, mappings }
}

export const wrong = (member: string, problem: string): Error =>
  badRequest(`export.${member} ${problem}`, { path: `export.${member}` })

async function checkSearch({ checkSearch: check }: CheckDeps, actor: Actor, { search }: ExportBody): Promise<void> {
  if (search === undefined) throw wrong('search', 'is required')
  if (search.type) throw wrong('search.type', 'must be empty: objects are exported')
  await check(actor, search)
}

function checkLinked({ merge_linked_objects: mode }: ExportBody): void {
  if (mode === undefined || (mergeModes as readonly string[]).includes(mode)) return
  throw wrong('merge_linked_objects', `must be one of ${mergeModes.join(', ')}`)
}

function checkFields(model: Model, body: ExportBody): void {
  const depth = (body.merge_linked_objects ?? 'none') === 'none' ? 0 : (body.merge_max_depth ?? 1)
  for (const key of Object.keys(body.fields ?? {})) readField(model, key, depth)
  for (const key of Object.keys(body.eas_fields ?? {})) {
    if (!fileColumn(model, key)) throw wrong(`eas_fields.${key}`, 'is no column of files')
  }
  for (const key of Object.keys(body.classes ?? {})) {
    if (key !== 'unknown' && !Object.hasOwn(fileClasses, key)) throw wrong(`classes.${key}`, 'is no class of files')
  }
  for (const key of Object.keys(body.assets ?? {})) {
    if (!/^[1-9]\d{0,15}$/.test(key)) throw wrong(`assets.${key}`, 'is no id of a file')
  }
  for (const [key, { data = [] }] of Object.entries(body.eas_fields ?? {})) {
    for (const [index, { type, version }] of data.entries()) {
      if (type === 'version' && !version) throw wrong(`eas_fields.${key}.data[${index}].version`, 'is required')
    }
  }
}

/** The column of files with this name in the datamodel. */
export function fileColumn(model: Model, name: string): Column | undefined {
  const table = model.objecttypes.get(name.split('.')[0] ?? '')
  return table && fileFields(table).find(({ fullName }) => fullName === name)
}

function checkNames({ datamodel, checkTemplate }: CheckDeps, body: ExportBody): void {
  const template = body.filename_template
  if (template === undefined || template === '') return
  if (body.filename_original) throw wrong('filename_template', 'and filename_original exclude each other')
  const { objecttypes } = datamodel.current()
  const named = (body.search?.objecttypes ?? []).flatMap((name) => objecttypes.get(name) ?? [])
  checkTemplate(template, 'export.filename_template', named.length > 0 ? named : [...objecttypes.values()])
}

/** All versions in the settings, each with its place. */
function versionsOf({ classes = {}, assets = {} }: ExportBody) {
  const ofClasses = Object.entries(classes).flatMap(([key, versions]) =>
    versions.map((version, index) => ({ version, path: `export.classes.${key}[${index}]` })),
  )
  const ofAssets = Object.entries(assets).flatMap(([key, asset]) =>
    (typeof asset === 'boolean' ? [] : (asset.versions ?? [])).map((version, index) => ({
      version,
      path: `export.assets.${key}.versions[${index}]`,
    })),
  )
  return [...ofClasses, ...ofAssets]
}

const said = ['standard', 'keep', 'remove']

/** The named mapping, which is still to be found. */
function checkVersion(deps: CheckDeps, version: ExportVersion, path: string): NamedMapping[] {
  const fail = (member: string, problem: string) =>
    badRequest(`${path}.${member} ${problem}`, { path: `${path}.${member}` })
  const { type = 'original', metadata, custom, custom_version_preset: preset } = version
  if (type === 'version' && !version.version) throw fail('version', 'is required')
  if (type !== 'version' && version.version) throw fail('version', `says nothing beside the type ${type}`)
  if (type !== 'custom' && (custom || preset))
    throw fail(custom ? 'custom' : 'custom_version_preset', 'needs the type custom')
  if (type === 'custom') {
    if (custom && preset) throw fail('custom', 'and custom_version_preset exclude each other')
    if (!custom && !preset) throw fail('custom', 'is required')
    if (custom) readCustomVersion(custom, `${path}.custom`)
    if (preset && !deps.presets().some(({ name }) => name === preset))
      throw fail('custom_version_preset', 'is not known')
    if (metadata === 'keep')
      throw fail('metadata', 'cannot be keep: a picture that is made for an export says nothing of itself')
  }
  if (metadata === undefined || said.includes(`${metadata}`)) return []
  if (!/^[1-9]\d{0,14}$/.test(`${metadata}`))
    throw fail('metadata', 'must be standard, keep, remove, or the id of a mapping')
  return [{ id: Number(metadata), use: 'exiftool_export', path: `${path}.metadata` }]
}
