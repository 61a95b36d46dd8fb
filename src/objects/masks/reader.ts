import type { Column, ColumnField, Mask, MaskField, NestedField, ReverseField } from '../../datamodel/model.ts'
import { readExact } from '../../platform/values/exact-json.ts'
import type { FileEntry } from '../content/file-links.ts'
import { type Content, rowsOf } from '../stored/content.ts'
import { mayInherit } from './inherited-columns.ts'

export type Wire = Record<string, unknown>

/**
 * Receives the fields of one object that need more than its content: links and reverse objects are not in the content. They are
 * registered here with the place to fill, and filled in when all objects of a response are loaded.
 */
export interface FieldSink {
  /** Empty fields are included in answers, too. */
  readonly empty: boolean
  /** Only texts in these languages; null: all. */
  readonly languages: readonly string[] | null
  link(holder: Wire, key: string, systemObjectId: number, field: ColumnField): void
  reverse(holder: Wire, key: string, field: ReverseField): void
  /** A list of files is in `holder[key]`, as stored. */
  files(holder: Wire, key: string, files: readonly FileEntry[]): void
  /** Rows whose order in the mask needs linked objects. `rows` is in `holder[key]` in stored order. */
  rows(holder: Wire, key: string, content: Content, field: NestedField): void
}

type FieldReader = (content: Content, out: Wire, sink: FieldSink) => void

/** A mask as a list of functions, prepared once, that each convert one field from its stored form to the wire. */
export interface Reader {
  /** A new, empty block: first the names besides the fields; then `read` fills in the fields. */
  block(): Wire
  read(content: Content, out: Wire, sink: FieldSink): void
  /** SQL/JSON paths of the links that the mask shows. */
  readonly linkPaths: readonly string[]
  /** System object ids of all links of a content that the mask shows, repeated ones included. */
  links(content: Content): number[]
  /** Ids of the columns through which the mask's reverse objects link. */
  readonly reverseColumns: readonly number[]
  /** Fields whose values are inherited along the hierarchy: stored key, wire key, and the columns that they show. */
  readonly inherited: readonly { readonly key: string; readonly wireKey: string; readonly columns: readonly Column[] }[]
}

/** Chooses fields by their full name (`artwork.title`, `artwork._nested:artwork__contributor.role`). */
export type FieldFilter = (fullName: string) => boolean

const readers = new WeakMap<Mask, Reader>()

export function readerOf(mask: Mask): Reader {
  let reader = readers.get(mask)
  if (!reader) {
    reader = compileReader(mask)
    readers.set(mask, reader)
  }
  return reader
}

/** A reader of some fields of a mask; not kept, so for responses of many objects. */
export function filteredReader(mask: Mask, keep: FieldFilter): Reader {
  return compileReader(mask, keep)
}

function compileReader(mask: Mask, keep?: FieldFilter): Reader {
  const fields = mask.fields.filter((field) => field.mode !== 'off')
  const list = readersOf(fields, `${mask.table.name}.`, keep)
  const collect = linkCollector(fields)
  return {
    block: emptyWire([...blockNames, ...wireKeysOf(fields)]),
    read(content, out, sink) {
      for (const read of list) read(content, out, sink)
    },
    linkPaths: linkPathsOf(fields, '$'),
    links(content) {
      const ids: number[] = []
      collect(content, ids)
      return ids
    },
    reverseColumns: fields.flatMap((field) => (field.kind === 'reverse' && field.column ? [field.column.id] : [])),
    inherited: fields
      .filter((field) => field.inherit && field.kind !== 'reverse')
      .map((field) =>
        field.kind === 'column'
          ? { key: field.column.key, wireKey: field.column.name, columns: [field.column] }
          : {
              key: (field as NestedField).table.key,
              wireKey: (field as NestedField).table.wireKey,
              columns: shownColumns((field as NestedField).fields),
            },
      ),
  }
}

function shownColumns(fields: readonly MaskField[]): Column[] {
  return fields.flatMap((field) => {
    if (field.mode === 'off' || field.kind === 'reverse') return []
    return field.kind === 'column' ? [field.column] : shownColumns(field.fields)
  })
}

function readersOf(fields: readonly MaskField[], prefix: string, keep: FieldFilter | undefined): FieldReader[] {
  return fields.flatMap((field) => {
    if (field.mode === 'off') return []
    const name = prefix + wireKeyOf(field)
    return keep && !keep(name) ? [] : [fieldReader(field, name, keep)]
  })
}

/** The names in a block besides its fields. */
const blockNames = ['_id', '_version', '_pool', '_id_parent', '_parents']

const wireKeysOf = (fields: readonly MaskField[]): string[] =>
  fields.filter(({ mode }) => mode !== 'off').map(wireKeyOf)

/**
 * Creates wire objects that have all their names from the beginning, with `undefined`, which is not answered. If an object gets
 * more than a dozen names one by one, V8 turns it into a hash table: it is written as JSON three times as slowly, and by the slow
 * path, everything around it, too.
 */
function emptyWire(names: readonly string[]): () => Wire {
  const empty = JSON.parse(JSON.stringify(Object.fromEntries(names.map((name) => [name, null])))) as Wire
  for (const name of names) empty[name] = undefined
  return () => ({ ...empty })
}

export function wireKeyOf(field: MaskField): string {
  if (field.kind === 'column') return field.column.name
  return field.kind === 'nested' ? field.table.wireKey : field.wireKey
}

function fieldReader(field: MaskField, name: string, keep: FieldFilter | undefined): FieldReader {
  if (field.kind === 'reverse') return (_content, out, sink) => sink.reverse(out, field.wireKey, field)
  if (field.kind === 'nested') return nestedReader(field, name, keep)
  switch (field.column.type) {
    case 'link':
      return linkReader(field)
    case 'eas':
      return filesReader(field)
    case 'text_l10n':
    case 'text_l10n_oneline':
      return localizedReader(field)
    case 'custom':
      return customReader(field)
    case 'boolean':
      return mayInherit(field) ? valueReader(field) : booleanReader(field)
    default:
      return valueReader(field)
  }
}

/** Most values are stored in the form of answers. */
function valueReader({ column: { key, name } }: ColumnField): FieldReader {
  return (content, out, sink) => {
    const value = content[key]
    if (value !== undefined) out[name] = value
    else if (sink.empty) out[name] = null
  }
}

/**
 * A boolean without value is false. One that may come from above has none until it is set, so that it still inherits when the answer is
 * sent back.
 */
function booleanReader({ column: { key, name } }: ColumnField): FieldReader {
  return (content, out) => {
    out[name] = content[key] ?? false
  }
}

function customReader({ column: { key, name } }: ColumnField): FieldReader {
  return (content, out, sink) => {
    const value = content[key]
    if (value !== undefined) out[name] = readExact(value)
    else if (sink.empty) out[name] = null
  }
}

function filesReader({ column: { key, name } }: ColumnField): FieldReader {
  return (content, out, sink) => {
    const files = content[key] as readonly FileEntry[] | undefined
    if (files !== undefined) {
      out[name] = files
      sink.files(out, name, files)
    } else if (sink.empty) out[name] = []
  }
}

function localizedReader({ column: { key, name } }: ColumnField): FieldReader {
  return (content, out, sink) => {
    const value = content[key] as Record<string, string> | undefined
    if (value !== undefined) out[name] = sink.languages ? inLanguages(value, sink.languages) : value
    else if (sink.empty) out[name] = {}
  }
}

/** The texts in the given languages; all texts when there is none in these, since any text is better than none. */
export function inLanguages(
  texts: Readonly<Record<string, string>>,
  languages: readonly string[],
): Record<string, string> {
  const found: Record<string, string> = {}
  let any = false
  for (const language of languages) {
    const text = texts[language]
    if (text === undefined) continue
    found[language] = text
    any = true
  }
  return any ? found : texts
}

function linkReader(field: ColumnField): FieldReader {
  const { key, name } = field.column
  return (content, out, sink) => {
    const target = content[key]
    if (target !== undefined) {
      out[name] = null
      sink.link(out, name, target as number, field)
    } else if (sink.empty) out[name] = null
  }
}

function nestedReader(field: NestedField, name: string, keep: FieldFilter | undefined): FieldReader {
  const { table } = field
  const list = readersOf(field.fields, `${name}.`, keep)
  const newRow = emptyWire(['_uuid', ...wireKeysOf(field.fields)])
  const { wireKey } = table
  return (content, out, sink) => {
    const rows = rowsOf(content, table)
    if (rows.length === 0) {
      if (sink.empty) out[wireKey] = []
      return
    }
    out[wireKey] = rows.map((row) => {
      const result = newRow()
      result._uuid = row._u
      for (const read of list) read(row, result, sink)
      return result
    })
    if (field.sort.length > 0 && rows.length > 1) sink.rows(out, wireKey, content, field)
  }
}

/** `$."12"`, `$."n5"."31"`: in lax mode a path goes through the rows of a nested table by itself. */
function linkPathsOf(fields: readonly MaskField[], prefix: string): string[] {
  return fields.flatMap((field) => {
    if (field.mode === 'off') return []
    if (field.kind === 'nested') return linkPathsOf(field.fields, `${prefix}."${field.table.key}"`)
    return field.kind === 'column' && field.column.type === 'link' ? [`${prefix}."${field.column.key}"`] : []
  })
}

type LinkCollector = (content: Content, ids: number[]) => void

function linkCollector(fields: readonly MaskField[]): LinkCollector {
  const keys = fields.flatMap((field) =>
    field.kind === 'column' && field.mode !== 'off' && field.column.type === 'link' ? [field.column.key] : [],
  )
  const nested = fields.flatMap((field) =>
    field.kind === 'nested' && field.mode !== 'off' && linkPathsOf(field.fields, '$').length > 0
      ? [{ table: field.table, collect: linkCollector(field.fields) }]
      : [],
  )
  return (content, ids) => {
    for (const key of keys) if (content[key] !== undefined) ids.push(content[key] as number)
    for (const { table, collect } of nested) for (const row of rowsOf(content, table)) collect(row, ids)
  }
}
