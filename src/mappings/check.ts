/** Checks mappings to be saved, and writes them in the form for clients. */

import type { Model } from '../datamodel/model.ts'
import { AppError, badRequest } from '../platform/errors.ts'
import type { Localized } from '../platform/values/localized.ts'
import { assertStorable } from '../platform/values/text.ts'
import type { MappableRecipe } from '../plugins/service.ts'
import {
  type Mapping,
  type MappingBody,
  type MappingField,
  ownMappingId,
  type Profile,
  type ProfileField,
  type ProfileType,
  type Source,
  type Strategy,
  strategies,
} from './model.ts'
import { type FieldPath, fromStored, importable, nameOf, readPath, toStored } from './paths.ts'
import { fieldsOf, readExport } from './profiles.ts'
import { fieldName, mappedRecipes } from './recipes.ts'
import type { FieldInput, MappingInput, MappingOutput, NativeInput } from './schema.ts'
import { isOwnTag, readSearch, type Tags } from './tags/tags.ts'

export interface CheckContext {
  readonly model: Model
  readonly profiles: ReadonlyMap<string, Profile>
  readonly tags: Tags
  /** Recipes of plugins that fields may be of. */
  readonly recipes: readonly MappableRecipe[]
}

type Checked = MappingBody & Pick<Mapping, 'profile' | 'displayname'>

/** @throws {AppError} `ServerGeneric` naming the place, `DatabaseUniqueKeyViolation` for two fields of one name. */
export function checkMapping(context: CheckContext, input: MappingInput): Checked {
  assertStorable(input, 'body')
  const profile = context.profiles.get(input.profile)
  if (!profile) throw unknownProfile(input.profile, 'body.profile')
  const table = input.idTable || null
  if (table !== null && context.model.tablesById.get(table)?.kind !== 'object') {
    throw badRequest(`body.idTable: there is no object type ${table}.`, { path: 'body.idTable', value: table })
  }
  if (input.xml_base !== undefined && input.xml_base !== '' && input.xml_base !== profile.xmlBase) {
    const path = 'body.xml_base'
    const expected = profile.xmlBase === null ? 'nothing' : profile.xmlBase
    throw badRequest(`${path}: elements of the profile ${profile.profile} have ${expected} as their namespace`, {
      path,
      value: input.xml_base,
    })
  }
  const type = typeOf(profile, input.profile_type ?? {})
  const fields = (input.fields ?? []).map((field, index) =>
    checkField({ ...context, profile, table, type }, field, `body.fields[${index}]`),
  )
  assertDistinct(fields)
  if (isForObjects(profile) && input.limited_extensions?.length) {
    const path = 'body.limited_extensions'
    throw badRequest(`${path}: the mapping is for objects, not for files`, { path })
  }
  const extensions = (input.limited_extensions ?? []).map((one) => one.toLowerCase().replace(/^\./, ''))
  const recipes = mappedRecipes(fields, context.recipes, input.recipe_configs)
  return { profile: profile.profile, displayname: input.displayname ?? {}, table, type, fields, extensions, ...recipes }
}

export function unknownProfile(name: string, path: string): AppError {
  return badRequest(`${path}: there is no profile ${name.slice(0, 100)}`, { path, value: name.slice(0, 200) })
}

/** Its mappings write documents of objects; they neither read nor write metadata of files. */
const isForObjects = ({ type }: Profile): boolean => type.xml_export === true || type.dc_export === true

const flags = ['exiftool_import', 'exiftool_export', 'xml_export', 'dc_export', 'plugins_import'] as const

/** A mapping may have fewer purposes than its profile. */
function typeOf(profile: Profile, sent: Readonly<Record<string, unknown>>): ProfileType {
  const own: Readonly<Record<string, unknown>> = profile.type
  for (const flag of flags) {
    if (sent[flag] !== true || own[flag] === true) continue
    const path = `body.profile_type.${flag}`
    throw badRequest(`${path}: the profile ${profile.profile} is not for that`, { path, value: true })
  }
  const omit = sent.exiftool_export_omit_empty ?? own.exiftool_export_omit_empty
  return {
    exiftool_import: own.exiftool_import === true && sent.exiftool_import !== false,
    exiftool_export: own.exiftool_export === true && sent.exiftool_export !== false,
    ...(own.dc_export === true ? { dc_export: sent.dc_export !== false } : {}),
    ...(own.xml_export === true ? { xml_export: sent.xml_export !== false } : {}),
    ...(own.plugins_import === true && sent.plugins_import !== false ? { plugins_import: true } : {}),
    ...(omit === true ? { exiftool_export_omit_empty: true } : {}),
  }
}

interface FieldContext extends CheckContext {
  readonly profile: Profile
  readonly table: number | null
  readonly type: ProfileType
}

function checkField(context: FieldContext, field: FieldInput, place: string): MappingField {
  const name = field.name ?? field._id ?? ''
  if (field._id !== undefined && field._id !== name) {
    throw badRequest(`${place}: _id and name are the same`, { path: `${place}._id`, value: field._id })
  }
  if (field.recipe_name !== undefined) return checkRecipeField(context, field, name, place)
  const foreign = (['json_import', 'json_import_type'] as const).find((key) => field[key] !== undefined)
  if (foreign) throw badRequest(`${place}.${foreign}: only fields of recipes have it`, { path: `${place}.${foreign}` })
  const known = fieldsOf(context.profile).get(name)
  const custom = field.custom === true
  if (name === '' || (!known && !custom)) {
    const path = `${place}.name`
    throw badRequest(`${path}: the profile ${context.profile.profile} has no field ${JSON.stringify(name)}`, {
      path,
      value: name,
    })
  }
  if (isForObjects(context.profile) && (field.xml_import?.length || field.strategy_import || field.type === 'Input')) {
    throw badRequest(`${place}: nothing is imported by the profile ${context.profile.profile}`, { path: place })
  }
  const imports = field.xml_import?.map(({ search }, index) => ({
    search: readSearch(search, `${place}.xml_import[${index}].search`),
  }))
  const exports = field.xml_export?.map(({ path, list, l10n }, index) =>
    readExport(
      context.profile,
      context.tags,
      { path, ...(list ? { list } : {}), ...(l10n ? { l10n } : {}) },
      `${place}.xml_export[${index}].path`,
    ),
  )
  const natives = field.native ?? []
  const sources = natives.map((native, index) => checkNative(context, native, `${place}.native[${index}]`))
  assertFixedOutside(sources, place)
  return {
    name,
    custom: !known,
    ...(field.text === undefined ? {} : { text: field.text }),
    ...strategyOf(field.strategy_import, place),
    // A list equal to that of the profile is not stored, so that it follows the profile.
    ...(sameTags(imports, known?.imports) ? {} : { imports: imports ?? [] }),
    ...(sameTags(exports, known?.exports) ? {} : { exports: exports ?? [] }),
    ...directionOf(field.type),
    sources,
    ...(field.x === undefined && field.y === undefined ? {} : { place: placeOf(field) }),
  }
}

/** A field of a recipe: what it is follows from the recipe, what becomes of it from the mapping. */
function checkRecipeField(context: FieldContext, field: FieldInput, name: string, place: string): MappingField {
  const { type, profile, recipes } = context
  const recipe = recipes.find((one) => one.name === field.recipe_name)
  const known = recipe?.fields.find((one) => fieldName(recipe.name, one.name) === name)
  if (type.plugins_import !== true || type.exiftool_import !== true) {
    const path = `${place}.recipe_name`
    throw badRequest(`${path}: nothing of recipes is imported by a mapping of ${profile.profile} that says so`, {
      path,
    })
  }
  if (!recipe || !known) {
    const path = recipe ? `${place}.name` : `${place}.recipe_name`
    const value = recipe ? name : field.recipe_name
    throw badRequest(`${path}: no plugin that is on has such a recipe with such a field`, { path, value })
  }
  for (const [key, expected] of [
    ['json_import', known.path],
    ['json_import_type', known.type],
  ] as const) {
    if (field[key] === undefined || field[key] === expected) continue
    throw badRequest(`${place}.${key} follows from the recipe`, { path: `${place}.${key}`, expected })
  }
  const other = (['xml_import', 'xml_export'] as const).find((key) => field[key]?.length)
  const ill =
    other ?? (field.custom === true ? 'custom' : field.type === undefined || field.type === 'Input' ? null : 'type')
  if (ill !== null) throw badRequest(`${place}.${ill}: a field of a recipe has none`, { path: `${place}.${ill}` })
  const natives = (field.native ?? []).map((native, index) => checkNative(context, native, `${place}.native[${index}]`))
  return {
    name,
    custom: false,
    recipe: { name: recipe.name, field: known.name, path: known.path, type: known.type },
    text: { ...known.text },
    ...strategyOf(field.strategy_import, place),
    sources: natives,
    ...(field.x === undefined && field.y === undefined ? {} : { place: placeOf(field) }),
  }
}

/** `Input` and `Output` leave the tags of the other direction out. */
function directionOf(type: FieldInput['type']): Pick<MappingField, 'imports' | 'exports'> {
  if (type === 'Input') return { exports: [] }
  return type === 'Output' ? { imports: [] } : {}
}

function placeOf({ x, y }: FieldInput): NonNullable<MappingField['place']> {
  return { ...(x === undefined ? {} : { x }), ...(y === undefined ? {} : { y }) }
}

function sameTags(given: readonly object[] | undefined, own: readonly object[] | undefined): boolean {
  return given === undefined ? true : JSON.stringify(given) === JSON.stringify(own ?? [])
}

function strategyOf(given: string | undefined, place: string): { readonly strategy?: Strategy } {
  if (given === undefined || given === '') return {}
  const strategy = strategies.find((one) => one === given)
  if (strategy) return { strategy }
  const path = `${place}.strategy_import`
  throw badRequest(`${path} must be one of ${strategies.join(', ')}`, { path, value: given, expected: strategies })
}

const fixed = ['text_fixed', 'deep_link_url']

function checkNative(context: FieldContext, native: NativeInput, place: string): Source {
  const { type = '', field = '', text } = native
  if (type === 'text_fixed') return { kind: 'text_fixed', text: text ?? '' }
  if (type === 'deep_link_url') return { kind: 'deep_link_url', ...(text === undefined ? {} : { text }) }
  const path = readPath(context.model, field, `${place}.field`)
  const { column } = path
  if (type !== '' && type !== 'text' && type !== 'custom' && type !== column?.type && type !== column?.typeName) {
    throw badRequest(`${place}.type: ${field} has the type ${column?.typeName ?? 'string'}`, {
      path: `${place}.type`,
      value: type,
      expected: [column?.typeName ?? 'string', ...fixed],
    })
  }
  assertFits(context, path, `${place}.field`)
  return {
    kind: 'field',
    path: toStored(path),
    ...(text === undefined ? {} : { text }),
    ...(type === '' ? {} : { type }),
  }
}

function assertFits({ table, type }: FieldContext, path: FieldPath, place: string): void {
  if (table !== null && path.root.id !== table) {
    throw badRequest(`${place}: the mapping is for another object type than ${path.root.name}`, { path: place })
  }
  const only = type.exiftool_import === true && type.exiftool_export !== true
  if (only && (!path.column || !importable(path.column))) {
    throw badRequest(`${place}: nothing can be imported there`, { path: place, value: nameOf(path) })
  }
}

/** Fixed texts must be before or behind the values of fields. */
function assertFixedOutside(sources: readonly Source[], place: string): void {
  const first = sources.findIndex(({ kind }) => kind === 'field')
  const last = sources.findLastIndex(({ kind }) => kind === 'field')
  const within = sources.findIndex(({ kind }, index) => kind !== 'field' && index > first && index < last)
  if (first < 0 || within < 0) return
  const path = `${place}.native[${within}]`
  throw badRequest(`${path}: ${fixed.join(' and ')} stand before or behind the fields, not among them`, { path })
}

function assertDistinct(fields: readonly MappingField[]): void {
  const seen = new Set<string>()
  for (const [index, { name }] of fields.entries()) {
    if (seen.has(name))
      throw new AppError('DatabaseUniqueKeyViolation', { name: `body.fields[${index}].name`, value: name })
    seen.add(name)
  }
}

/** The tags of a field: those of the mapping, else those of the profile. */
export function tagsOf(
  field: Pick<MappingField, 'imports' | 'exports'>,
  known: ProfileField | undefined,
): Pick<ProfileField, 'imports' | 'exports'> {
  return { imports: field.imports ?? known?.imports ?? [], exports: field.exports ?? known?.exports ?? [] }
}

export function renderMapping(model: Model, mapping: Mapping, profile: Profile | undefined): MappingOutput {
  const known = profile ? fieldsOf(profile) : new Map<string, ProfileField>()
  return {
    id: mapping.id,
    ...(mapping.table === null ? {} : { idTable: mapping.table }),
    displayname: { ...mapping.displayname },
    profile: mapping.profile,
    profile_type: { ...mapping.type },
    ...xmlBaseOf(profile),
    fields: mapping.fields.map((field) => renderField(model, field, known.get(field.name))),
    limited_extensions: [...mapping.extensions],
    recipe_configs: Object.fromEntries(
      Object.entries(mapping.recipes ?? {})
        .filter(([, { config }]) => Object.keys(config).length > 0)
        .map(([name, { config }]) => [name, { params: { ...config } }]),
    ),
    custom: mapping.id !== ownMappingId,
  }
}

export function xmlBaseOf(profile: Profile | undefined): { readonly xml_base?: string } {
  return profile?.xmlBase ? { xml_base: profile.xmlBase } : {}
}

function renderField(model: Model, field: MappingField, known: ProfileField | undefined) {
  const { imports, exports } = tagsOf(field, known)
  const strategy = field.strategy ?? known?.strategy
  return {
    ...renderTags(field.name, field.text ?? known?.text ?? {}, { imports, exports }),
    ...(field.recipe
      ? { recipe_name: field.recipe.name, json_import: field.recipe.path, json_import_type: field.recipe.type }
      : {}),
    ...(strategy ? { strategy_import: strategy } : {}),
    // A deleted column is left out.
    native: field.sources.flatMap((source) => renderSource(model, source)),
    ...(field.custom ? { custom: true } : {}),
    ...field.place,
  }
}

export function renderTags(
  name: string,
  text: string | Localized,
  { imports, exports }: Pick<ProfileField, 'imports' | 'exports'>,
) {
  return {
    _id: name,
    name,
    text,
    xml_import: imports.map((tag) => ({ ...tag })),
    xml_export: exports.map((tag) => ({ ...tag })),
  }
}

function renderSource(model: Model, source: Source): NativeInput[] {
  if (source.kind === 'text_fixed') return [{ type: source.kind, text: source.text }]
  const text = source.text === undefined ? {} : { text: source.text }
  if (source.kind === 'deep_link_url') return [{ type: source.kind, ...text }]
  const path = fromStored(model, source.path)
  if (!path) return []
  return [{ field: nameOf(path), ...(source.type === undefined ? {} : { type: source.type }), ...text }]
}

/** Tags of the mapping that ExifTool does not know. */
export function ownTags(paths: readonly string[], tags: Tags): readonly string[] {
  return paths.filter((path) => !tags.writable(path) && isOwnTag(path))
}
