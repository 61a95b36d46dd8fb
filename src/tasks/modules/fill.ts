/** Puts values from a file over those of an object, both in the form of the interface. */
import type { MaskField, NestedField } from '../../datamodel/model.ts'

export type Wire = Readonly<Record<string, unknown>>

export interface Filling {
  /** Fields with a value get the new one; otherwise only empty fields are filled. */
  readonly override: boolean
  /** Rows of nested tables are added to the existing ones. */
  readonly merge: boolean
}

/** The fields that change. */
export function filled(fields: readonly MaskField[], values: Wire, before: Wire, { override, merge }: Filling): Wire {
  const changes: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(values)) {
    const stored = before[key]
    const field = fields.find((one) => one.kind === 'nested' && one.table.wireKey === key) as NestedField | undefined
    if (isEmpty(stored)) changes[key] = value
    else if (field && merge) {
      const rows = stored as readonly Wire[]
      const added = (value as readonly Wire[]).filter((row) => !rows.some((other) => says(other, row)))
      if (added.length > 0) changes[key] = [...rows.map((row) => sendable(field, row)), ...added]
    } else if (override && !says(stored, value)) changes[key] = value
  }
  return changes
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true
  if (Array.isArray(value)) return value.length === 0
  return typeof value === 'object' && Object.values(value).every(isEmpty)
}

/** Whether the stored value contains the whole other value: links are compared by their targets. */
function says(stored: unknown, value: unknown): boolean {
  if (Array.isArray(value)) {
    const list = stored as readonly unknown[]
    return Array.isArray(stored) && list.length === value.length && value.every((one, index) => says(list[index], one))
  }
  if (typeof value !== 'object' || value === null) return stored === value
  if (typeof stored !== 'object' || stored === null) return false
  return Object.entries(value).every(([key, one]) => key === '_mask' || says((stored as Wire)[key], one))
}

/** A row in the form for a save: for files, a save accepts only members that belong to the object. */
function sendable({ fields }: NestedField, row: Wire): Wire {
  const sent: Record<string, unknown> = { ...row }
  for (const field of fields) {
    if (field.kind === 'nested' && Array.isArray(row[field.table.wireKey])) {
      sent[field.table.wireKey] = (row[field.table.wireKey] as Wire[]).map((inner) => sendable(field, inner))
    }
    if (field.kind !== 'column' || field.column.type !== 'eas' || !Array.isArray(row[field.column.name])) continue
    sent[field.column.name] = (row[field.column.name] as Wire[]).map(
      ({ _id, preferred = false, name, frontend_prefs }) => ({
        _id,
        preferred,
        ...(name === undefined ? {} : { name }),
        ...(frontend_prefs === undefined ? {} : { frontend_prefs }),
      }),
    )
  }
  return sent
}
