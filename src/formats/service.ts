/**
 * Objects in formats that others read. A *writer* makes bytes of objects, a *format* is what a writer is called by in addresses
 * (`json`, `xml_native`, `xslt/<name>`). All of them take the same options, and what the reader may read, no more.
 */
import type { Actor } from '../platform/actor.ts'
import { badRequest } from '../platform/errors.ts'
import { type Deadline, noDeadline } from '../platform/limits/deadline.ts'
import { jsonFormat } from './json/json.ts'
import type { FormatOptions, WrittenObject } from './options.ts'
import { checkOptions, type ObjectSource, type SourceDeps } from './source.ts'
import type { Format } from './writer.ts'
import { xmlFormat } from './xml/native.ts'

export type {
  FileChoice,
  FilePlace,
  FormatOptions,
  ShownFile,
  TableOptions,
  ToldFile,
  WrittenObject,
} from './options.ts'
export type { ObjectSource } from './source.ts'

export interface FormatInfo {
  /** As it stands in addresses: `xml_native`, `xslt/lido`. */
  readonly name: string
  /** With its character set. */
  readonly contentType: string
  /** Without a dot. */
  readonly extension: string
  /** It shows one object alone. */
  readonly single: boolean
}

export interface WriteRequest {
  readonly format: string
  readonly objects: ObjectSource
  readonly options?: FormatOptions
  readonly deadline?: Deadline
}

/** A document of its own for one object. */
export interface WrittenDocument extends WrittenObject {
  readonly uuid: string
  readonly bytes: Buffer
}

export type FormatService = ReturnType<typeof createFormatService>

export type FormatDeps = SourceDeps

export function createFormatService(deps: FormatDeps) {
  function formatOf(name: string): Format | null {
    return [jsonFormat, xmlFormat].find((format) => format.name === name) ?? null
  }

  function formatNamed(name: string): Format {
    const format = formatOf(name)
    if (!format) throw badRequest(`there is no format ${name.slice(0, 100)}`, { format: name.slice(0, 100) })
    return format
  }

  return {
    /** What is told of a format; null: there is none of this name. */
    find(name: string): FormatInfo | null {
      const format = formatOf(name)
      if (!format) return null
      const { contentType, extension, single } = format
      return { name, contentType, extension, single }
    },

    /**
     * One document of all the objects, in their order, as pieces. Objects that the actor may not read, or that are gone, are left
     * out. Nothing is read before the first piece is taken.
     * @throws {AppError} while it is taken: `MaskNotFound`, `ObjectInsufficientRights`, `ServerGeneric`
     */
    async *write(
      actor: Actor,
      { format: name, objects, options = {}, deadline = noDeadline }: WriteRequest,
    ): AsyncGenerator<Buffer> {
      checkOptions(options)
      yield* formatNamed(name).write(deps, { actor, objects, options, deadline })
    },

    /** A document of its own for each of the objects, in their order. */
    async *each(
      actor: Actor,
      { format: name, objects, options = {}, deadline = noDeadline }: WriteRequest,
    ): AsyncGenerator<WrittenDocument> {
      checkOptions(options)
      yield* formatNamed(name).each(deps, { actor, objects, options, deadline })
    },
  }
}
