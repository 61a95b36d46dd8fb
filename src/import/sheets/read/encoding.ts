import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { SheetError } from '../limits.ts'

/** Bytes at the beginning of the file from which dialect and UTF-16 are detected. */
const sampleBytes = 256 * 1024

/**
 * The encoding of a text file, detected from its whole content: a byte order mark, the zero bytes of UTF-16, UTF-8 if all of it is
 * valid, else Windows-1252, in which every byte is a character.
 */
export async function findEncoding(file: string): Promise<string> {
  const start = await beginning(file)
  if (start[0] === 0xff && start[1] === 0xfe) return 'utf-16le'
  if (start[0] === 0xfe && start[1] === 0xff) return 'utf-16be'
  const pairs = Math.floor(start.length / 2)
  let [even, odd] = [0, 0]
  for (let at = 0; at < pairs * 2; at += 2) {
    if (start[at] === 0) even++
    if (start[at + 1] === 0) odd++
  }
  // In UTF-16 most letters of European languages have a zero byte; in the other encodings no text has one.
  if (odd > pairs * 0.3 && odd > even) return 'utf-16le'
  if (even > pairs * 0.3 && even > odd) return 'utf-16be'
  return (await isUtf8(file)) ? 'utf-8' : 'windows-1252'
}

async function isUtf8(file: string): Promise<boolean> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  try {
    for await (const chunk of createReadStream(file, { highWaterMark: 1024 * 1024 })) {
      decoder.decode(chunk as Buffer, { stream: true })
    }
    decoder.decode()
    return true
  } catch (error) {
    if (error instanceof TypeError) return false
    throw error
  }
}

/** The name of the encoding as the standard writes it. @throws {SheetError} when it is unknown. */
export function knownEncoding(label: string): string {
  try {
    return new TextDecoder(label).encoding
  } catch {
    throw new SheetError(`there is no encoding "${label}": try utf-8, windows-1252 or utf-16le`)
  }
}

/** The text of a file in pieces, without its byte order mark. @throws {SheetError} where it is not in that encoding. */
export async function* textOf(file: string, encoding: string): AsyncGenerator<string> {
  const decoder = new TextDecoder(encoding, { fatal: true })
  const decoded = (chunk?: Buffer): string => {
    try {
      return chunk ? decoder.decode(chunk, { stream: true }) : decoder.decode()
    } catch {
      throw new SheetError(`it is not in ${encoding}: name its encoding by --encoding, windows-1252 for example`)
    }
  }
  for await (const chunk of createReadStream(file, { highWaterMark: 256 * 1024 })) yield decoded(chunk as Buffer)
  yield decoded()
}

/** The first characters of a file, and whether this is the whole file. */
export async function sampleOf(file: string, encoding: string): Promise<{ text: string; whole: boolean }> {
  const bytes = await beginning(file)
  return { text: new TextDecoder(encoding).decode(bytes), whole: bytes.length < sampleBytes }
}

async function beginning(file: string): Promise<Buffer> {
  await using handle = await open(file)
  const { bytesRead, buffer } = await handle.read(Buffer.alloc(sampleBytes), 0, sampleBytes, 0)
  return buffer.subarray(0, bytesRead)
}
