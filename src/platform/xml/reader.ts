import sax, { type SAXOptions } from 'sax'

/** Events while XML is read; names are unchanged, with their prefix. */
export interface XmlHandlers {
  open(name: string, attributes: Readonly<Record<string, string>>): void
  close(name: string): void
  text(text: string): void
}

export interface XmlReader {
  /** @throws {XmlError} */
  write(piece: string): void
  /** Ends the input. @throws {XmlError} when an element is still open. */
  end(): void
}

/** The text is no XML, or exceeds a limit; errors of handlers are passed on as they are. */
export class XmlError extends Error {}

/** Maximum depth of elements, and maximum number of attributes of one element. */
const [mostDepth, mostAttributes] = [100, 200]

/** The declarations of the library lack the second option: no entities except the five of XML. */
const options: SAXOptions & { strictEntities: boolean } = { position: false, strictEntities: true }

/**
 * Reads XML a piece at a time. There are no document types, so no document can define entities; depth and attributes are limited
 * here, and the library limits names and values.
 */
export function createXmlReader(handlers: XmlHandlers): XmlReader {
  const parser = sax.parser(true, options)
  let [depth, attributes] = [0, 0]
  const broken = (why: string): never => {
    throw new XmlError(why)
  }
  parser.onerror = (error) => broken(error.message.split('\n')[0] ?? 'no XML')
  parser.ondoctype = () => broken('it defines a document type')
  // An internal subset with definitions is found before the end of the document type.
  parser.onsgmldeclaration = () => broken('it defines something of its own')
  parser.onopentagstart = () => {
    attributes = 0
    depth++
    if (depth > mostDepth) broken('its parts lie too deep in each other')
  }
  parser.onattribute = () => {
    attributes++
    if (attributes > mostAttributes) broken('a part has too many attributes')
  }
  parser.onopentag = ({ name, attributes: found }) => handlers.open(name, found as Record<string, string>)
  parser.onclosetag = (name) => {
    depth--
    handlers.close(name)
  }
  parser.ontext = (text) => handlers.text(text)
  parser.oncdata = (text) => handlers.text(text)
  return { write: (piece) => void parser.write(piece), end: () => void parser.close() }
}
