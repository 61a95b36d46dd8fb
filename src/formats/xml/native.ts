/**
 * `xml_native`: an element for each object, named by its type, with elements for its system fields and its fields, named
 * by their columns. docs/formats.md shows it, `schema.ts` describes it.
 */
import type { SourceObject } from '../source.ts'
import { cellsOf } from '../table/cells.ts'
import { type Format, inPieces, type WriteContext } from '../writer.ts'
import { objectElement } from './fields.ts'
import { type Attributes, attributesText, element, textElement, xmlHeader } from './markup.ts'

/** Namespace of all elements of the writer. */
export const namespace = 'urn:strongroom:objects:1'

export const xmlFormat: Format = {
  name: 'xml_native',
  contentType: 'application/xml; charset=utf-8',
  extension: 'xml',
  single: false,
  write: (objects, context) => inPieces(documentOf(objects, context)),
  // The document of one object is the element of the object itself.
  one: (object, context) => Buffer.from(`${xmlHeader}${elementOf(object, context, { xmlns: namespace })}\n`),
}

async function* documentOf(objects: AsyncIterable<SourceObject>, context: WriteContext): AsyncGenerator<string> {
  yield `${xmlHeader}<objects${attributesText({ xmlns: namespace })}>`
  for await (const object of objects) yield `\n${elementOf(object, context)}`
  yield '\n</objects>\n'
}

function elementOf({ tree }: SourceObject, { options, actor }: WriteContext, attributes: Attributes = {}): string {
  if (!options.flat) return objectElement(tree, options, attributes)
  const cells = cellsOf(tree, { options, languages: actor.languages })
  const fields = cells.map(({ path, value }) => textElement('_field', value, { path }))
  return element('_object', fields.join(''), { ...attributes, objecttype: tree.table.name })
}
