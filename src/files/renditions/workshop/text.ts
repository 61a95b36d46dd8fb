import { open } from 'node:fs/promises'
import { CannotMake } from './failure.ts'
import { officeText } from './office-text.ts'
import { pdfText } from './pdf.ts'
import type { Results, TextTask } from './tasks.ts'
import { TextBuffer } from './text-buffer.ts'
import { offices, plainTexts } from './text-types.ts'

/** The text of a document, with runs of spaces and line ends reduced to one. @throws {CannotMake} */
export async function readText({ source, most }: TextTask): Promise<Results['text']> {
  const buffer = new TextBuffer(most)
  const { path, extension } = source
  if (extension === 'pdf' || extension === 'ai') {
    const { pages, sizes } = await pdfText(path, buffer)
    return { ...buffer.result(), pages, sizes }
  }
  if (offices.has(extension)) await officeText(path, extension, buffer)
  else if (plainTexts.has(extension)) await plainText(path, buffer)
  else throw new CannotMake('unreadable', `files of the type ${extension} have no text here`)
  return { ...buffer.result(), pages: null, sizes: [] }
}

/** Most bytes of a character. */
const bytesPerCharacter = 4

async function plainText(path: string, buffer: TextBuffer): Promise<void> {
  await using file = await open(path)
  const bytes = Buffer.alloc(Math.min((await file.stat()).size, bytesPerCharacter * buffer.most))
  const { bytesRead } = await file.read(bytes, 0, bytes.length, 0)
  buffer.add(decoded(bytes.subarray(0, bytesRead)))
}

/** Decodes UTF-8 and UTF-16, or else Latin-1. */
function decoded(bytes: Buffer): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder('utf-16le').decode(bytes)
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return new TextDecoder('utf-16be').decode(bytes)
  // The last character may be cut.
  const text = new TextDecoder('utf-8').decode(bytes, { stream: true })
  return text.includes('\ufffd') ? new TextDecoder('windows-1252').decode(bytes) : text
}
