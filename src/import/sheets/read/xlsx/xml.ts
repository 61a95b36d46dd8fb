import { createXmlReader, XmlError, type XmlHandlers } from '../../../../platform/xml/reader.ts'
import { SheetError } from '../../limits.ts'

/**
 * Reads a part a piece at a time; after each piece the caller may take the results of the handlers. Names are passed without
 * prefix.
 * @throws {SheetError} when it is no XML, or exceeds the limits for spreadsheets.
 */
export async function* readXml(pieces: AsyncIterable<string>, handlers: XmlHandlers): AsyncGenerator<void> {
  const reader = createXmlReader({
    open: (name, attributes) => handlers.open(local(name), attributes),
    close: (name) => handlers.close(local(name)),
    text: handlers.text,
  })
  for await (const piece of pieces) {
    orBroken(() => reader.write(piece))
    yield
  }
  orBroken(() => reader.end())
  yield
}

/** Reads all of it, for parts whose handlers limit their results. */
export async function readAllXml(pieces: AsyncIterable<string>, handlers: XmlHandlers): Promise<void> {
  for await (const _ of readXml(pieces, handlers));
}

function orBroken(read: () => void): void {
  try {
    read()
  } catch (error) {
    throw error instanceof XmlError ? new SheetError(`it is broken: ${error.message}`) : error
  }
}

function local(name: string): string {
  return name.slice(name.indexOf(':') + 1)
}
