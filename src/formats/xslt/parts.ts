/** Splits a document that a sheet has made of many objects: one part for each object. */
import { randomUUID } from 'node:crypto'

/** The default beginning of parts: each element at the top. */
const usual = '/*'

export interface Splitting {
  /** The style sheet that puts each part into an element with this name. */
  readonly sheet: string
  readonly marker: string
}

/** `select` is an XPath expression; it may use the prefixes bound by the sheet. */
export function splittingBy(select: string, sheet: string): Splitting {
  const marker = `part-${randomUUID()}`
  const expression = (select || usual).replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`)
  const parts = `<xsl:for-each${prefixesOf(sheet)} select="${expression}"><${marker}><xsl:copy-of select="."/></${marker}></xsl:for-each>`
  return {
    marker,
    sheet:
      '<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">' +
      '<xsl:output method="xml" encoding="UTF-8" omit-xml-declaration="yes" indent="no"/>' +
      `<xsl:template match="/"><parts>${parts}</parts></xsl:template></xsl:stylesheet>`,
  }
}

/** Prefixes declared by the sheet, each with its first declaration. */
function prefixesOf(sheet: string): string {
  const found = new Map<string, string>()
  for (const [, prefix = '', value = ''] of sheet.matchAll(
    /\sxmlns:([A-Za-z_][\w.-]{0,100})=("[^"<]{0,2000}"|'[^'<]{0,2000}')/g,
  )) {
    if (!found.has(prefix) && prefix !== 'xsl') found.set(prefix, value)
  }
  return [...found].map(([prefix, value]) => ` xmlns:${prefix}=${value}`).join('')
}

/** The parts of the splitting sheet's output. Nothing else has its marker. */
export function partsOf(text: string, { marker }: Splitting): readonly string[] {
  const [begin, end, empty] = [`<${marker}`, `</${marker}>`, `<${marker}/>`]
  const parts: string[] = []
  for (let at = text.indexOf(begin); at >= 0; at = text.indexOf(begin, at)) {
    if (text.startsWith(empty, at)) {
      parts.push('')
      at += empty.length
      continue
    }
    const from = text.indexOf('>', at) + 1
    const to = text.indexOf(end, from)
    parts.push(text.slice(from, to))
    at = to + end.length
  }
  return parts
}
