import type { ColumnField, Mask, MaskField, NestedField } from '../../datamodel/model.ts'
import { AppError } from '../../platform/errors.ts'
import { type LinkRef, parseLink } from '../content/link-ref.ts'
import { invalidValue, isRecord, isUuid, storedValue } from '../content/values.ts'
import type { Content, ContentRow } from '../stored/content.ts'
import { mayInherit } from './inherited-columns.ts'

/** A place in a content that waits for its link to be resolved. */
export interface Holder {
  readonly target: LinkRef
  readonly holder: Content
  readonly key: string
}

interface ReadContext {
  readonly place: string
  readonly links: Holder[]
}

/**
 * The writable fields of a mask, prepared once per mask: `read` takes the values of a payload, `merge` puts them over the stored
 * content.
 */
export interface Writer {
  /** Values of the writable fields that the block has. Links are registered in `links` and filled in later. */
  read(block: Record<string, unknown>, context: ReadContext): Content
  /**
   * The new content: writable fields as written, absent ones cleared (a save replaces all writable fields of its mask); all others
   * as stored. New nested rows get a uuid. `partial`: absent ones are kept, too.
   * @throws {AppError} `FieldNotWritable` when an append-only or remove-only table is changed otherwise.
   */
  merge(written: Content, stored: Content | null, place: string, partial?: boolean): Content
}

const writers = new WeakMap<Mask, Writer>()

export function writerOf(mask: Mask): Writer {
  let writer = writers.get(mask)
  if (!writer) {
    writer = fieldsWriter(mask.fields)
    writers.set(mask, writer)
  }
  return writer
}

const rowWriters = new WeakMap<NestedField, Writer>()

/** The same for the rows of a nested table. */
export function rowWriterOf(field: NestedField): Writer {
  let writer = rowWriters.get(field)
  if (!writer) {
    writer = fieldsWriter(field.fields)
    rowWriters.set(field, writer)
  }
  return writer
}

function fieldsWriter(fields: readonly MaskField[]): Writer {
  const columns = fields.filter((field): field is ColumnField => field.kind === 'column' && field.mode === 'edit')
  const tables = fields
    .filter((field): field is NestedField => field.kind === 'nested' && field.mode === 'edit')
    .map((field) => ({ field, rows: rowWriterOf(field) }))
  const written = new Set([...columns.map((field) => field.column.key), ...tables.map(({ field }) => field.table.key)])
  const defaults = columns.filter((field) => field.defaultValue !== undefined)

  return {
    read(block, context) {
      const content: Content = {}
      for (const field of columns) readColumn(field, block, content, context)
      for (const { field, rows } of tables) readRows(field, rows, block, content, context)
      return content
    },
    merge(values, stored, place, partial = false) {
      const content: Content = {}
      const stays = (key: string): boolean => !written.has(key) || (partial && !(key in values))
      if (stored) for (const key in stored) if (stays(key)) content[key] = stored[key]
      for (const field of columns) {
        const { key } = field.column
        const value = values[key]
        if (value === undefined || value === null) continue
        // A boolean without value is answered as false: sent back, it is no change.
        if (value === false && stored && !(key in stored) && !mayInherit(field)) continue
        content[key] = value
      }
      if (!stored) {
        for (const field of defaults) {
          const { key } = field.column
          if (!(key in values))
            content[key] = storedValue(field.column, field.defaultValue, `${place}.${field.column.name}`)
        }
      }
      for (const { field, rows } of tables) {
        if (stored && stays(field.table.key)) continue
        const merged = mergeRows(field, rows, values, stored, place)
        if (merged.length > 0) content[field.table.key] = merged
      }
      return content
    },
  }
}

/** A key with null marks a field that was sent empty, so that a default does not fill it. */
function readColumn(
  field: ColumnField,
  block: Record<string, unknown>,
  content: Content,
  { place, links }: ReadContext,
): void {
  const { column } = field
  const value = block[column.name]
  if (value === undefined) return
  if (column.type === 'link' && column.target) {
    content[column.key] = null
    if (value !== null) {
      const target = parseLink(column.target, value, `${place}.${column.name}`)
      links.push({ target, holder: content, key: column.key })
    }
    return
  }
  content[column.key] = storedValue(column, value, `${place}.${column.name}`) ?? null
}

function readRows(
  field: NestedField,
  rows: Writer,
  block: Record<string, unknown>,
  content: Content,
  { place, links }: ReadContext,
): void {
  const { table } = field
  const value = block[table.wireKey]
  if (value === undefined) return
  if (value === null) {
    content[table.key] = []
    return
  }
  const at = `${place}.${table.wireKey}`
  if (!Array.isArray(value)) throw invalidValue(at, value, 'a list of rows')
  content[table.key] = value.map((row, index): Content => {
    const where = `${at}.${index}`
    if (!isRecord(row)) throw invalidValue(where, row, 'a row')
    const result = rows.read(row, { place: where, links })
    if (row._uuid !== undefined && row._uuid !== null) {
      if (!isUuid(row._uuid)) {
        throw invalidValue(`${where}._uuid`, row._uuid, 'a unique identifier')
      }
      result._u = row._uuid
    }
    return result
  })
}

function mergeRows(
  field: NestedField,
  rows: Writer,
  values: Content,
  stored: Content | null,
  place: string,
): ContentRow[] {
  const { table } = field
  const before = (stored?.[table.key] as ContentRow[] | undefined) ?? []
  const after = (values[table.key] as Content[] | undefined) ?? []
  const byUuid = new Map(before.map((row) => [row._u, row]))
  const at = `${place}.${table.wireKey}`
  const merged = after.map((row, index): ContentRow => {
    const uuid = row._u as string | undefined
    const old = uuid === undefined ? undefined : byUuid.get(uuid)
    const content = rows.merge(row, old ?? null, `${at}.${index}`)
    return Object.assign(content, { _u: uuid ?? crypto.randomUUID() }) as ContentRow
  })
  assertRowsWritable(field, before, merged, at)
  return merged
}

/**
 * Rows of a table where they can only be added, or only be removed.
 * @throws {AppError} `FieldNotWritable` when they are changed otherwise.
 */
export function assertRowsWritable(
  field: NestedField,
  before: readonly ContentRow[],
  after: readonly ContentRow[],
  place: string,
): void {
  const { appendOnly, removeOnly } = field
  if (!appendOnly && !removeOnly) return
  const byUuid = new Map(before.map((row) => [row._u, row]))
  for (const [index, row] of after.entries()) {
    const old = byUuid.get(row._u)
    if (!old && removeOnly) throw notWritable(`${place}.${index}`, field, 'rows can only be removed')
    if (old && !sameContent(old, row)) {
      throw notWritable(`${place}.${index}`, field, `rows can only be ${appendOnly ? 'added' : 'removed'}`)
    }
  }
  if (!appendOnly) return
  const kept = new Set(after.map((row) => row._u))
  if (before.some((row) => !kept.has(row._u))) throw notWritable(place, field, 'rows can only be added')
}

/** Deep equality of contents; the order of keys does not count. */
export function sameContent(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((value, index) => sameContent(value, b[index]))
  }
  if (!isRecord(a) || !isRecord(b)) return false
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every((key) => key in b && sameContent(a[key], b[key]))
}

function notWritable(place: string, field: NestedField, reason: string): AppError {
  return new AppError(
    'FieldNotWritable',
    { name: place, field: field.table.wireKey },
    { message: `${place}: ${reason}` },
  )
}
