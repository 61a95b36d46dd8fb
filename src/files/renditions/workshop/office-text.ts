import { createXmlReader, XmlError } from '../../../platform/xml/reader.ts'
import { type Archive, type ArchiveEntry, BadArchive, openArchive } from '../../archives/open.ts'
import { CannotMake } from './failure.ts'
import type { TextBuffer } from './text-buffer.ts'
import { textHandlers, type XmlTextOptions } from './xml-text.ts'

/** Most entries that are read; a document of a thousand pages has a few thousand. */
const mostEntries = 20_000
/** Most bytes of unpacked XML that are read of one document. */
const mostBytes = 200_000_000

interface Format {
  /** Entries with text. */
  readonly parts: RegExp
  readonly xml: XmlTextOptions
}

const word: Format = {
  parts: /^word\/(document|footnotes|endnotes|comments|header\d*|footer\d*)\.xml$/,
  xml: { text: new Set(['w:t']), breaks: new Set(['w:p', 'w:br', 'w:tab', 'w:tc']) },
}
const slides: Format = {
  parts: /^ppt\/(slides|notesSlides)\/[^/]+\.xml$/,
  xml: { text: new Set(['a:t']), breaks: new Set(['a:p', 'a:br', 'a:tc']) },
}
const sheets: Format = {
  parts: /^xl\/(sharedStrings|worksheets\/[^/]+|comments\d*)\.xml$/,
  xml: { text: new Set(['t']), breaks: new Set(['si', 'is', 'row', 'comment']) },
}
const openDocument: Format = {
  parts: /^content\.xml$/,
  xml: {
    text: new Set(['text:p', 'text:h']),
    breaks: new Set(['text:p', 'text:h', 'text:line-break', 'text:tab', 'text:s', 'table:table-cell']),
  },
}

const formats: Readonly<Record<string, Format>> = {
  docx: word,
  docm: word,
  dotx: word,
  pptx: slides,
  ppsx: slides,
  xlsx: sheets,
  odt: openDocument,
  ods: openDocument,
  odp: openDocument,
}

/** The text of a document, in the order of its parts. @throws {CannotMake} when it is broken. */
export async function officeText(path: string, extension: string, buffer: TextBuffer): Promise<void> {
  const format = formats[extension]
  if (!format) throw new CannotMake('unreadable', `there is no text in ${extension}`)
  try {
    await using archive = await openArchive(path)
    const budget = { bytes: mostBytes }
    for (const entry of await partsOf(archive, format.parts)) {
      if (buffer.full || budget.bytes <= 0) return
      await readPart(archive, entry, format.xml, buffer, budget)
      buffer.add('\n')
    }
  } catch (cause) {
    if (cause instanceof BadArchive) throw new CannotMake('unreadable', cause.message, { cause })
    throw cause
  }
}

/** In the order of their numbers: `slide2` before `slide10`. */
async function partsOf(archive: Archive, parts: RegExp): Promise<ArchiveEntry[]> {
  const found: ArchiveEntry[] = []
  let looked = 0
  for await (const entry of archive.entries()) {
    if (++looked > mostEntries) throw new CannotMake('unreadable', 'it has too many parts')
    if (parts.test(entry.path)) found.push(entry)
  }
  const { compare } = new Intl.Collator('en', { numeric: true })
  return found.sort((a, b) => compare(a.path, b.path))
}

async function readPart(
  archive: Archive,
  entry: ArchiveEntry,
  options: XmlTextOptions,
  buffer: TextBuffer,
  budget: { bytes: number },
): Promise<void> {
  const xml = createXmlReader(textHandlers(options, (text) => buffer.add(text)))
  const decoder = new TextDecoder('utf-8')
  const stream = await archive.read(entry)
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      budget.bytes -= chunk.length
      xml.write(decoder.decode(chunk, { stream: true }))
      if (buffer.full || budget.bytes <= 0) return
    }
  } catch (cause) {
    // Text before the error still counts.
    if (cause instanceof XmlError) return
    throw new BadArchive(cause instanceof Error ? cause.message : 'it is broken', { cause })
  } finally {
    stream.destroy()
  }
}
