import type { Column, Table } from '../../datamodel/model.ts'

const known = new WeakMap<Table, ReadonlySet<Column>>()

/** Whether some mask lets the column take the value of an object above. Columns of nested tables come with their tables. */
export function mayInherit(column: Column): boolean {
  const { table } = column
  let columns = known.get(table)
  if (!columns) {
    columns = new Set(
      [...table.masks.values()].flatMap(({ fields }) =>
        fields.flatMap((field) => (field.kind === 'column' && field.inherit ? [field.column] : [])),
      ),
    )
    known.set(table, columns)
  }
  return columns.has(column)
}
