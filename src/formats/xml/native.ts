/**
 * `xml_native`: an element for each object, called by its type, with elements for its system fields and its fields, called by
 * their columns. docs/formats.md shows it, `schema.ts` describes it.
 */
import { type Asked, objectsOf, type SourceDeps, type SourceObject } from '../source.ts'
import { type Format, inPieces } from '../writer.ts'
import { objectElement } from './fields.ts'
import { attributesText } from './markup.ts'

/** Of everything that the writer makes. */
export const namespace = 'urn:strongroom:objects:1'

const header = '<?xml version="1.0" encoding="UTF-8"?>\n'

export const xmlFormat: Format = {
  name: 'xml_native',
  contentType: 'application/xml; charset=utf-8',
  extension: 'xml',
  single: false,
  write: (deps, asked) => inPieces(documentOf(deps, asked)),
  async *each(deps, asked) {
    for await (const object of objectsOf(deps, asked)) {
      const { systemObjectId, version, objecttype, wire } = object
      const bytes = Buffer.from(`${header}${rootElement(object, asked)}\n`)
      yield { systemObjectId, version, objecttype, uuid: String(wire._uuid), bytes }
      asked.options.written?.({ systemObjectId, version, objecttype })
    }
  },
}

async function* documentOf(deps: SourceDeps, asked: Asked): AsyncGenerator<string> {
  yield `${header}<objects${attributesText({ xmlns: namespace })}>`
  for await (const { systemObjectId, version, objecttype, tree } of objectsOf(deps, asked)) {
    yield `\n${objectElement(tree, asked.options)}`
    asked.options.written?.({ systemObjectId, version, objecttype })
  }
  yield '\n</objects>\n'
}

/** The document of one object is the element of the object itself. */
const rootElement = ({ tree }: SourceObject, { options }: Asked): string =>
  objectElement(tree, options, { xmlns: namespace })
