import { columnTypeOf, uniqueTypes } from '../columns.ts'
import type { ColumnApi, SchemaTableApi } from '../schema.ts'
import type { SchemaIndex } from './columns.ts'
import { type DocumentPath, inconsistent } from './document-path.ts'

const deleteActions = new Set(['restrict', 'cascade', 'setnull'])
const updateActions = new Set(['restrict', 'cascade', 'setnull', 'noaction'])

/** Foreign keys, unique keys and bidirectional pairs of one table. */
export function validateKeys(table: SchemaTableApi, place: DocumentPath, index: SchemaIndex): void {
  for (const [at, key] of (table.foreign_keys ?? []).entries()) {
    const here = { ...place, path: `${place.path}.foreign_keys[${at}]` }
    if (!deleteActions.has(key.on_delete ?? '')) {
      throw inconsistent({ ...here, path: `${here.path}.on_delete` }, 'is restrict, cascade or setnull', {
        on_delete: key.on_delete,
      })
    }
    if (!updateActions.has(key.on_update ?? '')) {
      throw inconsistent({ ...here, path: `${here.path}.on_update` }, 'is restrict, cascade, setnull or no action', {
        on_update: key.on_update,
      })
    }
    if (key.columns.length !== 1)
      throw inconsistent({ ...here, path: `${here.path}.columns` }, 'a foreign key has one column')
    const target = key.referenced_table.columns ?? []
    if (target.length !== 1 || target[0]?.auto_column_primary_key !== true) {
      const path = `${here.path}.referenced_table.columns`
      throw inconsistent({ ...here, path }, 'a link leads to the primary key: {"auto_column_primary_key": true}')
    }
    const column = ownColumn(table, key.columns[0]?.column_id, { ...here, path: `${here.path}.columns[0]` })
    if (column.type !== 'link')
      throw inconsistent({ ...here, path: `${here.path}.columns[0]` }, `${column.name} is no link column`)
  }
  for (const [at, key] of (table.unique_keys ?? []).entries()) {
    validateUniqueKey(key, table, { ...place, path: `${place.path}.unique_keys[${at}]` })
  }
  refuseTwinKeys(table, place)
  for (const [at, pair] of (table.bidirectional ?? []).entries()) {
    validateBidirectional(pair, table, { ...place, path: `${place.path}.bidirectional[${at}]` }, index)
  }
}

/** A column has at most one opposite, so it is in one pair of the whole snapshot. A reverse half must be in a pair. */
export function refuseTwinPairs(tables: readonly SchemaTableApi[]): void {
  const seen = new Map<number, string>()
  for (const [at, table] of tables.entries()) {
    for (const [pairAt, pair] of (table.bidirectional ?? []).entries()) {
      const path = `tables[${at}].bidirectional[${pairAt}]`
      for (const { column_id: id } of pair.columns) {
        const other = id === undefined ? undefined : seen.get(id)
        if (other !== undefined)
          throw inconsistent({ path, table: table.name }, `the column ${id} is in ${other} already`)
        if (id !== undefined) seen.set(id, path)
      }
    }
  }
  for (const [at, table] of tables.entries()) {
    for (const [columnAt, column] of (table.columns ?? []).entries()) {
      if (!column.bidirectional_reverse || seen.has(column.column_id ?? 0)) continue
      const path = `tables[${at}].columns[${columnAt}].bidirectional_reverse`
      throw inconsistent({ path, table: table.name }, `${column.name} is in no pair of bidirectional`)
    }
  }
}

function ownColumn(table: SchemaTableApi, id: number | undefined, place: DocumentPath): ColumnApi {
  const column = (table.columns ?? []).find((candidate) => candidate.kind === 'column' && candidate.column_id === id)
  if (!column) throw inconsistent(place, `the table ${table.name} has no such column`, { column_id: id ?? null })
  return column
}

type UniqueKey = NonNullable<SchemaTableApi['unique_keys']>[number]

function validateUniqueKey(key: UniqueKey, table: SchemaTableApi, place: DocumentPath): void {
  let values = 0
  for (const [at, reference] of key.columns.entries()) {
    const here = { ...place, path: `${place.path}.columns[${at}]` }
    if (reference.auto_column_parent) {
      if (!table.is_hierarchical && !table.polyhierarchical)
        throw inconsistent(here, 'auto_column_parent needs a hierarchy')
      continue
    }
    if (reference.auto_column_uplink) {
      if (!table.owned_by) throw inconsistent(here, 'auto_column_uplink needs a nested table')
      continue
    }
    const column = ownColumn(table, reference.column_id, here)
    const type = columnTypeOf(column.type)
    if (!type || !uniqueTypes.has(type)) {
      throw inconsistent(here, `values of type ${column.type} cannot be in a unique key`, { type: column.type })
    }
    values++
  }
  if (values === 0 && !key.group)
    throw inconsistent({ ...place, path: `${place.path}.columns` }, 'a unique key needs a column')
}

/** Two keys over the same columns would have the same id. Keys of a group count as one key. */
function refuseTwinKeys(table: SchemaTableApi, place: DocumentPath): void {
  const groups = new Map<string, { ids: Set<string>; at: number }>()
  for (const [at, key] of (table.unique_keys ?? []).entries()) {
    const name = key.group ? `group ${key.group}` : `single ${at}`
    const group = groups.get(name) ?? { ids: new Set<string>(), at }
    for (const r of key.columns) {
      group.ids.add(r.auto_column_parent ? 'parent' : r.auto_column_uplink ? 'uplink' : String(r.column_id))
    }
    groups.set(name, group)
  }
  const seen = new Map<string, number>()
  for (const { ids, at } of groups.values()) {
    const here = { ...place, path: `${place.path}.unique_keys[${at}]` }
    if (![...ids].some((id) => id !== 'parent' && id !== 'uplink'))
      throw inconsistent(here, 'a unique key needs a column')
    const meaning = [...ids].sort().join()
    const twin = seen.get(meaning)
    if (twin !== undefined) throw inconsistent(here, `is the same as unique_keys[${twin}]`)
    seen.set(meaning, at)
  }
}

type Bidirectional = NonNullable<SchemaTableApi['bidirectional']>[number]

/**
 * One link column (beside `auto_column_uplink` in a nested table) pairs with itself and links its object type with
 * itself; two link columns pair with each other and each links to the object type of the other.
 */
function validateBidirectional(
  pair: Bidirectional,
  table: SchemaTableApi,
  place: DocumentPath,
  index: SchemaIndex,
): void {
  const references = pair.columns.filter((reference) => !reference.auto_column_uplink)
  const at = { ...place, path: `${place.path}.columns` }
  if (references.length < 1 || references.length > 2) throw inconsistent(at, 'a pair has one or two link columns')
  if (pair.columns.length > references.length && !table.owned_by) {
    throw inconsistent(at, 'auto_column_uplink needs a nested table')
  }
  const sides = references.map((reference) => {
    const found = index.columns.get(reference.column_id ?? 0)
    if (found?.column.kind !== 'column' || found.column.type !== 'link') {
      throw inconsistent(at, 'there is no such link column', { column_id: reference.column_id ?? null })
    }
    if (found.table.owned_by && index.tables.get(found.table.owned_by.other_table_id ?? 0)?.owned_by) {
      throw inconsistent(at, 'the link column is in the object type or in a nested table directly in it')
    }
    return { ...found, root: rootOf(found.table, index), target: targetOf(found.table, found.column) }
  })
  if (sides[0]?.table !== table) throw inconsistent(at, `the first column is one of ${table.name}`)
  const [first, second = first] = sides
  if (first.target !== second?.root.table_id || second?.target !== first.root.table_id) {
    throw inconsistent(at, 'the columns do not link their object types with each other')
  }
}

function rootOf(table: SchemaTableApi, index: SchemaIndex): SchemaTableApi {
  let root = table
  while (root.owned_by) root = index.tables.get(root.owned_by.other_table_id ?? 0) ?? { ...root, owned_by: undefined }
  return root
}

function targetOf(table: SchemaTableApi, column: ColumnApi): number | undefined {
  const key = table.foreign_keys?.find((k) => k.columns.some((r) => r.column_id === column.column_id))
  return key?.referenced_table.table_id
}
