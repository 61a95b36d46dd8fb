import {
  columnNamed,
  isList,
  isUnique,
  type StoredModel,
  targetOf,
  type WireColumn,
  type WireTable,
} from '../load/model.ts'
import { type CellType, type ColumnMapping, cellTypes } from './mapping.ts'
import { identifierOf } from './names.ts'
import type { Proposal } from './proposal.ts'

/**
 * The proposal for an existing object type: columns are mapped to columns of the same name, others are left out. The type gets no
 * new columns.
 */
export function proposeOnto({ mapping, reasons }: Proposal, table: WireTable, model: StoredModel): Proposal {
  const told = new Map(reasons)
  const taken = new Set<string>()
  const columns = mapping.columns.map((column): ColumnMapping => {
    const found = placeFor(column, table)
    const type = found && cellTypeOf(found, table, model)
    if (!found?.name || !type || taken.has(found.name)) {
      told.set(column.heading, `"${table.name}" has no column like it`)
      return { ...column, ignore: true }
    }
    taken.add(found.name)
    told.set(column.heading, `"${table.name}" has a column ${found.name}: ${found.type}`)
    const { heading, decimal, order, language } = column
    return {
      heading,
      column: found.name,
      ...type,
      ...(decimal ? { decimal } : {}),
      ...(order ? { order } : {}),
      ...(language && type.type?.startsWith('text_l10n') ? { language } : {}),
    }
  })
  return { mapping: { ...mapping, key: keyOf(columns, table) ?? mapping.key, columns }, reasons: told }
}

function placeFor({ heading, column }: ColumnMapping, table: WireTable): WireColumn | undefined {
  const byName = columnNamed(table, identifierOf(heading)) ?? columnNamed(table, column ?? '')
  const lower = heading.toLowerCase()
  return (
    byName ??
    table.columns.find(({ name_localized: names = {} }) =>
      Object.values(names).some((name) => name.toLowerCase() === lower),
    )
  )
}

/** A cell has the type of its column, but for links, which need a list, and for files and parents, which are no types of columns. */
const simple: ReadonlyMap<string, CellType> = new Map([
  ...cellTypes.filter((type) => !['link', 'file', 'parent'].includes(type)).map((type) => [type, type] as const),
  ['eas', 'file'],
  ['files', 'file'],
])

/** The conversion of cells to values of the column; undefined for values that a cell cannot express. */
function cellTypeOf(
  column: WireColumn,
  table: WireTable,
  model: StoredModel,
): Pick<ColumnMapping, 'type' | 'list'> | undefined {
  const type = simple.get(column.type ?? '')
  if (type) return { type }
  const target = column.type === 'link' ? targetOf(model, table, column) : undefined
  const list = model.tables.find(({ name }) => name === target)
  const key = list?.columns.find(({ name }) => name !== undefined && isList(list, name))
  return list && key?.name ? { type: 'link', list: { type: list.name, column: key.name } } : undefined
}

/** The first column that is unique in the type. */
function keyOf(columns: readonly ColumnMapping[], table: WireTable): { column: string } | null {
  const key = columns.find(({ column, ignore }) => {
    const stored = ignore ? undefined : columnNamed(table, column ?? '')
    return stored !== undefined && isUnique(table, stored)
  })
  return key?.column === undefined ? null : { column: key.column }
}
