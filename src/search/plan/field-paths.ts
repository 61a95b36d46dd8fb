/**
 * Paths through links to fields of other objects: `work.creator.person.name`, and from the target of a link that is edited there,
 * `work._reverse_nested:loan:work.loan.borrower`. The masks limit the paths: a step that no mask shows does not exist.
 */
import type { Column, MaskField, Table } from '../../datamodel/model.ts'
import { showingMasks } from '../../objects/service.ts'
import type { FieldCatalogue, SearchField } from './fields.ts'

/** One step from an object to linked objects, or to objects that link to it. */
export interface LinkStep {
  /** The column that has the link. It belongs to the object itself, or (`reverse`) to the objects that link to it. */
  readonly field: SearchField
  readonly reverse: boolean
  /** Object type of the objects that the step leads to. */
  readonly target: Table
}

/** A step, and the rest of the name, which is resolved among the objects that the step leads to. */
export interface NamedStep {
  readonly step: LinkStep
  readonly rest: string
}

/** The highest number of steps of one name. */
export const mostSteps = 8

/** The highest number of dots after a link. Names with more of them are not examined further. */
const mostDots = 2 * mostSteps

const reverseStart = '_reverse_nested:'

/** The first step of a name; null: it begins with no link that a mask shows. */
export function firstStep(fields: FieldCatalogue, written: string): NamedStep | null {
  let dots = 0
  for (let dot = written.indexOf('.'); dot > 0 && dots < mostDots; dot = written.indexOf('.', dot + 1), dots++) {
    const rest = written.slice(dot + 1)
    if (rest.startsWith(reverseStart)) return reverseStep(fields, written.slice(0, dot), rest)
    const field = fields.byName.get(written.slice(0, dot))
    const target = field?.column.target
    if (!field || !target || !rest.startsWith(`${target.name}.`)) continue
    return isShown(field.column) ? { step: { field, reverse: false, target }, rest: ofTarget(rest, target) } : null
  }
  return null
}

/** The name for all texts of an object has no type. */
function ofTarget(rest: string, target: Table): string {
  return rest === `${target.name}._fulltext` ? '_fulltext' : rest
}

/** `_reverse_nested:loan:work.loan.borrower`; the type after the column is optional. */
function reverseStep(fields: FieldCatalogue, type: string, rest: string): NamedStep | null {
  const end = rest.indexOf('.')
  if (end < 0) return null
  const key = rest.slice(0, end)
  const table = tableOf(fields, type)
  const column = table && reverseColumns(table).get(key)
  const field = column && fields.byColumn.get(column.id)
  if (!field) return null
  const target = field.column.table.root
  const named = rest.slice(end + 1)
  const own = named.startsWith(`${target.name}.`) ? named : `${target.name}.${named}`
  return { step: { field, reverse: true, target }, rest: ofTarget(own, target) }
}

function tableOf(fields: FieldCatalogue, name: string): Table | null {
  for (const { table } of fields.types.values()) if (table.name === name) return table
  return null
}

const reverses = new WeakMap<Table, ReadonlyMap<string, Column>>()

/** Columns of other object types that masks of this type show as reverse fields, by their names there. */
function reverseColumns(table: Table): ReadonlyMap<string, Column> {
  const known = reverses.get(table)
  if (known) return known
  const found = new Map<string, Column>()
  const read = (fields: readonly MaskField[]): void => {
    for (const field of fields) {
      if (field.mode === 'off') continue
      if (field.kind === 'nested') read(field.fields)
      // Children of a hierarchy have no column.
      else if (field.kind === 'reverse' && field.column) found.set(field.wireKey, field.column)
    }
  }
  for (const mask of ownMasks(table)) read(mask.fields)
  reverses.set(table, found)
  return found
}

/** The masks that people have made; if there are none, the mask that shows everything. */
function ownMasks(table: Table) {
  const masks = [...table.masks.values()]
  const own = masks.filter((mask) => !mask.isAllFields)
  return own.length > 0 ? own : masks
}

/** Whether a mask shows the column. */
export function isShown(column: Column): boolean {
  const masks = showingMasks(column.table.root).column(column)
  return ownMasks(column.table.root).some((mask) => masks.has(mask))
}
