/**
 * `dc`: simple Dublin Core, by the mapping for the object. The document of one object is that of the harvesting format
 * `oai_dc`; several documents are in an element of the service.
 * @see http://www.openarchives.org/OAI/2.0/oai_dc.xsd
 */
import type { SourceObject } from '../source.ts'
import type { ObjectTree } from '../tree.ts'
import { type Format, inPieces } from '../writer.ts'
import { attributesText, element, textElement } from '../xml/markup.ts'

/** A value of an object, in order; a text in several languages is written once for each of them. */
export interface DcValue {
  readonly element: string
  readonly text: string | Readonly<Record<string, string>>
}

/** The mappings as read at one time. */
export interface DublinCore {
  /** The mappings name values of linked objects. */
  readonly readsLinked: boolean
  valuesOf(tree: ObjectTree): readonly DcValue[]
}

const header = '<?xml version="1.0" encoding="UTF-8"?>\n'

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
      one: (object) => Buffer.from(`${header}${recordOf(object)}\n`),
    }
  }
  return {
    ...shape,
    begin,
    async *write(objects, context) {
      yield* (await begin()).write(objects, context)
    },
  }
}

async function* listOf(
  objects: AsyncIterable<SourceObject>,
  recordOf: (object: SourceObject) => string,
): AsyncGenerator<string> {
  yield `${header}<records${attributesText({ xmlns: listNamespace })}>`
  for await (const object of objects) yield `\n${recordOf(object)}`
  yield '\n</records>\n'
}

const valueElements = ({ element: name, text }: DcValue): string =>
  typeof text === 'string'
    ? textElement(`dc:${name}`, text)
    : Object.entries(text)
        .filter(([, one]) => one !== '')
        .map(([language, one]) => textElement(`dc:${name}`, one, isLanguage(language) ? { 'xml:lang': language } : {}))
        .join('')

/** Whether schemas accept the language tag. */
const isLanguage = (tag: string): boolean => /^[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*$/.test(tag)
