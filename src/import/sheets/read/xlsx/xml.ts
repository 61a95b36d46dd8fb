import sax, { type SAXOptions } from 'sax'
import { limits, SheetError } from '../../limits.ts'

/** What is told while XML is read; names are without prefix. */
export interface XmlHandlers {
  open(name: string, attributes: Readonly<Record<string, string>>): void
  close(name: string): void
  text(text: string): void
}

/** The declarations of the library lack the second: no entities but the five of XML. */
const options: SAXOptions & { strictEntities: boolean } = { position: false, strictEntities: true }

/**
 * Reads XML a piece at a time; after each piece the caller may take what the handlers have gathered. There are no
 * document types, so nobody can define entities; depth and attributes are bounded, and the library bounds names and values.
 * @throws {SheetError} when it is no XML, or more than a spreadsheet needs.
 */
export async function* readXml(pieces: AsyncIterable<string>, handlers: XmlHandlers): AsyncGenerator<void> {
  const parser = sax.parser(true, options)
  let [depth, attributes] = [0, 0]
  const broken = (why: string): never => {
    throw new SheetError(`it is broken: ${why}`)
  }
  parser.onerror = (error) => broken(error.message.split('\n')[0] ?? 'no XML')
  parser.ondoctype = () => broken('spreadsheets define no document types')
  // An own list of definitions is found before the end of the document type.
  parser.onsgmldeclaration = () => broken('spreadsheets define nothing of their own')
  parser.onopentagstart = () => {
    attributes = 0
    depth++
    if (depth > limits.xmlDepth) broken('its parts lie too deep in each other')
  }
  parser.onattribute = () => {
    attributes++
    if (attributes > limits.xmlAttributes) broken('a part has too many attributes')
  }
  parser.onopentag = ({ name, attributes: found }) => handlers.open(local(name), found as Record<string, string>)
  parser.onclosetag = (name) => {
    depth--
    handlers.close(local(name))
  }
  parser.ontext = (text) => handlers.text(text)
  parser.oncdata = (text) => handlers.text(text)
  for await (const piece of pieces) {
    parser.write(piece)
    yield
  }
  parser.close()
  yield
}

/** Reads all of it, for parts whose handlers bound what they keep. */
export async function readAllXml(pieces: AsyncIterable<string>, handlers: XmlHandlers): Promise<void> {
  for await (const _ of readXml(pieces, handlers));
}

function local(name: string): string {
  return name.slice(name.indexOf(':') + 1)
}
