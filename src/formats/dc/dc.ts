/**
 * `dc`: simple Dublin Core, by the mapping for the object. The document of one object is that of the harvesting format
 * `oai_dc`; several documents are in an element of the service.
 * @see http://www.openarchives.org/OAI/2.0/oai_dc.xsd
 */

import type { DcValue, DublinCore } from '../../mappings/service.ts'
import type { SourceObject } from '../source.ts'
import { begunFormat, type Format, inPieces } from '../writer.ts'
import { attributesText, element, isLanguageTag, textElement, xmlHeader } from '../xml/markup.ts'

export const dcNamespace = 'http://www.openarchives.org/OAI/2.0/oai_dc/'
export const dcSchema = 'http://www.openarchives.org/OAI/2.0/oai_dc.xsd'

const namespaces = {
  'xmlns:oai_dc': dcNamespace,
  'xmlns:dc': 'http://purl.org/dc/elements/1.1/',
  'xmlns:xsi': 'http://www.w3.org/2001/XMLSchema-instance',
  'xsi:schemaLocation': `${dcNamespace} ${dcSchema}`,
}

const listNamespace = 'urn:strongroom:dc:1'

export function dcFormat(mappings: () => Promise<DublinCore>): Format {
  const shape = { name: 'dc', contentType: 'application/xml; charset=utf-8', extension: 'xml', single: false } as const
  /** Uses the mappings that exist when a document is begun. */
  async function begin(): Promise<Format> {
    const { valuesOf, readsLinked } = await mappings()
    const recordOf = ({ tree }: SourceObject): string =>
      element('oai_dc:dc', valuesOf(tree).map(valueElements).join(''), namespaces)
    return {
      ...shape,
      linked: readsLinked,
      write: (objects) => inPieces(listOf(objects, recordOf)),
      one: (object) => Buffer.from(`${xmlHeader}${recordOf(object)}\n`),
    }
  }
  return begunFormat(shape, begin)
}

async function* listOf(
  objects: AsyncIterable<SourceObject>,
  recordOf: (object: SourceObject) => string,
): AsyncGenerator<string> {
  yield `${xmlHeader}<records${attributesText({ xmlns: listNamespace })}>`
  for await (const object of objects) yield `\n${recordOf(object)}`
  yield '\n</records>\n'
}

/** A text with languages is said in each of them. */
const valueElements = ({ element: name, text }: DcValue): string =>
  typeof text === 'string'
    ? textElement(`dc:${name}`, text)
    : Object.entries(text)
        .filter(([, one]) => one !== '')
        .map(([language, one]) =>
          textElement(`dc:${name}`, one, isLanguageTag(language) ? { 'xml:lang': language } : {}),
        )
        .join('')
