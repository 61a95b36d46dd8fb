/** Fields that upload settings name: the field of files, and the one that names files. */
import type { Column, Table } from '../datamodel/model.ts'

/** A column of the object type or of its nested tables, by its name in searches, with or without the object type. */
function columnNamed(table: Table, name: string): Column | undefined {
  return [table, ...table.nested]
    .flatMap(({ columns }) => columns)
    .find(({ fullName }) => fullName === name || fullName === `${table.name}.${name}`)
}

/** `eas_field`: a column of files; `undefined` where there is none with the name. */
export function fileColumnNamed(table: Table, name: string): Column | undefined {
  const column = columnNamed(table, name)
  return column?.type === 'eas' ? column : undefined
}

const textTypes: ReadonlySet<string> = new Set(['text', 'text_oneline', 'string', 'text_l10n', 'text_l10n_oneline'])

/** `update_search_field`: a column of texts; `undefined` where there is none with the name. */
export function textColumnNamed(table: Table, name: string): Column | undefined {
  const column = columnNamed(table, name)
  return column && textTypes.has(column.type) ? column : undefined
}
