import type { Column, NestedField } from '../../datamodel/model.ts'
import { parseDate } from '../../platform/values/dates.ts'
import type { ContentRow } from '../stored/content.ts'

/** The title of a linked object, for rows that are sorted by it. */
export type LinkText = (systemObjectId: number) => string | undefined

const collator = new Intl.Collator('und', { numeric: true })

/**
 * Rows in the order of the mask (`nested_sort`), rows without the value last; the stored order decides between equal
 * ones and stays as it is where the mask names no order.
 */
export function sortRows(field: NestedField, rows: readonly ContentRow[], linkText: LinkText): readonly ContentRow[] {
  if (field.sort.length === 0 || rows.length < 2) return rows
  const keyed = rows.map((row) => ({ row, keys: field.sort.map((by) => sortKey(by.column, row, linkText)) }))
  keyed.sort((a, b) => {
    for (const [index, by] of field.sort.entries()) {
      const order = compareKeys(a.keys[index], b.keys[index], by.descending)
      if (order !== 0) return order
    }
    return 0
  })
  return keyed.map((entry) => entry.row)
}

type SortKey = number | bigint | string | undefined

function sortKey(column: Column, row: ContentRow, linkText: LinkText): SortKey {
  const value = row[column.key]
  if (value === undefined) return undefined
  if (column.type === 'link') return linkText(value as number)
  if (column.type === 'boolean') return value ? 1 : 0
  if (typeof value === 'number' || typeof value === 'string') return value
  if (column.type === 'date' || column.type === 'datetime') return instant((value as { value: string }).value)
  if (column.type === 'daterange') {
    const range = value as { from?: string; to?: string }
    return instant(range.from ?? range.to)
  }
  if (column.type === 'text_l10n' || column.type === 'text_l10n_oneline') {
    const [first] = Object.values(value as Record<string, string>)
    return first
  }
  return undefined
}

function instant(date: string | undefined): bigint | undefined {
  return date === undefined ? undefined : parseDate(date)?.from
}

function compareKeys(a: SortKey, b: SortKey, descending: boolean): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined)
  const order =
    typeof a === 'string' || typeof b === 'string'
      ? collator.compare(String(a), String(b))
      : Number(a > b) - Number(a < b)
  return descending ? -order : order
}
