import type { Column, Model, Table } from '../datamodel/model.ts'
import { badRequest } from '../platform/errors.ts'

/** System fields of objects that can be named without an object type. */
const systemFields: ReadonlySet<string> = new Set(
  (
    '_system_object_id _global_object_id _uuid _objecttype _mask _tags _pool _owner _created _last_modified _standard ' +
    '_has_children _path _parents _changelog _collections _acl _published _latest_version _version _id'
  ).split(' '),
)

/**
 * Whether there is a field of that name: `artwork.title`, `artwork._nested:artwork__keyword.keyword`, of linked objects
 * `artwork.artist.person.name`, of others that link here `artwork._reverse_nested:work:artwork`, a system field `_tags`
 * or `artwork._tags`. A field behind a link requires that linked objects are exported to that depth.
 * @throws {AppError} `ServerGeneric`
 */
export function readField(model: Model, name: string, depth: number): void {
  const fail = (problem: string): Error =>
    badRequest(`export.fields: ${name.slice(0, 200)} ${problem}`, { path: 'export.fields', value: name.slice(0, 500) })
  const [first = '', ...steps] = name.split('.')
  if (systemFields.has(first) && steps.length === 0) return
  const root = model.objecttypes.get(first)
  if (!root) throw fail('begins with no object type')
  let table: Table = root
  let links = 0
  while (steps.length > 0) {
    const step = steps.shift() as string
    if (systemFields.has(step)) return
    const nested: Table | undefined = table.nested.find(({ wireKey }) => wireKey === step)
    if (nested) {
      table = nested
      continue
    }
    const reverse: Column | undefined = table.reverses.find(
      (column) => `_reverse_nested:${column.table.name}:${column.name}` === step,
    )
    if (reverse) {
      table = reverse.table
      continue
    }
    const column: Column | undefined = table.columnByName.get(step)
    if (!column) throw fail(`names ${step.slice(0, 100)}, which ${table.name} does not have`)
    if (column.type !== 'link' || !column.target) {
      if (steps.length > 0) throw fail('goes on behind a value')
      return
    }
    if (steps.length === 0) return
    links += 1
    if (links > depth) throw fail(`is behind ${links} links, and merge_max_depth is ${depth}`)
    if (steps.shift() !== column.target.name) throw fail(`must go on with ${column.target.name}`)
    table = column.target
  }
}
