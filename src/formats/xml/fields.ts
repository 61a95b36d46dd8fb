/** An object with its fields as elements. */

import type { Column } from '../../datamodel/model.ts'
import type { FieldTree, FileTree, ObjectTree, RowTree, Wire } from '../../objects/service.ts'
import { isRecord } from '../../platform/values/records.ts'
import type { FormatOptions } from '../options.ts'
import { plainText } from '../values.ts'
import { type Attributes, element, isName, languageElements, nameOf, plainElement, textElement } from './markup.ts'
import { systemElements } from './system.ts'

export function objectElement(tree: ObjectTree, options: FormatOptions, attributes: Attributes = {}): string {
  const { table, fields, paths, wire } = tree
  const block = wire[table.name]
  const inherited = isRecord(block) && isRecord(block._inherited) ? block._inherited : {}
  const content = fields.map((field) => fieldElement(field, options, inherited[field.name])).join('')
  return element(table.name, `${systemElements(tree)}${pathElements(paths, wire, options)}${content}`, attributes)
}

/** `_path`, and `_paths` if there are several parents; `_parents` are the objects directly above. */
function pathElements(paths: ObjectTree['paths'], wire: Wire, options: FormatOptions): string {
  const [first] = paths
  if (!first) return ''
  const pathElement = (path: readonly ObjectTree[]): string =>
    element('_path', path.map((step) => objectElement(step, options)).join(''))
  if (wire._paths === undefined) return pathElement(first)
  const parents = new Map(
    paths.flatMap((path) => {
      const parent = path.at(-2)
      return parent ? [[parent.wire._system_object_id, parent] as const] : []
    }),
  )
  const above = [...parents.values()].map((parent) => objectElement(parent, options)).join('')
  return `${pathElement(first)}${element('_paths', paths.map(pathElement).join(''))}${element('_parents', above)}`
}

function fieldElement(field: FieldTree, options: FormatOptions, inheritedFrom?: unknown): string {
  const name = nameOf(options.fields?.[field.path]?.displayName ?? field.name)
  const inherited = typeof inheritedFrom === 'number' ? { inherited: inheritedFrom } : {}
  switch (field.kind) {
    case 'value':
      return valueElement(name, field.column, field.value, { ...columnAttributes(field.column), ...inherited })
    case 'texts':
      return element(name, languageElements(field.texts), { ...columnAttributes(field.column), ...inherited })
    case 'files': {
      const files = field.files.map(fileElement).join('')
      return element(name, element('files', files), { ...columnAttributes(field.column), ...inherited })
    }
    case 'link':
      return element(name, objectElement(field.object, options), { ...columnAttributes(field.column), ...inherited })
    case 'rows':
      return element(name, field.rows.map((row) => rowElement(field.table.name, row, options)).join(''), {
        type: 'nested',
        ...inherited,
      })
    case 'objects':
      return element(name, field.objects.map((object) => objectElement(object, options)).join(''), {
        type: 'reverse_nested',
      })
  }
}

const columnAttributes = ({ id, type, typeName }: Column): Attributes => ({
  type: type === 'eas' ? 'files' : typeName,
  'column-api-id': id,
})

function valueElement(name: string, column: Column, value: unknown, attributes: Attributes): string {
  if (column.type === 'daterange' && isRecord(value)) {
    const { from, to, text } = value
    const parts = [
      typeof from === 'string' ? textElement('from', from) : '',
      typeof to === 'string' ? textElement('to', to) : '',
      isRecord(text) ? element('text', languageElements(text as Record<string, string>)) : '',
    ]
    return element(name, parts.join(''), attributes)
  }
  return textElement(name, plainText(column, value), attributes)
}

const rowElement = (name: string, { uuid, fields }: RowTree, options: FormatOptions): string =>
  element(name, fields.map((field) => fieldElement(field, options)).join(''), { uuid })

function fileElement({ wire, versions }: FileTree): string {
  const parts = [
    textElement('eas-id', Number(wire._id)),
    ...(['compiled', 'class', 'extension'] as const).map((name) => plainElement(name, wire[name])),
    plainElement('name', wire.original_filename),
    plainElement('class_extension', wire.class_extension),
    plainElement('preferred', wire.preferred === true),
    isRecord(wire.technical_metadata) ? element('technical_metadata', technical(wire.technical_metadata)) : '',
    isRecord(wire.metadata) ? element('metadata', tags(wire.metadata)) : '',
    element('versions', versions.map(versionElement).join('')),
  ]
  return element('file', parts.join(''))
}

function versionElement({ name, path, url }: FileTree['versions'][number]): string {
  return element('version', `${plainElement('path', path)}${plainElement('url', url)}`, { name })
}

/** Numbers and texts; structured values are only in the record of the file. */
function technical(metadata: Wire): string {
  return Object.entries(metadata)
    .map(([name, value]) => (isName(name) ? plainElement(name, value) : ''))
    .join('')
}

/** The tags by groups, as in the record of the file. */
function tags({ groups }: Wire): string {
  if (!isRecord(groups)) return ''
  return Object.entries(groups)
    .flatMap(([group, list]) => (list as readonly Wire[]).map((tag) => ({ group, tag })))
    .map(({ group, tag }) => textElement('tag', String(tag.print ?? ''), { group, name: String(tag.name) }))
    .join('')
}
