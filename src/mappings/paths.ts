import type { Column, Model, Table } from '../datamodel/model.ts'
import type { FieldPath } from '../objects/service.ts'
import { badRequest } from '../platform/errors.ts'
import type { StoredPath } from './model.ts'

export type { FieldPath }

const unmappable = new Set<Column['type']>(['eas', 'link'])

/**
 * Parses the name of a field: `artwork.title`, `artwork._nested:artwork__keyword.keyword`, of a linked object
 * `artwork.artist.person.name`, or `artwork._uuid`.
 * @throws {AppError} `ServerGeneric` naming the place
 */
export function readPath(model: Model, name: string, place: string): FieldPath {
  const fail = (problem: string): Error =>
    badRequest(`${place}: ${name.slice(0, 100)} ${problem}`, { path: place, value: name.slice(0, 500) })
  const [first = '', ...steps] = name.split('.')
  const root = model.objecttypes.get(first)
  if (!root) throw fail('does not begin with an object type')
  if (steps.length === 1 && steps[0] === '_uuid') return { root, nested: [], link: null, column: null }
  const nested: Table[] = []
  let table = root
  while (steps[0]?.startsWith('_nested:')) {
    const key = steps.shift()
    const next = table.nested.find(({ wireKey }) => wireKey === key)
    if (!next) throw fail(`names a nested table that ${table.name} does not have`)
    nested.push(next)
    table = next
  }
  const own = table.columnByName.get(steps.shift() ?? '')
  if (!own) throw fail(`names no column of ${table.name}`)
  const link = own.type === 'link' ? own : null
  if (link?.target && steps.shift() !== link.target.name) throw fail(`goes on with ${link.target.name} and its column`)
  const column = link ? link.target?.columnByName.get(steps.shift() ?? '') : own
  if (!column || steps.length > 0)
    throw fail(link ? `names no column of ${link.target?.name}` : 'goes on after a value')
  if (unmappable.has(column.type)) throw fail(`has the type ${column.typeName}, which is no value of metadata`)
  return { root, nested, link, column }
}

export function toStored({ root, nested, link, column }: FieldPath): StoredPath {
  const columns = column ? [...(link ? [link.id] : []), column.id] : ('_uuid' as const)
  return { table: root.id, nested: nested.map(({ id }) => id), columns }
}

/** Null where a step of the path is deleted, or has another kind now. */
export function fromStored(model: Model, stored: StoredPath): FieldPath | null {
  const root = model.tablesById.get(stored.table)
  if (!root) return null
  const nested: Table[] = []
  for (const id of stored.nested) {
    const next = (nested.at(-1) ?? root).nested.find((table) => table.id === id)
    if (!next) return null
    nested.push(next)
  }
  if (stored.columns === '_uuid') return { root, nested, link: null, column: null }
  const [first, second] = stored.columns.map((id) => model.columnsById.get(id))
  if (!first || first.table !== (nested.at(-1) ?? root)) return null
  if (stored.columns.length === 1)
    return unmappable.has(first.type) ? null : { root, nested, link: null, column: first }
  if (!second || first.type !== 'link' || second.table !== first.target || unmappable.has(second.type)) return null
  return { root, nested, link: first, column: second }
}

/** The name that `readPath` parses. */
export function nameOf({ root, nested, link, column }: FieldPath): string {
  const steps = [root.name, ...nested.map(({ wireKey }) => wireKey)]
  if (link?.target) steps.push(link.name, link.target.name)
  return [...steps, column?.name ?? '_uuid'].join('.')
}

/** The columns for the mapping of the service itself: those of an object type with one of these names. */
export function pathByName(root: Table, names: readonly string[]): FieldPath | null {
  for (const name of names) {
    const own = root.columnByName.get(name)
    const path = own ? valuePath(root, [], own) : nestedPath(root, name)
    if (path) return path
  }
  return null
}

/** For a nested table with that name: its first column. */
function nestedPath(root: Table, name: string): FieldPath | null {
  const table = root.nested.find((one) => one.name === name || one.name === `${root.name}__${name}`)
  for (const column of table?.columns ?? []) {
    const path = table && valuePath(root, [table], column)
    if (path) return path
  }
  return null
}

function valuePath(root: Table, nested: readonly Table[], own: Column): FieldPath | null {
  if (own.type !== 'link') return importable(own) ? { root, nested, link: null, column: own } : null
  const column = own.target?.columns.find(({ type }) => texts.has(type))
  return column ? { root, nested, link: own, column } : null
}

const texts = new Set<Column['type']>(['text', 'text_oneline', 'string', 'text_l10n', 'text_l10n_oneline'])

/** Whether the text of a tag can be converted to a value of the column. */
export function importable({ type }: Column): boolean {
  return type !== 'custom' && !unmappable.has(type)
}
