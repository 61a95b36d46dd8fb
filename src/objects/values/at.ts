/** Values of a tree by their paths in the datamodel. */
import type { Column, Table } from '../../datamodel/model.ts'
import type { FieldTree, ObjectTree } from './tree.ts'

/** A path in the current datamodel. */
export interface FieldPath {
  /** The object type. */
  readonly root: Table
  /** Nested tables from the outside in. */
  readonly nested: readonly Table[]
  /** The column that links to the object with `column`. */
  readonly link: Column | null
  /** `null`: the id of the object. */
  readonly column: Column | null
}

/** A value with its column; texts in several languages are one value. */
export interface ColumnValue {
  readonly column: Column
  readonly value: unknown
}

/** The values at a path, in their order; for several rows the values of each. Values that the object does not show are missing. */
export function valuesAt(tree: ObjectTree, { root, nested, link, column }: FieldPath): readonly ColumnValue[] {
  if (!column || tree.table.id !== root.id) return []
  let holders: readonly (readonly FieldTree[])[] = [tree.fields]
  for (const table of nested) holders = holders.flatMap((fields) => rowsOf(fields, table))
  if (link) holders = holders.flatMap((fields) => linkedFields(fields, link))
  return holders.flatMap((fields) => ownValue(fields, column))
}

/** The objects that are linked at a path, in their order, as far as the object shows them. */
export function linkedAt(tree: ObjectTree, { root, nested, link }: FieldPath): readonly ObjectTree[] {
  if (!link || tree.table.id !== root.id) return []
  const holders = nested.reduce<readonly (readonly FieldTree[])[]>(
    (above, table) => above.flatMap((fields) => rowsOf(fields, table)),
    [tree.fields],
  )
  return holders.flatMap((fields) =>
    fields.flatMap((field) => (field.kind === 'link' && field.column.id === link.id ? [field.object] : [])),
  )
}

function rowsOf(fields: readonly FieldTree[], table: Table): readonly (readonly FieldTree[])[] {
  return fields.flatMap((field) =>
    field.kind === 'rows' && field.table.id === table.id ? field.rows.map((row) => row.fields) : [],
  )
}

function linkedFields(fields: readonly FieldTree[], link: Column): readonly (readonly FieldTree[])[] {
  return fields.flatMap((field) => (field.kind === 'link' && field.column.id === link.id ? [field.object.fields] : []))
}

function ownValue(fields: readonly FieldTree[], column: Column): readonly ColumnValue[] {
  return fields.flatMap((field) => {
    if (field.kind === 'texts' && field.column.id === column.id) return [{ column: field.column, value: field.texts }]
    if (field.kind !== 'value' || field.column.id !== column.id || field.value === null) return []
    return [{ column: field.column, value: field.value }]
  })
}
