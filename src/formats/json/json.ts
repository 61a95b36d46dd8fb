/** Objects as the interface answers them. */

import type { FieldTree, FileTree, ObjectTree, Wire } from '../../objects/service.ts'
import { isRecord } from '../../platform/values/records.ts'
import type { FormatOptions } from '../options.ts'
import type { SourceObject } from '../source.ts'
import { cellsOf } from '../table/cells.ts'
import { type Format, inPieces, type WriteContext } from '../writer.ts'

export const jsonFormat: Format = {
  name: 'json',
  contentType: 'application/json; charset=utf-8',
  extension: 'json',
  single: false,
  write: (objects, context) => inPieces(listOf(objects, context)),
  one: (object, context) => Buffer.from(textOf(object, context)),
}

async function* listOf(objects: AsyncIterable<SourceObject>, context: WriteContext): AsyncGenerator<string> {
  let before = '['
  for await (const object of objects) {
    yield `${before}${textOf(object, context)}`
    before = ',\n'
  }
  yield before === '[' ? '[]' : ']'
}

const textOf = ({ tree }: SourceObject, context: WriteContext): string =>
  JSON.stringify(context.options.flat ? flatValue(tree, context) : objectValue(tree, context.options))

/** Values by their paths. */
const flatValue = (tree: ObjectTree, { options, actor }: WriteContext): Wire =>
  Object.fromEntries(cellsOf(tree, { options, languages: actor.languages }).map(({ path, value }) => [path, value]))

/** The object with its chosen fields, in the form of the interface. */
function objectValue(tree: ObjectTree, options: FormatOptions): Wire {
  const { wire, table } = tree
  const block = wire[table.name]
  if (!isRecord(block)) return wire
  const own = Object.fromEntries(Object.entries(block).filter(([name]) => isOfSystem(name)))
  const value: Record<string, unknown> = {
    ...wire,
    [table.name]: { ...own, ...Object.fromEntries(tree.fields.flatMap((field) => entryOf(field, options))) },
  }
  // A choice of files does not apply to the standard values, which would reveal files that are left out.
  if (options.fileOf && isRecord(wire._standard)) value._standard = { ...wire._standard, eas: undefined }
  if (options.includeParents && tree.paths.length > 0) {
    const paths = tree.paths.map((path) => path.map((step) => objectValue(step, options)))
    value._path = paths[0]
    if (wire._paths !== undefined) value._paths = paths
  }
  return value
}

/** `_id`, `_version`, `_pool`, `_parents`: not `_nested:…` and `_reverse_nested:…`. */
const isOfSystem = (name: string): boolean => name.startsWith('_') && !name.includes(':')

function entryOf(field: FieldTree, options: FormatOptions): [string, unknown][] {
  switch (field.kind) {
    case 'value':
      return field.value === null ? [] : [[field.name, field.value]]
    case 'texts':
      return [[field.name, field.texts]]
    case 'files':
      return [[field.name, field.files.map((file) => fileValue(file, options))]]
    case 'link':
      return [[field.name, objectValue(field.object, options)]]
    case 'rows':
      return [[field.name, field.rows.map(({ uuid, fields }) => rowValue(uuid, fields, options))]]
    case 'objects':
      return [[field.name, field.objects.map((object) => objectValue(object, options))]]
  }
}

function rowValue(uuid: string, fields: readonly FieldTree[], options: FormatOptions): Wire {
  return { _uuid: uuid, ...Object.fromEntries(fields.flatMap((field) => entryOf(field, options))) }
}

function fileValue({ wire, versions }: FileTree, { fileOf }: FormatOptions): Wire {
  if (!fileOf) return wire
  const told = versions.map(({ name, wire: said, path, url }) => {
    const { url: _, zoom_url, iiif_url, ...rest } = said
    return [name, url === undefined ? { ...rest, path } : { ...said, url, ...(path === undefined ? {} : { path }) }]
  })
  return { ...wire, versions: Object.fromEntries(told) }
}
