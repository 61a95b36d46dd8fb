/** `_standard.geo.1`: all geometries that masks put into a place of `_standard`. */
import type { MaskField, Table } from '../../datamodel/model.ts'
import { isShown } from '../plan/field-paths.ts'
import type { ElementContext } from './clauses.ts'

/** The names of fields, with the fields that `_standard.geo.<n>` stands for in its place. */
export function expandStandardGeo(
  names: readonly string[],
  { objecttypes }: Pick<ElementContext, 'objecttypes'>,
): readonly string[] {
  return names.flatMap((name) => {
    const [, place] = /^_standard\.geo\.([1-9]\d?)$/.exec(name) ?? []
    return place === undefined ? [name] : objecttypes.flatMap((table) => placed(table, Number(place), new Set()))
  })
}

/** Columns of the preferred mask that have the place; for a link, what the linked object has there. */
function placed(table: Table, place: number, above: ReadonlySet<Table>): readonly string[] {
  if (above.has(table)) return []
  const within = new Set([...above, table])
  const read = (fields: readonly MaskField[]): readonly string[] =>
    fields.flatMap((field) => {
      if (field.kind === 'nested') return read(field.fields)
      if (field.kind !== 'column' || field.standardGeo !== place || !isShown(field.column)) return []
      const { fullName, target, type } = field.column
      if (type === 'geo_json') return [fullName]
      return target ? placed(target, place, within).map((name) => `${fullName}.${name}`) : []
    })
  return read(table.preferredMask.fields)
}
