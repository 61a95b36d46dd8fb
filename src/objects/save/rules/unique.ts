import { createHash } from 'node:crypto'
import type { Column, Table, UniqueKey } from '../../../datamodel/model.ts'
import { composed } from '../../../platform/values/text.ts'
import { type Content, rowsOf } from '../../stored/content.ts'

/** A value that an object has in a unique key; `place` is its place in the request, for errors. */
export interface UniqueEntry {
  readonly key: UniqueKey
  readonly value: string
  readonly columns: Readonly<Record<string, unknown>>
}

/**
 * Maximum length of a value that is stored as it is; longer ones are stored as their hash, since the size of an index row is
 * limited.
 */
const maxPlain = 256

/**
 * The values that an object holds in the unique keys of its object type and of its nested tables. A key with an empty column has no
 * value, as in SQL.
 */
export function uniqueEntries(
  table: Table,
  content: Content,
  object: { readonly systemObjectId: number; readonly parents: readonly number[] },
): UniqueEntry[] {
  const entries: UniqueEntry[] = []
  collect(table, content, object, entries)
  return entries
}

const withIds = new WeakMap<Table, boolean>()

/** Whether keys of the object type or its nested tables contain ids of objects, which new ones get at the end of a save. */
export function keysHoldIds(table: Table): boolean {
  let found = withIds.get(table)
  if (found === undefined) {
    const own = table.uniqueKeys.some(
      (key) => key.withParent || key.withUplink || key.columns.some(({ type }) => type === 'link'),
    )
    found = own || table.nested.some(keysHoldIds)
    withIds.set(table, found)
  }
  return found
}

function collect(
  table: Table,
  content: Content,
  object: { readonly systemObjectId: number; readonly parents: readonly number[] },
  entries: UniqueEntry[],
): void {
  for (const key of table.uniqueKeys) {
    const scopes = key.withParent ? (object.parents.length > 0 ? object.parents : [0]) : [undefined]
    for (const parent of scopes) {
      const value = keyValue(key, content, parent, key.withUplink ? object.systemObjectId : undefined)
      if (value !== null) entries.push({ key, value, columns: columnsOf(key, content) })
    }
  }
  for (const nested of table.nested) {
    for (const row of rowsOf(content, nested)) collect(nested, row, object, entries)
  }
}

function keyValue(
  key: UniqueKey,
  content: Content,
  parent: number | undefined,
  uplink: number | undefined,
): string | null {
  const values: unknown[] = []
  for (const column of key.columns) {
    const value = content[column.key]
    if (value === undefined || value === null) return null
    values.push(value)
  }
  return uniqueValue([...(parent === undefined ? [] : [parent]), ...(uplink === undefined ? [] : [uplink]), ...values])
}

function columnsOf(key: UniqueKey, content: Content): Record<string, unknown> {
  return Object.fromEntries(key.columns.map((column) => [column.name, content[column.key]]))
}

/** The text for a combination of values in `object_unique`. */
export function uniqueValue(values: readonly unknown[]): string {
  // Texts that look the same are equal: they are compared in composed form.
  const text = JSON.stringify(values, (_key, value) => (typeof value === 'string' ? composed(value) : value))
  return text.length <= maxPlain ? text : `sha256:${createHash('sha256').update(text).digest('base64url')}`
}

/** The unique key with only this column, if there is one. */
export function lookupKey(column: Column): UniqueKey | undefined {
  return column.table.uniqueKeys.find(
    (key) => key.columns.length === 1 && key.columns[0] === column && !key.withParent && !key.withUplink,
  )
}
