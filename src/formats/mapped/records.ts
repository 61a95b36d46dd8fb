/** The parts of a document that need no mapping: the object's identity, its type and title, its files, the record itself. */
import type { Text } from '../../mappings/service.ts'
import { type FileTree, fileLists, type ObjectTree } from '../../objects/service.ts'
import { standardTexts } from '../table/cell.ts'
import type { XmlDocument } from './document.ts'

export interface RecordContext {
  /** The address of an object's page for people; null: it has none. */
  readonly page: string | null
  /** The publisher of the record. */
  readonly source: string
}

export type WriteRecord = (document: XmlDocument, tree: ObjectTree, context: RecordContext) => void

const titleOf = ({ wire }: ObjectTree): Text => {
  const texts = standardTexts(wire) as Readonly<Record<string, string>>
  return Object.values(texts).some((text) => text !== '') ? texts : String(wire._uuid)
}

const typeOf = ({ table }: ObjectTree): Text =>
  Object.values(table.nameLocalized).some((text) => text !== '') ? table.nameLocalized : table.name

/** The files with an address, each once. */
function addressed(tree: ObjectTree) {
  const files = new Map(fileLists(tree.fields).flatMap(({ files }) => files.map((file) => [file.wire._id, file])))
  return [...files.values()]
    .map((file) => ({ file, versions: versionsOf(file) }))
    .filter((one) => one.versions.length > 0)
}

function versionsOf({ versions }: FileTree): readonly string[] {
  return versions.flatMap(({ path, url }) => path ?? url ?? [])
}

const titles = 'descriptiveMetadata/objectIdentificationWrap/titleWrap/titleSet/appellationValue'
const workTypes = 'descriptiveMetadata/objectClassificationWrap/objectWorkTypeWrap/objectWorkType/term'
const records = 'administrativeMetadata/recordWrap'
const resources = 'administrativeMetadata/resourceWrap'

export const lidoRecord: WriteRecord = (document, tree, { page, source }) => {
  const { wire } = tree
  document.say('lidoRecID', String(wire._uuid))
  if (page !== null) document.say('objectPublishedID', page)
  if (!document.has(workTypes)) document.say(workTypes, typeOf(tree))
  if (!document.has(titles)) document.say(titles, titleOf(tree))
  if (!document.has(`${records}/recordID`)) document.say(`${records}/recordID`, String(wire._uuid))
  if (!document.has(`${records}/recordType/term`)) document.say(`${records}/recordType/term`, 'item')
  const sources = `${records}/recordSource/legalBodyName/appellationValue`
  if (!document.has(sources)) document.say(sources, source)
  if (page !== null) document.say(`${records}/recordInfoSet[own]/recordInfoLink`, page)
  if (typeof wire._last_modified === 'string') {
    document.say(`${records}/recordInfoSet[own]/recordMetadataDate`, wire._last_modified)
  }
  for (const { file, versions } of addressed(tree)) {
    const set = `${resources}/resourceSet[file-${file.wire._id}]`
    document.say(`${set}/resourceID`, String(file.wire._id))
    document.say(`${set}/resourceRepresentation/linkResource`, versions)
    document.say(`${set}/resourceDescription`, String(file.wire.original_filename ?? ''))
  }
}

export const modsRecord: WriteRecord = (document, tree, { page, source }) => {
  const { wire } = tree
  if (!document.has('titleInfo/title')) document.say('titleInfo/title', titleOf(tree))
  document.say('identifier', `urn:uuid:${wire._uuid}`)
  if (page !== null) document.say('location/url', page)
  for (const { versions } of addressed(tree)) document.say('location/url', versions)
  if (!document.has('recordInfo/recordContentSource')) document.say('recordInfo/recordContentSource', source)
  for (const [name, moment] of [
    ['recordCreationDate', wire._created],
    ['recordChangeDate', wire._last_modified],
  ]) {
    if (typeof moment === 'string') document.say(`recordInfo/${name}`, moment)
  }
  document.say('recordInfo/recordIdentifier', String(wire._uuid))
}
