/**
 * Objects in exchange formats. A *writer* makes bytes of objects, a *format* is the name of a writer in addresses
 * (`json`, `xml_native`, `xslt/<name>`). All writers take the same options, and write only what the reader may read.
 */

import { type DublinCore, lido, mods } from '../mappings/service.ts'
import type { Actor } from '../platform/actor.ts'
import { badRequest } from '../platform/errors.ts'
import { type Deadline, noDeadline } from '../platform/limits/deadline.ts'
import type { Queryable } from '../platform/postgres/db.ts'
import { dcFormat } from './dc/dc.ts'
import { htmlFormat } from './html/page.ts'
import { jsonFormat } from './json/json.ts'
import { type MappedDeps, mappedFormats, mappingFormat } from './mapped/format.ts'
import type { FormatOptions, WrittenObject } from './options.ts'
import { checkOptions, type ObjectSource, objectsOf, type SourceDeps, type SourceObject } from './source.ts'
import { csvFormat } from './table/csv.ts'
import type { OpenPictures } from './table/xlsx/pictures.ts'
import { xlsxFormat } from './table/xlsx/xlsx.ts'
import type { Format, WriteContext } from './writer.ts'
import { xmlFormat } from './xml/native.ts'
import { schemaOf } from './xml/schema.ts'
import type { SheetFiles } from './xslt/check.ts'
import { type Sheet, xsltFormat } from './xslt/format.ts'
import { largestSheet } from './xslt/sheets.ts'

export { dcNamespace, dcSchema } from './dc/dc.ts'
export type {
  FileChoice,
  FilePlace,
  FormatOptions,
  ShownFile,
  TableOptions,
  WrittenFile,
  WrittenObject,
} from './options.ts'
export type { ObjectSource } from './source.ts'
export { csvSettings } from './table/csv.ts'
export { attributesText, element, textElement, xmlHeader } from './xml/markup.ts'
export { namespace as nativeNamespace } from './xml/native.ts'
export { checkSheets } from './xslt/check.ts'
export type { Sheet } from './xslt/format.ts'

/** Standard XML formats, with the schemas of their documents. */
export const prescribed = [
  { format: 'lido', namespace: lido.base, schema: lido.schema },
  { format: 'mods', namespace: mods.base, schema: mods.schema },
] as const

export interface FormatInfo {
  /** The name in addresses: `xml_native`, `xslt/lido`. */
  readonly name: string
  /** With its character set. */
  readonly contentType: string
  /** Without a dot. */
  readonly extension: string
  /** It can show only a single object. */
  readonly single: boolean
  /** It reads linked objects with their fields. */
  readonly linked: boolean
  /** The entry of the style sheet in the base configuration. */
  readonly sheet?: Sheet
}

export interface WriteRequest {
  readonly format: string
  readonly objects: ObjectSource
  readonly options?: FormatOptions
  readonly deadline?: Deadline
}

/** A separate document for one object. */
export interface WrittenDocument extends WrittenObject {
  readonly uuid: string
  readonly bytes: Buffer
}

export type FormatService = ReturnType<typeof createFormatService>

export interface FormatDeps extends SourceDeps, MappedDeps {
  readonly db: Queryable
  readonly files: SourceDeps['files'] & Pick<SheetFiles, 'contentOfSetting'> & { readonly openVersions: OpenPictures }
  /** The Dublin Core values of objects. */
  readonly dublinCore: () => Promise<DublinCore>
  /** Style sheets of the base configuration. */
  readonly sheets: () => readonly Sheet[]
}

export function createFormatService(deps: FormatDeps) {
  const formats: readonly Format[] = [
    jsonFormat,
    xmlFormat,
    csvFormat,
    htmlFormat(deps.pageOf),
    xlsxFormat({ openPictures: deps.files.openVersions }),
    dcFormat(deps.dublinCore),
    ...mappedFormats(deps),
  ]

  const sheetNamed = (name: string): Sheet | undefined =>
    deps.sheets().find(({ oai_pmh_prefix }) => name === `xslt/${oai_pmh_prefix}`)

  async function readSheet(id: number): Promise<string> {
    const content = await deps.files.contentOfSetting(deps.db, id, largestSheet)
    if (!content?.text) throw badRequest(`the file ${id} of the style sheet cannot be read`, { xslt: id })
    return content.text
  }

  function formatOf(name: string): Format | null {
    const sheet = sheetNamed(name)
    if (sheet) return xsltFormat(sheet, readSheet)
    return formats.find((format) => format.name === name) ?? mappingFormat(deps, name)
  }

  function formatNamed(name: string): Format {
    const format = formatOf(name)
    if (!format) throw badRequest(`there is no format ${name.slice(0, 100)}`, { format: name.slice(0, 100) })
    return format
  }

  async function begun(name: string): Promise<Format> {
    const format = formatNamed(name)
    return format.begin ? format.begin() : format
  }

  const contextOf = (actor: Actor, format: Format, request: WriteRequest): WriteContext => {
    const { options = {}, deadline = noDeadline } = request
    checkOptions(options)
    return { actor, options: optionsFor(format, options), deadline, model: deps.datamodel.current() }
  }

  async function* told(context: WriteContext, objects: ObjectSource): AsyncGenerator<SourceObject> {
    for await (const object of objectsOf(deps, { ...context, objects })) {
      yield object
      const { systemObjectId, version, objecttype } = object
      context.options.written?.({ systemObjectId, version, objecttype })
    }
  }

  return {
    /** The description of a format; null: there is none of this name. */
    find(name: string): FormatInfo | null {
      const format = formatOf(name)
      if (!format) return null
      const { contentType, extension, single, linked = false } = format
      const sheet = sheetNamed(name)
      return { name, contentType, extension, single, linked, ...(sheet ? { sheet } : {}) }
    },

    /** The XML Schema of `xml_native` for the present datamodel. */
    schema: (): string => schemaOf(deps.datamodel.current()),

    /** The format with this file as its style sheet; null: the base configuration has none. */
    sheetOf(fileId: number): string | null {
      const sheet = deps.sheets().find(({ xslt }) => xslt === fileId)
      return sheet ? `xslt/${sheet.oai_pmh_prefix}` : null
    },

    /**
     * One document of all the objects, in their order, as pieces. Objects that the actor may not read, or that are
     * deleted, are left out. Nothing is read before the first piece is requested.
     * @throws {AppError} while pieces are read: `MaskNotFound`, `ObjectInsufficientRights`, `ServerGeneric`
     */
    async *write(actor: Actor, request: WriteRequest): AsyncGenerator<Buffer> {
      const format = await begun(request.format)
      const context = contextOf(actor, format, request)
      yield* format.write(told(context, request.objects), context)
    },

    /** A separate document for each of the objects, in their order. */
    async *each(actor: Actor, request: WriteRequest): AsyncGenerator<WrittenDocument> {
      const format = await begun(request.format)
      const context = contextOf(actor, format, request)
      for await (const object of told(context, request.objects)) {
        const { systemObjectId, version, objecttype, wire } = object
        const bytes = format.one
          ? await format.one(object, context)
          : Buffer.concat(await Array.fromAsync(format.write(alone(object), context)))
        yield { systemObjectId, version, objecttype, uuid: String(wire._uuid), bytes }
      }
    },

    /** Whether a format makes documents of many objects at once, by `parts`. */
    isMadeAtOnce: (name: string): boolean => formatOf(name)?.parts !== undefined,

    /**
     * Documents for each of the objects, in their order, made all at once.
     * @throws {AppError} `ServerGeneric`; {Error} where the number of documents differs from that of the objects
     */
    async parts(actor: Actor, request: WriteRequest): Promise<ReadonlyMap<number, string>> {
      const format = formatNamed(request.format)
      if (!format.parts) throw new Error(`${request.format} makes documents one by one`)
      const context = contextOf(actor, format, request)
      const objects = told(context, request.objects)
      const first = await objects.next()
      // Without objects, a sheet might still make something, or fail.
      if (first.done) return new Map()
      const ids: number[] = []
      async function* noted(): AsyncGenerator<SourceObject> {
        for (let next = first; !next.done; next = await objects.next()) {
          ids.push(next.value.systemObjectId)
          yield next.value
        }
      }
      const documents = await format.parts(noted(), context)
      if (documents.length === ids.length) return new Map(ids.map((id, index) => [id, documents[index] as string]))
      throw new Error(`${request.format} makes ${documents.length} documents of ${ids.length} objects`)
    },
  }
}

/** A format that shows fields of linked objects includes them unless the options say otherwise. */
function optionsFor({ linked = false }: Format, options: FormatOptions): FormatOptions {
  const { mergeLinkedObjects: asked = 'none' } = options
  return linked && asked === 'none' ? { ...options, mergeLinkedObjects: 'all', mergeMaxDepth: 1 } : options
}

async function* alone(object: SourceObject): AsyncGenerator<SourceObject> {
  yield object
}
