/** `lido` and `mods`: objects in standard XML formats, by mappings of the format's profile or by one mapping. */
import type { XmlMapping, XmlMappings, XmlStructure } from '../../mappings/service.ts'
import { type PageOf, pageAddress } from '../page-address.ts'
import type { SourceObject } from '../source.ts'
import { begunFormat, type Format, inPieces, type WriteContext } from '../writer.ts'
import { type Attributes, attributesText, xmlHeader } from '../xml/markup.ts'
import { createDocument } from './document.ts'
import { lidoRecord, modsRecord, type RecordContext, type WriteRecord } from './records.ts'

export interface MappedDeps {
  readonly mappings: XmlMappings
  /** Database languages, first one first. */
  readonly languages: () => readonly string[]
  readonly pageOf: PageOf
  /** The value of a source `deep_link_url` of a mapping; null: none. */
  readonly linkOf: (uuid: string) => string | null
  /** The publisher of the records. */
  readonly publisher: () => string
}

/** By the namespace of the elements. */
const records: Readonly<Record<string, WriteRecord>> = {
  'http://www.lido-schema.org': lidoRecord,
  'http://www.loc.gov/mods/v3': modsRecord,
}

export function mappedFormats(deps: MappedDeps): readonly Format[] {
  return [
    mappedFormat(deps, 'lido', () => deps.mappings.byProfile('lido.yml')),
    mappedFormat(deps, 'mods', () => deps.mappings.byProfile('mods.yml')),
  ]
}

const byId = /^xmlmapping\/([1-9]\d{0,14})$/

/** The format of one mapping; null: the name is not that of a mapping. */
export function mappingFormat(deps: MappedDeps, name: string): Format | null {
  const [, id] = byId.exec(name) ?? []
  return id === undefined ? null : mappedFormat(deps, name, () => deps.mappings.byId(Number(id)))
}

const shape = { contentType: 'application/xml; charset=utf-8', extension: 'xml', single: false, linked: true } as const

const mappedFormat = (deps: MappedDeps, name: string, open: () => Promise<XmlMapping>): Format =>
  begunFormat({ ...shape, name }, async () => writerOf(deps, name, await open()))

function writerOf(deps: MappedDeps, name: string, mapping: XmlMapping): Format {
  const root = namespaces(mapping.structure)
  return {
    ...shape,
    name,
    write: (objects, context) => inPieces(documentOf(deps, mapping, objects, context)),
    one: (object, context) => Buffer.from(`${xmlHeader}${elementOf(deps, mapping, object, context, root)}\n`),
  }
}

async function* documentOf(
  deps: MappedDeps,
  mapping: XmlMapping,
  objects: AsyncIterable<SourceObject>,
  context: WriteContext,
): AsyncGenerator<string> {
  const { structure } = mapping
  const list = `${structure.prefix}${structure.list}`
  yield `${xmlHeader}<${list}${attributesText(namespaces(structure))}>`
  for await (const object of objects) yield `\n${elementOf(deps, mapping, object, context, {})}`
  yield `\n</${list}>\n`
}

/** Attributes of a document's root. */
function namespaces({ base, schema, prefix }: XmlStructure): Attributes {
  return {
    [prefix === '' ? 'xmlns' : `xmlns:${prefix.slice(0, -1)}`]: base,
    'xmlns:xsi': 'http://www.w3.org/2001/XMLSchema-instance',
    'xsi:schemaLocation': `${base} ${schema}`,
  }
}

function elementOf(
  deps: MappedDeps,
  { structure, fieldsOf }: XmlMapping,
  { tree }: SourceObject,
  { actor }: WriteContext,
  attributes: Attributes,
): string {
  const languages = [...new Set([...actor.languages, ...deps.languages()])]
  const uuid = String(tree.wire._uuid)
  const document = createDocument(structure, languages)
  for (const field of fieldsOf(tree, { languages, address: deps.linkOf(uuid) })) document.add(field)
  const told: RecordContext = { page: pageAddress(deps.pageOf, tree.wire), source: deps.publisher() }
  records[structure.base]?.(document, tree, told)
  return document.toXml(attributes)
}
