import type { Column, Table } from '../../datamodel/model.ts'
import { isObject } from '../manifest/reader.ts'

/**
 * Programs written for other services with this interface expect `""` for an empty text, where it is null here. A save
 * accepts both. So programs get `""`, and `""` in their answers becomes null again: otherwise each unchanged empty text
 * would look changed.
 */
type Block = Record<string, unknown>

const plain: ReadonlySet<Column['type']> = new Set(['text', 'text_oneline', 'string'])

/** The fields of an object, or of a row of a nested table, with `""` in place of empty texts. */
export function withEmptyTexts(table: Table, block: Block): Block {
  return mapTexts(table, block, (value) => value ?? '')
}

export function withoutEmptyTexts(table: Table, block: Block): Block {
  return mapTexts(table, block, (value) => (value === '' ? null : value))
}

function mapTexts(table: Table, block: Block, map: (value: unknown) => unknown): Block {
  const mapped = { ...block }
  for (const { name, type } of table.columns) {
    if (plain.has(type) && Object.hasOwn(block, name)) mapped[name] = map(block[name])
  }
  for (const nested of table.nested) {
    const rows = block[nested.wireKey]
    if (!Array.isArray(rows)) continue
    mapped[nested.wireKey] = rows.map((row: unknown) => (isObject(row) ? mapTexts(nested, row, map) : row))
  }
  return mapped
}
