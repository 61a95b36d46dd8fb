import { AppError } from '../../platform/errors.ts'
import type { Tx } from '../../platform/postgres/db.ts'
import { columnTypeOf } from '../columns.ts'
import type { Snapshot } from '../compile/model.ts'
import type { Column, Model, UniqueKey } from '../model.ts'
import type { ColumnApi, SchemaTableApi } from '../schema.ts'
import { formerColumns } from '../store.ts'
import { type DocumentPath, inconsistent } from '../validate/document-path.ts'
import { conversionOf } from './convert.ts'
import type { Difference } from './diff.ts'
import type { ColumnRule, CommitHooks, ConstraintChange, Conversion } from './hooks.ts'

/** Refuses changes that would give stored content another meaning: ids that move, or that are reused for another thing. */
export async function refuseReusedIds(
  tx: Tx,
  before: Snapshot,
  after: Snapshot,
  difference: Difference,
): Promise<void> {
  const oldTables = new Map(before.schema.tables.map((table) => [table.table_id, table]))
  const oldHome = new Map(
    before.schema.tables.flatMap((table) =>
      (table.columns ?? []).map((c) => [c.column_id, { table, kind: c.kind }] as const),
    ),
  )
  for (const [at, table] of after.schema.tables.entries()) {
    const place: DocumentPath = { path: `tables[${at}]`, table: table.name }
    const old = oldTables.get(table.table_id)
    if (old && old.owned_by?.other_table_id !== table.owned_by?.other_table_id) {
      throw inconsistent(
        { ...place, path: `${place.path}.owned_by` },
        'a table cannot get another owner; add a new table',
      )
    }
    for (const [columnAt, column] of (table.columns ?? []).entries()) {
      const home = oldHome.get(column.column_id)
      if (!home || (home.kind === column.kind && home.table.table_id === table.table_id)) continue
      throw inconsistent(
        { ...place, path: `${place.path}.columns[${columnAt}].column_id`, column: column.name ?? '' },
        `the id ${column.column_id} belongs to another column of ${home.table.name}`,
        { column_id: column.column_id },
      )
    }
  }
  await refuseRevivedColumns(tx, before, difference)
}

/** A removed column may be restored with its id and its old values, but not as a column of another type or table. */
async function refuseRevivedColumns(tx: Tx, before: Snapshot, difference: Difference): Promise<void> {
  const old = difference.addedColumns.filter(
    ({ column }) => (column.column_id ?? 0) <= (before.schema.max_column_id ?? 0),
  )
  if (old.length === 0) return
  const added = new Map(old.map((entry) => [entry.column.column_id, entry]))
  for (const former of await formerColumns(
    tx,
    old.map(({ column }) => column.column_id ?? 0),
  )) {
    const entry = added.get(former.columnId)
    const sameType = columnTypeOf(former.type ?? '') === columnTypeOf(entry?.column.type)
    if (!entry || (former.kind === 'column' && former.tableId === entry.table.table_id && sameType)) continue
    throw inconsistent(
      { path: 'tables', table: entry.table.name, column: entry.column.name ?? '' },
      `the id ${former.columnId} was another column in version ${former.version} and cannot be used again`,
      { column_id: former.columnId },
    )
  }
}

/** @throws {AppError} `ObjecttypeNotEmpty` for the first removed object type that has objects. */
export async function refuseRemovedObjects(tx: Tx, hooks: CommitHooks, difference: Difference): Promise<void> {
  const removed = difference.removedTables.filter((table) => !table.owned_by)
  if (removed.length === 0) return
  const counts = await hooks.countObjects(
    tx,
    removed.map((table) => table.table_id ?? 0),
  )
  for (const table of removed) {
    const count = counts.get(table.table_id ?? 0) ?? 0
    if (count === 0) continue
    throw new AppError(
      'ObjecttypeNotEmpty',
      { objecttype: table.name, table_id: table.table_id, count },
      { message: `The object type ${table.name} cannot be removed, it has ${count} objects (the trash included).` },
    )
  }
}

/**
 * The conversions that a commit has to make.
 *
 * @throws {AppError} `TypeChangeUnsupported` for the first type change that would lose data.
 */
export function conversionsOf(difference: Difference, before: Snapshot, model: Model, language: string): Conversion[] {
  const oldTargets = linkTargets(before.schema.tables)
  return difference.keptColumns.flatMap(({ table, before: old, after }): Conversion[] => {
    const column = model.columnsById.get(after.column_id ?? 0)
    const [from, to] = [typeName(old), typeName(after)]
    if (!column) return []
    const oldTarget = oldTargets.get(old.column_id ?? 0)
    if (from === to && (from !== 'link' || oldTarget === column.target?.id)) return []
    const convert = from === to ? null : conversionOf(from, to, language)
    if (!convert) throw unsupported(table, after, from, to)
    return [{ column, from, to, convert }]
  })
}

export function unsupported(
  table: Pick<SchemaTableApi, 'name'>,
  column: { readonly name?: string },
  from: string,
  to: string,
  count?: number,
): AppError {
  const reason =
    count === undefined
      ? from === to
        ? 'a link cannot lead to another object type'
        : 'values would be lost; add a new column instead'
      : `${count} objects have a value that has no equal in the new type`
  return new AppError(
    'TypeChangeUnsupported',
    { table: table.name, column: column.name ?? '', from, to, ...(count === undefined ? {} : { count }) },
    { message: `${table.name}.${column.name} cannot change from ${from} to ${to}: ${reason}.` },
  )
}

function typeName(column: ColumnApi): string {
  const type = columnTypeOf(column.type)
  return type === 'custom' ? (column.type ?? '') : (type ?? '')
}

function linkTargets(tables: readonly SchemaTableApi[]): Map<number, number> {
  return new Map(
    tables.flatMap((table) =>
      (table.foreign_keys ?? []).map(
        (key) => [key.columns[0]?.column_id ?? 0, key.referenced_table.table_id ?? 0] as const,
      ),
    ),
  )
}

export interface KeyChanges {
  readonly added: readonly UniqueKey[]
  readonly removed: readonly string[]
}

/** Unique keys to compute anew: new ones, and those with a column whose values are converted. */
export function keyChangesOf(before: Model, after: Model, conversions: readonly Conversion[]): KeyChanges {
  const converted = new Set(conversions.map((conversion) => conversion.column))
  const [old, next] = [keysOf(before), keysOf(after)]
  const added = [...next.values()].filter(
    (key) => !old.has(key.key) || key.columns.some((column) => converted.has(column)),
  )
  const removed = [...old.keys()].filter((key) => !next.has(key))
  return { added, removed: [...removed, ...added.map((key) => key.key).filter((key) => old.has(key))] }
}

function keysOf(model: Model): Map<string, UniqueKey> {
  const keys = [...model.tablesById.values()].flatMap((table) => table.uniqueKeys)
  return new Map(keys.map((key) => [key.key, key]))
}

/** Rules that stored objects may violate now: new and changed rules, where objects may exist already. */
export function constraintChangesOf(before: Model, after: Model, keys: KeyChanges): ConstraintChange[] {
  const changes: ConstraintChange[] = []
  for (const table of after.tablesById.values()) {
    const old = before.tablesById.get(table.id)
    if (!before.tablesById.has(table.root.id)) continue
    for (const column of table.columns) {
      const rules = changedRules(old?.columnByKey.get(column.key) ?? null, column)
      if (rules.length > 0 && old) changes.push({ kind: 'column', column, rules })
    }
    if (old && table.poolLink && !old.poolLink) changes.push({ kind: 'pool', table })
    if (table.hierarchical && old?.polyhierarchical) changes.push({ kind: 'single_parent', table })
  }
  for (const key of keys.added) if (before.tablesById.has(key.table.id)) changes.push({ kind: 'unique', key })
  return changes
}

function changedRules(before: Column | null, after: Column): ColumnRule[] {
  const [old, next] = [before?.constraints, after.constraints]
  const range = [next.rangeLower, next.rangeUpper, next.rangeLowerOpen, next.rangeUpperOpen]
  const oldRange = old ? [old.rangeLower, old.rangeUpper, old.rangeLowerOpen, old.rangeUpperOpen] : []
  const hasRange = next.rangeLower !== null || next.rangeUpper !== null
  const rules: [ColumnRule, boolean][] = [
    ['not_null', next.notNull && !old?.notNull],
    ['check', next.check !== null && next.check !== old?.check],
    [
      'check_regexp',
      next.regexp !== null && (next.regexp.source !== old?.regexp?.source || next.regexp.flags !== old.regexp.flags),
    ],
    ['check_range', hasRange && JSON.stringify(range) !== JSON.stringify(oldRange)],
    ['check_range_not_empty', next.rangeNotEmpty && !old?.rangeNotEmpty],
    [
      'length',
      (next.lengthMin ?? 0) > (old?.lengthMin ?? 0) ||
        (next.lengthMax ?? Number.POSITIVE_INFINITY) < (old?.lengthMax ?? Number.POSITIVE_INFINITY),
    ],
  ]
  return rules.filter(([, changed]) => changed).map(([rule]) => rule)
}
