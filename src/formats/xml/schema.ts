/**
 * The schema (XSD 1.0) of `xml_native` for a datamodel: types shared by all documents are in `schema-types.xsd`, those of
 * the datamodel are written here. The element of a field is optional everywhere, since masks and rights leave fields out.
 */
import { readFileSync } from 'node:fs'
import type { Column, Model, Table } from '../../datamodel/model.ts'
import { attributesText, element, nameOf } from './markup.ts'

/** Types that do not depend on the datamodel; the types of the datamodel are appended to them. */
const types = readFileSync(new URL('./schema-types.xsd', import.meta.url), 'utf8')

export function schemaOf(model: Model): string {
  const objecttypes = [...model.objecttypes.values()]
  const own = [
    ...objecttypes.map((table) => objectType(model, table)),
    // Root elements of single objects; the name of the list is already used.
    ...objecttypes.filter(({ name }) => name !== 'objects').map(({ name }) => declared(name, `object-${name}`)),
    listElement(objecttypes),
    anyObject(objecttypes),
  ]
  return types.replace('</xs:schema>', `${own.join('\n')}\n</xs:schema>`)
}

const declared = (name: string, type: string, more: Record<string, string> = {}): string =>
  `<xs:element${attributesText({ name, type, ...more })}/>`

const optional = { minOccurs: '0' }
const any = { minOccurs: '0', maxOccurs: 'unbounded' }

/** The elements of a list: objects, or with `flat` the values of objects. */
function listElement(tables: readonly Table[]): string {
  const members = [...tables.map(({ name }) => declared(name, `object-${name}`)), declared('_object', 'FlatObject')]
  const choice = element('xs:choice', members.join(''), any)
  return element('xs:element', element('xs:complexType', choice), { name: 'objects' })
}

/** A list of objects of any type: parents, steps of a path. */
function anyObject(tables: readonly Table[]): string {
  const members = tables.map(({ name }) => declared(name, `object-${name}`)).join('')
  const choice = members === '' ? '' : element('xs:choice', members, any)
  const path = element('xs:sequence', declared('_path', 'AnyObjects', any))
  return `${element('xs:complexType', choice, { name: 'AnyObjects' })}\n${element('xs:complexType', path, { name: 'Paths' })}`
}

const systemMembers = `
  <xs:element name="_standard" type="Localized" minOccurs="0"/>
  <xs:element name="_standard-2" type="Localized" minOccurs="0"/>
  <xs:element name="_standard-3" type="Localized" minOccurs="0"/>
  <xs:element name="_objecttype" type="xs:string" minOccurs="0"/>
  <xs:element name="_mask" type="xs:string" minOccurs="0"/>
  <xs:element name="_system_object_id" type="xs:integer" minOccurs="0"/>
  <xs:element name="_global_object_id" type="xs:string" minOccurs="0"/>
  <xs:element name="_uuid" type="xs:string" minOccurs="0"/>
  <xs:element name="_id" type="xs:integer" minOccurs="0"/>
  <xs:element name="_version" type="xs:integer" minOccurs="0"/>
  <xs:element name="_id_parent" type="xs:integer" minOccurs="0"/>
  <xs:element name="_created" type="xs:dateTime" minOccurs="0"/>
  <xs:element name="_last_modified" type="xs:dateTime" minOccurs="0"/>
  <xs:element name="_latest_version" type="xs:boolean" minOccurs="0"/>
  <xs:element name="_latest_version_deleted_at" type="xs:dateTime" minOccurs="0"/>
  <xs:element name="_owner" type="Person" minOccurs="0"/>
  <xs:element name="_create_user" type="Person" minOccurs="0"/>
  <xs:element name="_pool" type="Pool" minOccurs="0"/>
  <xs:element name="_tags" type="Tags" minOccurs="0"/>
  <xs:element name="_comment" type="xs:string" minOccurs="0"/>
  <xs:element name="_not_allowed" type="xs:boolean" minOccurs="0"/>
  <xs:element name="_purged_or_deferred" type="xs:boolean" minOccurs="0"/>
  <xs:element name="_parent_child_idx" type="xs:integer" minOccurs="0"/>
  <xs:element name="_path" type="AnyObjects" minOccurs="0"/>
  <xs:element name="_paths" type="Paths" minOccurs="0"/>
  <xs:element name="_parents" type="AnyObjects" minOccurs="0"/>
`

function objectType(model: Model, table: Table): string {
  const members = [...fieldElements(table), ...reverseElements(model, table)]
  const content = element('xs:all', `${systemMembers}${members.join('\n')}`)
  return element('xs:complexType', content, { name: `object-${table.name}` })
}

function fieldElements(table: Table): string[] {
  return [...table.columns.map(columnElement), ...table.nested.map(nestedElement)]
}

const valueTypes: Partial<Record<Column['type'], string>> = {
  number: 'Integer',
  'integer.2': 'Decimal',
  double: 'Double',
  boolean: 'Boolean',
  daterange: 'DateRange',
  eas: 'Files',
  text_l10n: 'LocalizedField',
  text_l10n_oneline: 'LocalizedField',
}

function columnElement({ name, type, target }: Column): string {
  if (type !== 'link') return declared(name, valueTypes[type] ?? 'Text', optional)
  const object = target ? element('xs:sequence', declared(target.name, `object-${target.name}`)) : ''
  return element('xs:element', element('xs:complexType', `${object}<xs:attributeGroup ref="Field"/>`), {
    name,
    ...optional,
  })
}

function nestedElement(table: Table): string {
  const row = element('xs:complexType', `${element('xs:all', fieldElements(table).join(''))}${uuid}`)
  const rows = element('xs:sequence', element('xs:element', row, { name: table.name, ...any }))
  return element('xs:element', element('xs:complexType', `${rows}<xs:attributeGroup ref="Field"/>`), {
    name: nameOf(table.wireKey),
    ...optional,
  })
}

const uuid = '<xs:attribute name="uuid" type="xs:string"/>'

/** Objects that refer to the object: by links of other types, and by the hierarchy. */
function reverseElements(model: Model, table: Table): string[] {
  const links = table.linkedFrom.filter((column) => column.table.kind === 'object')
  const names = new Map(links.map((column) => [`${column.table.name}:${column.name}`, column.table.name]))
  if (table.hierarchical || table.polyhierarchical) names.set(`${table.name}:_id_parent`, table.name)
  return [...names]
    .filter(([, name]) => model.objecttypes.has(name))
    .map(([key, name]) => {
      const objects = element('xs:sequence', declared(name, `object-${name}`, any))
      return element('xs:element', element('xs:complexType', `${objects}<xs:attributeGroup ref="Field"/>`), {
        name: nameOf(`_reverse_nested:${key}`),
        ...optional,
      })
    })
}
