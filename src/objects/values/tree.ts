/**
 * An object as it is answered, as a tree of typed values, each with its definition in the datamodel. A value that the answer does
 * not have is not in the tree either, so masks and rights need not be checked again. Formats, manifests, mappings, names of files
 * and captions take their values from it.
 */

import type {
  Column,
  ColumnField,
  Mask,
  MaskField,
  Model,
  NestedField,
  ReverseField,
  Table,
} from '../../datamodel/model.ts'
import type { Localized } from '../../platform/values/localized.ts'
import { isRecord } from '../../platform/values/records.ts'

export type Wire = Readonly<Record<string, unknown>>

export interface ObjectTree {
  /** With its system fields. */
  readonly wire: Wire
  readonly table: Table
  /** It is shown with its fields, and not only by its name or its id. */
  readonly whole: boolean
  readonly fields: readonly FieldTree[]
  /** The paths from the top of the hierarchy down to it, itself included; empty where there is none to show. */
  readonly paths: readonly (readonly ObjectTree[])[]
}

interface Placed {
  /** Name on the wire: that of the column, `_nested:…`, `_reverse_nested:…`. */
  readonly name: string
  /**
   * `artwork.title`, `artwork._nested:artwork__contributor.role`; for linked objects with the path to them:
   * `artwork.artist.person.name`.
   */
  readonly path: string
}

export type FieldTree = Placed &
  (
    | { readonly kind: 'value'; readonly column: Column; readonly value: unknown }
    | { readonly kind: 'texts'; readonly column: Column; readonly texts: Readonly<Record<string, string>> }
    | { readonly kind: 'files'; readonly column: Column; readonly files: readonly FileTree[] }
    | { readonly kind: 'link'; readonly column: Column; readonly object: ObjectTree }
    | { readonly kind: 'rows'; readonly table: Table; readonly rows: readonly RowTree[] }
    | { readonly kind: 'objects'; readonly field: ReverseField; readonly objects: readonly ObjectTree[] }
  )

export interface RowTree {
  readonly uuid: string
  readonly fields: readonly FieldTree[]
}

/** A file with the versions that are written. */
export interface FileTree {
  readonly wire: Wire
  readonly versions: readonly VersionTree[]
}

export interface VersionTree {
  readonly name: string
  /** The members of the version besides its address. */
  readonly wire: Wire
  /** Path beside the written document. */
  readonly path?: string
  readonly url?: string
}

export type KeepPath = (path: string) => boolean

/** A version of an object. */
export interface WrittenObject {
  readonly systemObjectId: number
  readonly version: number
  readonly objecttype: string
}

/** A file in the form in which an object shows it (the schema `File` of files/schema.ts). */
export type ShownFile = Readonly<Record<string, unknown>>

export interface FilePlace {
  /** The object that has the file: the one of the tree, one below it or a linked one. */
  readonly object: WrittenObject
  /** Full name of the column. */
  readonly field: string
  /** The way to it from the object of the tree: `artwork.artist.person.portrait`. */
  readonly path: string
}

/** The versions of a file to write. */
export interface WrittenFile {
  /**
   * Versions by their names, with their place: beside the written file (`path`) or at the service (`url`). Other versions are left
   * out.
   */
  readonly versions: Readonly<Record<string, { readonly path?: string; readonly url?: string }>>
}

/** Null: the file is left out. */
export type FileChoice = (file: ShownFile, place: FilePlace) => WrittenFile | null

export interface TreeContext {
  readonly model: Pick<Model, 'objecttypes'>
  /** Fields by their paths; absent: all. */
  readonly keep?: KeepPath
  /** Objects of hierarchies that are whole in the paths of others, by their ids. */
  readonly above?: ReadonlyMap<number, Wire>
  /** The metadata of files, by their ids. */
  readonly metadata?: ReadonlyMap<number, unknown>
  /** Absent: files are written with all their versions. */
  readonly fileOf?: FileChoice | undefined
}

/** For an object that is shown with its fields: a missing boolean is a node without a value (null). */
interface Within extends TreeContext {
  readonly whole: boolean
  readonly object: Wire
}

/** Null: the type of the object was removed from the datamodel meanwhile. */
export function treeOf(context: TreeContext, wire: Wire): ObjectTree | null {
  const tree = placedTree(context, wire, undefined, undefined)
  return tree && { ...tree, paths: pathsOf(context, wire) }
}

/** An object that was read with this mask; without its place in a hierarchy. */
export function treeInMask(context: TreeContext, wire: Wire, mask: Mask): ObjectTree {
  return maskedTree(context, wire, mask.table, mask, mask.table.name)
}

function pathsOf(context: TreeContext, wire: Wire): readonly (readonly ObjectTree[])[] {
  const paths = Array.isArray(wire._paths) ? wire._paths : wire._path === undefined ? [] : [wire._path]
  return paths.map((path) =>
    records(path).flatMap((step) => {
      const whole = step._system_object_id === wire._system_object_id ? undefined : context.above?.get(idOf(step))
      return placedTree(context, whole ?? step, undefined, undefined) ?? []
    }),
  )
}

const idOf = (wire: Wire): number => Number(wire._system_object_id)

/** `mask`: the mask at this place, which the object itself does not name. */
function placedTree(
  context: TreeContext,
  wire: Wire,
  path: string | undefined,
  mask: Mask | undefined,
): ObjectTree | null {
  const table = context.model.objecttypes.get(String(wire._objecttype))
  if (!table) return null
  const shown = mask?.table === table ? mask : table.masks.get(String(wire._mask))
  return maskedTree(context, wire, table, shown, path === undefined ? table.name : `${path}.${table.name}`)
}

function maskedTree(context: TreeContext, wire: Wire, table: Table, shown: Mask | undefined, own: string): ObjectTree {
  const block = wire[table.name]
  const whole = wire._format !== undefined
  const within = { ...context, whole, object: wire }
  const fields = shown && isRecord(block) ? fieldsOf(within, shown.fields, block, own) : []
  return { wire, table, whole, fields, paths: [] }
}

function fieldsOf(context: Within, fields: Mask['fields'], holder: Wire, path: string): FieldTree[] {
  return fields.flatMap((field) => (field.mode === 'off' ? [] : fieldTree(context, field, holder, path)))
}

function fieldTree(context: Within, field: MaskField, holder: Wire, path: string): FieldTree[] {
  switch (field.kind) {
    case 'column':
      return columnTree(context, field, holder, path)
    case 'nested':
      return rowsTree(context, field, holder, path)
    case 'reverse':
      return objectsTree(context, field, holder, path)
  }
}

function columnTree(context: Within, { column, linkMask }: ColumnField, holder: Wire, before: string): FieldTree[] {
  const { name } = column
  const value = holder[name]
  const path = `${before}.${name}`
  if (context.keep?.(path) === false) return []
  const placed = { name, path, column }
  if (value === undefined || value === null) {
    return context.whole && column.type === 'boolean' ? [{ ...placed, kind: 'value', value: null }] : []
  }
  switch (column.type) {
    case 'link': {
      const object = isRecord(value) ? placedTree(context, value, path, inlineOnly(linkMask)) : null
      return object ? [{ ...placed, kind: 'link', object }] : []
    }
    case 'eas':
      return [{ ...placed, kind: 'files', files: filesOf(context, records(value), path, column) }]
    case 'text_l10n':
    case 'text_l10n_oneline':
      return [{ ...placed, kind: 'texts', texts: value as Readonly<Record<string, string>> }]
    default:
      return [{ ...placed, kind: 'value', value }]
  }
}

/** An object names a mask with a name itself, as it may be shown with another one. */
const inlineOnly = (mask: Mask | null): Mask | undefined => (mask?.isInline ? mask : undefined)

function rowsTree(context: Within, { table, fields }: NestedField, holder: Wire, before: string): FieldTree[] {
  const name = table.wireKey
  const path = `${before}.${name}`
  const value = holder[name]
  if (!Array.isArray(value) || value.length === 0 || context.keep?.(path) === false) return []
  const rows = records(value).map((row) => ({
    uuid: String(row._uuid),
    fields: fieldsOf(context, fields, row, path),
  }))
  return [{ name, path, kind: 'rows', table, rows }]
}

function objectsTree(context: Within, field: ReverseField, holder: Wire, before: string): FieldTree[] {
  const name = field.wireKey
  const path = `${before}.${name}`
  const value = holder[name]
  if (!Array.isArray(value) || value.length === 0 || context.keep?.(path) === false) return []
  const objects = records(value).flatMap((wire) => placedTree(context, wire, path, field.mask) ?? [])
  return [{ name, path, kind: 'objects', field, objects }]
}

function filesOf(context: Within, files: readonly Wire[], path: string, column: Column): FileTree[] {
  return files.flatMap((file): FileTree[] => {
    const metadata = context.metadata?.get(Number(file._id))
    const wire = metadata === undefined ? file : { ...file, metadata }
    const versions = versionsOf(file)
    if (!context.fileOf) return [{ wire, versions }]
    const told = context.fileOf(file, { object: writtenOf(context.object), field: column.fullName, path })
    return told ? [{ wire, versions: toldVersions(versions, told) }] : []
  })
}

function versionsOf({ versions }: Wire): VersionTree[] {
  if (!isRecord(versions)) return []
  return Object.entries(versions).flatMap(([name, wire]) => {
    if (!isRecord(wire)) return []
    return [{ name, wire, ...(typeof wire.url === 'string' ? { url: wire.url } : {}) }]
  })
}

/** Versions have the order of the choice, including versions that the service does not have. */
function toldVersions(versions: readonly VersionTree[], { versions: told }: WrittenFile): VersionTree[] {
  return Object.entries(told).map(([name, where]) => {
    const { wire = {} } = versions.find((one) => one.name === name) ?? {}
    return { name, wire, ...where }
  })
}

export function writtenOf(wire: Wire): WrittenObject {
  const objecttype = String(wire._objecttype)
  const block = wire[objecttype]
  const version = isRecord(block) ? Number(block._version) : 0
  return { systemObjectId: idOf(wire), version, objecttype }
}

/** The names of a field in the datamodel. */
export function namedBy(field: FieldTree): { readonly name: string; readonly nameLocalized: Localized } {
  return field.kind === 'rows' ? field.table : field.kind === 'objects' ? field.field.table : field.column
}

/** The files of fields and of their rows: a list for each field with files. */
export function fileLists(
  fields: readonly FieldTree[],
): { readonly column: Column; readonly files: readonly FileTree[] }[] {
  return fields.flatMap((field) => {
    if (field.kind === 'files') return [{ column: field.column, files: field.files }]
    return field.kind === 'rows' ? field.rows.flatMap((row) => fileLists(row.fields)) : []
  })
}

export function records(values: unknown): readonly Wire[] {
  return Array.isArray(values) ? values.filter(isRecord) : []
}
