/** `xslt/<name>`: the output of a style sheet of the base configuration for `xml_native`. */
import { extension as extensionOf } from 'mime-types'
import { badRequest } from '../../platform/errors.ts'
import type { SourceObject } from '../source.ts'
import type { Format, WriteContext } from '../writer.ts'
import { xmlFormat } from '../xml/native.ts'
import { partsOf, splittingBy } from './parts.ts'
import { largestDocument, transform } from './sheets.ts'

/** A row of `export.xslts`. */
export interface Sheet {
  /** Id of the file. */
  readonly xslt: number
  readonly oai_pmh_prefix: string
  readonly content_type: string
  readonly namespace: string
  readonly schema: string
  readonly use_for_api_objects: boolean
  readonly use_for_oai_pmh: boolean
  readonly xpath_query: string
}

export function xsltFormat(sheet: Sheet, read: (fileId: number) => Promise<string>): Format {
  const contentType = sheet.content_type || 'application/xml; charset=utf-8'
  const name = `xslt/${sheet.oai_pmh_prefix}`
  return {
    name,
    contentType,
    extension: extensionOf(contentType) || 'xml',
    single: false,
    async *write(objects, context) {
      const xml = await documentFor(sheet, objects, context)
      const text = await read(sheet.xslt)
      yield Buffer.from(await transform({ name: sheet.oai_pmh_prefix, sheet: text, xml }, context.deadline))
    },
    async parts(objects, context) {
      const xml = await documentFor(sheet, objects, context)
      const text = await read(sheet.xslt)
      const splitting = splittingBy(sheet.xpath_query, text)
      const task = { name: sheet.oai_pmh_prefix, sheet: text, xml, next: splitting.sheet }
      return partsOf(await transform(task, context.deadline), splitting)
    },
  }
}

/** The document of objects that is the input of the sheet. @throws {AppError} `ServerGeneric` for too many objects */
async function documentFor(sheet: Sheet, objects: AsyncIterable<SourceObject>, context: WriteContext): Promise<string> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of xmlFormat.write(objects, context)) {
    bytes += piece.length
    if (bytes > largestDocument) {
      const parameters = { xslt: sheet.oai_pmh_prefix, most: largestDocument }
      throw badRequest('the objects are too many for one style sheet: ask for fewer', parameters)
    }
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}
