import { patternBudget } from '../../platform/values/patterns.ts'
import { limits } from '../limits.ts'
import type { SchemaApi, SchemaTableApi } from '../schema.ts'
import { type SchemaIndex, validateColumn } from './columns.ts'
import { checkIdentifier, type DocumentPath, inconsistent, wrongPlace } from './document-path.ts'
import { refuseTwinPairs, validateKeys } from './keys.ts'

/** Refuses documents that are too large to be examined; runs before all other checks. */
export function checkSchemaSize(schema: SchemaApi): void {
  if (schema.tables.length > limits.tables) {
    throw inconsistent({ path: 'tables' }, `there are more than ${limits.tables} tables`)
  }
  let total = 0
  for (const [at, table] of schema.tables.entries()) {
    const lists = [table.columns, table.foreign_keys, table.unique_keys, table.bidirectional]
    if (lists.some((list) => (list?.length ?? 0) > limits.columnsPerTable)) {
      throw inconsistent(
        { path: `tables[${at}]`, table: table.name },
        `a table has at most ${limits.columnsPerTable} columns, and as many keys`,
      )
    }
    total += table.columns?.length ?? 0
  }
  if (total > limits.columns) throw inconsistent({ path: 'tables' }, `there are more than ${limits.columns} columns`)
}

/**
 * Refuses an invalid normalised snapshot. Reports the first invalid place.
 *
 * @throws {AppError} `SchemaDuplicateObjecttypeName`, `InvalidIdentifier`, `UnknownColumnType`, `SchemaLoopingReverse`
 * or `SchemaInconsistent`, each with `parameters.path`.
 */
export function validateSchema(schema: SchemaApi): void {
  const index = indexTables(schema)
  for (const [at, table] of schema.tables.entries())
    validateTable(table, { path: `tables[${at}]`, table: table.name }, index)
  for (const [at, table] of schema.tables.entries()) {
    const place = { path: `tables[${at}]`, table: table.name }
    for (const [columnAt, column] of (table.columns ?? []).entries()) {
      validateColumn(
        column,
        table,
        { ...place, path: `${place.path}.columns[${columnAt}]`, column: column.name ?? '' },
        index,
      )
    }
    validateKeys(table, place, index)
  }
  refuseTwinPairs(schema.tables)
  refuseLoopingReverses(schema, index)
}

/** Names and ids, which all other checks rely on. */
function indexTables(schema: SchemaApi): SchemaIndex {
  const tables = new Map<number, SchemaTableApi>()
  const names = new Map<string, number>()
  const columns = new Map<number, { table: SchemaTableApi; column: NonNullable<SchemaTableApi['columns']>[number] }>()
  for (const [at, table] of schema.tables.entries()) {
    const place = { path: `tables[${at}]`, table: table.name }
    checkIdentifier(table.name, { ...place, path: `${place.path}.name` }, table.owned_by ? 128 : 63)
    const first = names.get(table.name)
    if (first !== undefined) {
      throw wrongPlace(
        'SchemaDuplicateObjecttypeName',
        { ...place, path: `${place.path}.name` },
        `tables[${first}] has the same name`,
        { name: table.name },
      )
    }
    names.set(table.name, at)
    const id = table.table_id ?? 0
    if (tables.has(id))
      throw inconsistent({ ...place, path: `${place.path}.table_id` }, `the id ${id} is used twice`, { table_id: id })
    tables.set(id, table)
    for (const [columnAt, column] of (table.columns ?? []).entries()) {
      const columnId = column.column_id ?? 0
      const columnPlace = { ...place, path: `${place.path}.columns[${columnAt}].column_id`, column: column.name ?? '' }
      if (columns.has(columnId))
        throw inconsistent(columnPlace, `the id ${columnId} is used twice`, { column_id: columnId })
      columns.set(columnId, { table, column })
    }
  }
  return { tables, columns, patterns: patternBudget({ total: limits.patterns }) }
}

function validateTable(table: SchemaTableApi, place: DocumentPath, index: SchemaIndex): void {
  const at = (member: string): DocumentPath => ({ ...place, path: `${place.path}.${member}` })
  if (table.is_hierarchical && table.polyhierarchical) {
    throw inconsistent(at('polyhierarchical'), 'an object type is hierarchical or polyhierarchical, not both')
  }
  if (table.polyhierarchical && table.acl_table) {
    throw inconsistent(at('acl_table'), 'objects of a polyhierarchy cannot have permissions of their own')
  }
  if (!table.owned_by) return
  const owner = index.tables.get(table.owned_by.other_table_id ?? 0)
  if (!owner) {
    throw inconsistent(at('owned_by.other_table_id'), 'the owner does not exist', {
      other_table_id: table.owned_by.other_table_id ?? null,
    })
  }
  for (const flag of ['pool_link', 'acl_table', 'has_tags', 'is_hierarchical', 'polyhierarchical'] as const) {
    if (table[flag]) throw inconsistent(at(flag), 'a nested table is part of its object and has none of its own')
  }
  refuseOwnershipCycle(table, at('owned_by'), index)
  const entries = (owner.columns ?? []).filter((c) => c.kind === 'link' && c.other_table_id === table.table_id)
  if (entries.length !== 1) {
    throw inconsistent(at('owned_by'), `the owner ${owner.name} has ${entries.length} entries of this table, not one`)
  }
}

function refuseOwnershipCycle(table: SchemaTableApi, place: DocumentPath, index: SchemaIndex): void {
  const seen = new Set<SchemaTableApi>()
  for (let current: SchemaTableApi | undefined = table; current; ) {
    if (seen.has(current)) throw inconsistent(place, 'the table owns itself, directly or through others')
    seen.add(current)
    if (seen.size > limits.ownershipDepth) {
      throw inconsistent(place, `tables are nested deeper than ${limits.ownershipDepth} levels`)
    }
    current = current.owned_by ? index.tables.get(current.owned_by.other_table_id ?? 0) : undefined
  }
}

/**
 * A `reverse_edit` link makes its target the owner of the linking objects. Owners in a circle would own each other; a type that
 * owns objects of its own type is a hierarchy.
 */
function refuseLoopingReverses(schema: SchemaApi, index: SchemaIndex): void {
  const owned = new Map<number, { to: number; place: DocumentPath }[]>()
  for (const [at, table] of schema.tables.entries()) {
    for (const [columnAt, column] of (table.columns ?? []).entries()) {
      if (column.kind !== 'reverse_link' || column.is_hierarchical) continue
      const place = {
        path: `tables[${at}].columns[${columnAt}]`,
        table: table.name,
        column: column.other_column_name_hint ?? '',
      }
      const list = owned.get(table.table_id ?? 0) ?? []
      owned.set(table.table_id ?? 0, [...list, { to: column.other_table_id ?? 0, place }])
    }
  }
  const done = new Set<number>()
  for (const start of owned.keys()) {
    // Depth first without recursion: a chain may be as long as there are tables.
    const path = new Set<number>()
    const stack: { id: number; leave: boolean; place: DocumentPath | null }[] = [
      { id: start, leave: false, place: null },
    ]
    for (let step = stack.pop(); step; step = stack.pop()) {
      if (step.leave) {
        path.delete(step.id)
        done.add(step.id)
        continue
      }
      if (path.has(step.id) && step.place) {
        const names = [...path].map((id) => index.tables.get(id)?.name ?? String(id))
        throw wrongPlace('SchemaLoopingReverse', step.place, 'reverse links lead back to their own object type', {
          objecttypes: names,
        })
      }
      if (done.has(step.id)) continue
      path.add(step.id)
      stack.push({ ...step, leave: true })
      for (const edge of owned.get(step.id) ?? []) stack.push({ id: edge.to, leave: false, place: edge.place })
    }
  }
}
