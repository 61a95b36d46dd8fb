/** An object as cells: a value for each path, without structure. */

import type { Column } from '../../datamodel/model.ts'
import { type FieldTree, type FileTree, type ObjectTree, records, type Wire } from '../../objects/service.ts'
import { isRecord } from '../../platform/values/records.ts'
import { plainText } from '../values.ts'
import { type AddCell, addTexts, type Cell, type CellOptions, type CellValue, standardTexts } from './cell.ts'
import { systemCells } from './system.ts'

/** In the order of the object, system fields first. */
export function cellsOf(tree: ObjectTree, context: CellOptions): Cell[] {
  const cells: Cell[] = []
  const add: AddCell = (path, value) => {
    if (value !== '') cells.push({ path, value })
  }
  systemCells(tree, context, add)
  if (context.options.includeParents) {
    for (const [index, step] of (tree.paths[0] ?? []).slice(0, -1).entries()) {
      addFields(step.fields, `_path[${index}].${step.table.name}`, context, add)
    }
  }
  addFields(tree.fields, tree.table.name, context, add)
  return cells
}

function addFields(fields: readonly FieldTree[], before: string, context: CellOptions, add: AddCell): void {
  for (const field of fields) addField(field, `${before}.${field.name}`, context, add)
}

function addField(field: FieldTree, path: string, context: CellOptions, add: AddCell): void {
  switch (field.kind) {
    case 'value':
      if (field.value !== null) addValue(field.column, field.value, path, add)
      return
    case 'texts':
      addTexts(field.texts, path, add)
      return
    case 'files':
      for (const [index, file] of field.files.entries()) addFile(file, `${path}[${index}]`, context, add)
      return
    case 'link':
      addLinked(field.object, path, context, add)
      return
    case 'rows':
      for (const [index, row] of field.rows.entries()) addFields(row.fields, `${path}[${index}]`, context, add)
      return
    case 'objects':
      for (const [index, object] of field.objects.entries()) {
        add(`${path}[${index}]._system_object_id`, Number(object.wire._system_object_id))
        addFields(object.fields, `${path}[${index}].${object.table.name}`, context, add)
      }
  }
}

function addValue(column: Column, value: unknown, path: string, add: AddCell): void {
  switch (column.type) {
    case 'boolean':
      add(path, value === true)
      return
    case 'number':
    case 'double':
      add(path, typeof value === 'number' ? value : String(value))
      return
    case 'integer.2':
      add(path, numberOrText(plainText(column, value)))
      return
    case 'daterange':
      if (isRecord(value)) addRange(value, path, add)
      return
    default:
      add(path, plainText(column, value))
  }
}

/** A text where a floating-point number would have another value. */
const numberOrText = (text: string): CellValue => (Number(text).toFixed(2) === text ? Number(text) : text)

function addRange({ from, to, text }: Wire, path: string, add: AddCell): void {
  if (typeof from === 'string') add(`${path}.from`, from)
  if (typeof to === 'string') add(`${path}.to`, to)
  if (isRecord(text)) addTexts(text, `${path}.text`, add)
}

/** A linked object with its title, and with its fields where it is shown completely. */
function addLinked(object: ObjectTree, path: string, context: CellOptions, add: AddCell): void {
  const { wire, table, fields } = object
  add(`${path}._system_object_id`, Number(wire._system_object_id))
  addTexts(standardTexts(wire), `${path}._standard`, add)
  addFields(fields, `${path}.${table.name}`, context, add)
}

function addFile({ wire, versions }: FileTree, path: string, { options }: CellOptions, add: AddCell): void {
  if (typeof wire.original_filename === 'string') add(`${path}.original_filename`, wire.original_filename)
  for (const version of versions) {
    // Without a choice of versions, only the original is written.
    const place = options.fileOf ? `${path}.${version.name}` : path
    if (!options.fileOf && version.name !== 'original') continue
    if (version.path !== undefined) add(`${place}.path`, version.path)
    if (version.url === undefined) continue
    add(`${place}.url`, version.url)
    for (const name of ['iiif_url', 'deep_link_url'] as const) {
      const address = version.wire[name]
      if (typeof address === 'string') add(`${place}.${name}`, address)
    }
  }
  if (options.fileMetadata && isRecord(wire.metadata) && isRecord(wire.metadata.groups)) {
    for (const [group, tags] of Object.entries(wire.metadata.groups)) {
      for (const tag of records(tags)) add(`${path}.metadata.${group}:${tag.name}`, String(tag.print ?? ''))
    }
  }
}
