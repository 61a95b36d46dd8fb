import { createRequire } from 'node:module'

/** The used parts of documents: the library's own types would add the browser's types to the whole project. */
export interface XmlNode {
  readonly localName: string | null
  readonly namespaceURI: string | null
  readonly parentNode: XmlNode | null
  readonly childNodes: ArrayLike<XmlNode>
  readonly textContent: string | null
  getAttribute(name: string): string | null
  getElementsByTagNameNS(namespace: string, name: string): ArrayLike<XmlNode>
  toString(): string
}

export interface XmlDocument extends XmlNode {
  readonly documentElement: XmlNode | null
}

interface Library {
  readonly DOMParser: new (options: object) => { parseFromString(xml: string, type: string): XmlDocument }
}

const require = createRequire(import.meta.url)
const { DOMParser } = require('@xmldom/xmldom') as Library

/** Parses a small document as a whole. @throws {Error} for all mistakes that a tolerant reader would repair. */
export function parseXml(xml: string): XmlDocument {
  const fail = (message: string): never => {
    throw new Error(message)
  }
  const errorHandler = { warning: () => {}, error: fail, fatalError: fail }
  return new DOMParser({ errorHandler }).parseFromString(xml, 'text/xml')
}
