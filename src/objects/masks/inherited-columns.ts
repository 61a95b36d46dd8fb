import type { Column, ColumnField, Table } from '../../datamodel/model.ts'

const known = new WeakMap<Table, ReadonlySet<Column>>()

/** Whether this mask, or another one, lets the column take the value of an object above. Rows are inherited with their tables. */
export function mayInherit({ column, inherit }: ColumnField): boolean {
  if (inherit) return true
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
