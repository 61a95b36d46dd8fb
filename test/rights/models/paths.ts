import type { Drawing } from './elements.ts'
import { type Column, type Field, type ObjectType, reversesOf } from './model.ts'
import { columnsOf, rowsIn } from './values.ts'
import type { Thing } from './world.ts'

/** Ways from objects through one link, forth or back, to columns of other objects: as searches name them, and where they lead. */

export interface Path {
  readonly name: string
  readonly column: Column
  readonly link: Column
  /** It leads to the objects that link to one. */
  readonly back: boolean
  /** Things that it leads to from one, as far as the caller may know; in the order of the links. */
  reached(thing: Thing): readonly Thing[]
}

/** null: no mask shows a link, or a fitting column behind it. */
export function drawPath(drawing: Drawing, fits: (column: Column, link: Column) => boolean): Path | null {
  const { pick, types } = drawing
  const all = types.flatMap((type) => [...forth(drawing, type), ...back(drawing, type)])
  const paths = all.filter(({ column, link }) => fits(column, link))
  if (paths.length === 0) return null
  const backwards = paths.filter((path) => path.back)
  return pick(backwards.length > 0 ? pick([paths, backwards]) : paths)
}

function forth({ world, knowledge }: Drawing, type: ObjectType): Path[] {
  const shown = columnsShown(type)
  const links = columnsOf(type).filter((column) => column.kind === 'link' && shown.has(column))
  return links.flatMap((link) => {
    const target = world.types[link.target as number] as ObjectType
    const reached = (thing: Thing): Thing[] => {
      if (thing.type !== type || !knowledge.knows(thing.index, link)) return []
      const ids = rowsIn(thing, link.table).flatMap((row) => (row.values.get(link) ?? []) as number)
      return ids
        .map((id) => world.things[id] as Thing)
        .filter(({ index, trashed }) => knowledge.sees(index) && !trashed)
    }
    return [...columnsShown(target)].map((column) => ({
      name: `${link.fullName}.${column.fullName}`,
      column,
      link,
      back: false,
      reached,
    }))
  })
}

function back({ world, knowledge }: Drawing, type: ObjectType): Path[] {
  const links = reversesOf(
    world.types.map(({ table }) => table),
    type.index,
  )
  return links
    .filter((link) => isBelow(type, link))
    .flatMap((link) => {
      const other = world.types.find(({ table }) => table === link.table) as ObjectType
      const reached = (thing: Thing): Thing[] =>
        thing.type !== type
          ? []
          : world.things.filter(
              (each) =>
                each.type === other &&
                each.values.get(link) === thing.index &&
                knowledge.knows(each.index, link) &&
                !each.trashed,
            )
      return [...columnsShown(other)].map((column) => ({
        name: `${type.name}._reverse_nested:${other.name}:${link.name}.${column.fullName}`,
        column,
        link,
        back: true,
        reached,
      }))
    })
}

const masksOf = ({ masks, allFields }: ObjectType) => (masks.length > 0 ? masks : [allFields])

/** Columns that any mask shows of the objects themselves. */
function columnsShown(type: ObjectType): Set<Column> {
  const found = new Set<Column>()
  const read = (fields: readonly Field[]): void => {
    for (const field of fields) {
      if (field.mode === 'off' || field.is === 'below') continue
      if (field.is === 'column') found.add(field.column)
      else read(field.fields)
    }
  }
  for (const { fields } of masksOf(type)) read(fields)
  return found
}

/** Whether a mask shows the objects that link by the column to those of the type. */
function isBelow(type: ObjectType, link: Column): boolean {
  return masksOf(type).some(({ fields }) =>
    fields.some((field) => field.is === 'below' && field.mode !== 'off' && field.column === link),
  )
}
