/** Pools of objects that uploads make behind links (`linked_object_pools`), by the name of the link. */

import type { Column, Table } from '../datamodel/model.ts'
import { isRecord } from '../platform/values/records.ts'

/** A link of the object type or of a nested table of it, by its name in searches, with or without the object type. */
export function linkNamed(table: Table, name: string): Column | undefined {
  return [table, ...table.nested]
    .flatMap(({ columns }) => columns)
    .find(({ type, fullName }) => type === 'link' && (fullName === name || fullName === `${table.name}.${name}`))
}

/** The pool of an entry: `{"pool": {"_id": 3}}`, with `lookup:_id`, or `{"_id": 3}`; null: it names none. */
export function namedPool(entry: unknown): { readonly id?: number; readonly reference?: string } | null {
  const outer = membersOf(entry)
  const pool = membersOf(outer?.pool) ?? outer
  const { _id: id, 'lookup:_id': lookup } = pool ?? {}
  if (typeof id === 'number' && Number.isSafeInteger(id) && id > 0) return { id }
  const reference = membersOf(lookup)?.reference
  return (id === undefined || id === null) && typeof reference === 'string' ? { reference } : null
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> | null {
  return isRecord(value) ? value : null
}
