import type { Model } from '../datamodel/model.ts'
import type { Actor } from '../platform/actor.ts'
import type { Deadline } from '../platform/limits/deadline.ts'
import type { FormatOptions } from './options.ts'
import type { SourceObject } from './source.ts'

/** The reader of a document, and the options for it. */
export interface WriteContext {
  readonly actor: Actor
  readonly options: FormatOptions
  readonly deadline: Deadline
  readonly model: Model
}

/** Makes documents of objects. */
export interface Format {
  readonly name: string
  readonly contentType: string
  readonly extension: string
  /** It writes a single object only: a page for people. */
  readonly single: boolean
  /** It shows fields of linked objects, so these are read whatever the options say. */
  readonly linked?: boolean
  /** The format with its data, which is loaded once for all objects of a request. */
  begin?(): Promise<Format>
  /** A document of all objects, as pieces. @throws {AppError} before the first piece for unsupported options */
  write(objects: AsyncIterable<SourceObject>, context: WriteContext): AsyncIterable<Buffer>
  /** The document of one object, where that differs from a list of one. */
  one?(object: SourceObject, context: WriteContext): Buffer | Promise<Buffer>
  /** A document for each object, in their order, all made at once. */
  parts?(objects: AsyncIterable<SourceObject>, context: WriteContext): Promise<readonly string[]>
}

/** A format whose data is loaded when a document is begun. */
export function begunFormat(
  shape: Pick<Format, 'name' | 'contentType' | 'extension' | 'single' | 'linked'>,
  begin: () => Promise<Format>,
): Format {
  return {
    ...shape,
    begin,
    async *write(objects, context) {
      yield* (await begin()).write(objects, context)
    },
  }
}

/** Approximate characters of a piece. */
const pieceLength = 64 * 1024

/** Joins texts to pieces of about equal size. */
export async function* inPieces(texts: AsyncIterable<string> | Iterable<string>): AsyncGenerator<Buffer> {
  let piece = ''
  for await (const text of texts) {
    piece += text
    if (piece.length < pieceLength) continue
    yield Buffer.from(piece)
    piece = ''
  }
  if (piece !== '') yield Buffer.from(piece)
}
