import type { WrittenObject } from './options.ts'
import type { Asked, SourceDeps } from './source.ts'

/** What makes documents of objects. */
export interface Format {
  readonly name: string
  readonly contentType: string
  readonly extension: string
  /** One object alone: a page for people. */
  readonly single: boolean
  /** One document of all. */
  write(deps: SourceDeps, asked: Asked): AsyncIterable<Buffer>
  /** One for each. */
  each(deps: SourceDeps, asked: Asked): AsyncIterable<WrittenObject & { readonly uuid: string; readonly bytes: Buffer }>
}

/** Letters of a piece, about. */
const pieceLength = 64 * 1024

/** Texts put together to pieces of some size. */
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

/** What a text of the object says in one of these languages, else in any. */
export function inLanguage(texts: Readonly<Record<string, string>>, languages: readonly string[]): string {
  const language = languages.find((one) => texts[one])
  return (language === undefined ? Object.values(texts)[0] : texts[language]) ?? ''
}
