import type { Model, Table } from '../../datamodel/model.ts'
import type { Localized } from '../../platform/values/localized.ts'
import { textIn } from '../../platform/values/localized.ts'
import type { WriteContext } from '../writer.ts'

/** The headings of the columns: their paths, given names, or names in the reader's language. */
export function headingsOf(paths: readonly string[], context: WriteContext): string[] {
  const { table, fields } = context.options
  const headings = paths.map(
    (path) => givenName(path, context) ?? (table?.localizedColumnNames ? localizedName(path, context) : path),
  )
  if (!table?.localizedColumnNames && !fields) return headings
  // Columns with the same name could not be distinguished.
  const alike = Map.groupBy(headings, (heading) => heading)
  return headings.map((heading, index) =>
    (alike.get(heading)?.length ?? 0) > 1 ? `${heading} (${paths[index]})` : heading,
  )
}

/** The name given to the field, and the rest of the path. */
function givenName(path: string, { options: { fields = {} } }: WriteContext): string | null {
  const plain = path.replace(/\[\d+\]/g, '')
  for (let end = plain.length; end > 0; end = plain.lastIndexOf('.', end - 1)) {
    const name = fields[plain.slice(0, end)]?.displayName
    if (name === undefined || name === '') continue
    const numbers = [...path.matchAll(/\[\d+\]/g)].map(([number]) => number).join('')
    return `${name}${numbers}${plain.slice(end)}`
  }
  return null
}

/** `Material 1: Name (de-DE)`. System fields keep their names. */
function localizedName(path: string, { model, actor }: WriteContext): string {
  const [first = '', ...steps] = path.split('.')
  let table: Table | undefined = model.objecttypes.get(first)
  if (!table) return path
  const parts: string[] = []
  for (let at = 0; at < steps.length; at++) {
    const [, step = '', number] = /^([^[]*)(?:\[(\d+)\])?$/.exec(steps[at] as string) ?? []
    const found: Named | null = table ? namedIn(model, table, step) : null
    if (!found) return `${parts.join(': ')} (${steps.slice(at).join('.')})`
    const name = textIn(found.nameLocalized, actor.languages) || step
    parts.push(number === undefined ? name : `${name} ${Number(number) + 1}`)
    table = found.within
    // The first step of a linked object is its type, which adds nothing.
    if (found.linked && steps[at + 1] === table?.name) at++
  }
  return parts.join(': ')
}

interface Named {
  readonly nameLocalized: Localized
  readonly within: Table | undefined
  readonly linked: boolean
}

function namedIn(model: Model, table: Table, step: string): Named | null {
  const column = table.columnByName.get(step)
  if (column)
    return { nameLocalized: column.nameLocalized, within: column.target ?? undefined, linked: column.type === 'link' }
  const nested = table.nested.find(({ wireKey }) => wireKey === step)
  if (nested) return { nameLocalized: nested.nameLocalized, within: nested, linked: false }
  const [kind, name = ''] = step.split(':')
  const other = kind === '_reverse_nested' ? model.objecttypes.get(name) : undefined
  return other ? { nameLocalized: other.nameLocalized, within: other, linked: true } : null
}
