import { SheetError } from '../limits.ts'
import { type ImportedColumn, importedColumns, type Mapping } from '../plan/mapping.ts'
import { columnNamed, isList, isUnique, type StoredModel, tableOf, targetOf, type WireTable } from './model.ts'

/** Column types in which cells of one type can be stored. */
const families: readonly (readonly string[])[] = [
  ['text', 'text_oneline', 'string'],
  ['text_l10n', 'text_l10n_oneline'],
  ['number', 'integer.2', 'double'],
  ['boolean'],
  ['date', 'datetime', 'daterange'],
  ['file', 'eas', 'files'],
]

/** A column that exists in the service, or will be created. */
export interface FittedColumn {
  readonly mapping: ImportedColumn
  /** The type of the values. */
  readonly type: string
}

/**
 * Compares the mapping with the existing object types: returns the columns that match, and the types that must be created.
 * @throws {SheetError} with all mismatches: existing types are never changed.
 */
export function fit(mapping: Mapping, model: StoredModel): { columns: FittedColumn[]; missing: string[] } {
  const faults: string[] = []
  const missing: string[] = []
  const main = tableOf(model, mapping.type)
  const columns = importedColumns(mapping)
  if (main) faults.push(...keyFaults(mapping, main), ...maskFaults(mapping, main, model))
  else missing.push(mapping.type)
  const fitted = columns.map((column) => {
    const type = main ? storedType(column, main, model, faults) : column.type
    return { mapping: column, type }
  })
  for (const { list } of columns) {
    if (!list || missing.includes(list.type)) continue
    const table = tableOf(model, list.type)
    if (!table) missing.push(list.type)
    else if (!isList(table, list.column)) {
      faults.push(`"${list.type}" has no text "${list.column}" that is unique and all that it needs`)
    }
  }
  if (faults.length > 0) {
    const list = [...new Set(faults)].map((fault) => `\n  ${fault}`).join('')
    throw new SheetError(`the mapping does not fit the object types of the service:${list}`)
  }
  return { columns: fitted, missing }
}

function keyFaults(mapping: Mapping, main: WireTable): string[] {
  if (main.owned_by) return [`"${main.name}" is a nested table`]
  const faults: string[] = []
  const key = columnNamed(main, mapping.key.column)
  if (!key || !isUnique(main, key)) {
    faults.push(`"${main.name}" has no unique key of the column "${mapping.key.column}", by which rows are found again`)
  }
  if (main.pool_link && mapping.pool === undefined) {
    faults.push(`objects of "${main.name}" are in pools: say which one by "pool", its reference or number`)
  }
  return faults
}

function maskFaults({ mask }: Mapping, main: WireTable, { masks }: StoredModel): string[] {
  if (mask === undefined || mask === '_all_fields') return []
  const found = masks.some(({ name, table_id }) => name === mask && table_id === main.table_id)
  return found ? [] : [`"${main.name}" has no mask "${mask}"`]
}

function storedType(column: ImportedColumn, main: WireTable, model: StoredModel, faults: string[]): string {
  const { type, column: name, list, separator } = column
  const place = `"${main.name}" has no`
  if (type === 'parent') {
    if (!main.is_hierarchical && !main.polyhierarchical) faults.push(`${place} hierarchy`)
    return type
  }
  if (type === 'link' && separator !== undefined) {
    const nested = tableOf(model, name)
    const link = nested && columnNamed(nested, list?.link ?? '')
    const fits =
      nested?.owned_by?.other_table_id === main.table_id && link && targetOf(model, nested, link) === list?.type
    if (!fits) faults.push(`${place} nested table "${name}" with a link "${list?.link}" to "${list?.type}"`)
    return type
  }
  const there = columnNamed(main, name)
  if (type === 'link') {
    if (!there || targetOf(model, main, there) !== list?.type) faults.push(`${place} link "${name}" to "${list?.type}"`)
    return type
  }
  const family = families.find((types) => types.includes(type)) ?? []
  if (!there || !family.includes(there.type ?? '')) {
    faults.push(`${place} column "${name}" for ${type}${there ? `: it is ${there.type}` : ''}`)
    return type
  }
  return there.type === 'eas' || there.type === 'files' ? 'file' : (there.type ?? type)
}
