/** `_standard.geo.1`: all geometries that masks put into a place of `_standard`. */
import type { Column, MaskField, Table } from '../../datamodel/model.ts'
import { isShown } from '../plan/field-paths.ts'
import type { ElementContext } from './clauses.ts'
import { notAllowed } from './names.ts'

/** The highest number of columns that are looked through for a name: types that link to each other have very many paths. */
const mostColumns = 2000

/**
 * The names of fields, with the fields that `_standard.geo.<n>` stands for in its place.
 * @throws {AppError} `SearchFieldNotAllowed` where these are too many.
 */
export function expandStandardGeo(
  names: readonly string[],
  { objecttypes }: Pick<ElementContext, 'objecttypes'>,
): readonly string[] {
  return names.flatMap((name) => {
    const [, place] = /^_standard\.geo\.([1-9]\d?)$/.exec(name) ?? []
    if (place === undefined) return [name]
    let looked = 0
    const look = (): void => {
      if (++looked > mostColumns) throw notAllowed(name, 'geo')
    }
    return objecttypes.flatMap((table) => placed(table, Number(place), new Set(), look))
  })
}

/** Columns of the preferred mask that have the place; for a link, what the linked object has there. `look` is called for each. */
function placed(table: Table, place: number, above: ReadonlySet<Table>, look: () => void): readonly string[] {
  if (above.has(table)) return []
  const within = new Set([...above, table])
  return columnsOf(table.preferredMask.fields, place).flatMap(({ fullName, target, type }) => {
    look()
    if (type === 'geo_json') return [fullName]
    return target ? placed(target, place, within, look).map((name) => `${fullName}.${name}`) : []
  })
}

function columnsOf(fields: readonly MaskField[], place: number): readonly Column[] {
  return fields.flatMap((field) => {
    if (field.kind === 'nested') return columnsOf(field.fields, place)
    return field.kind === 'column' && field.standardGeo === place && isShown(field.column) ? [field.column] : []
  })
}
