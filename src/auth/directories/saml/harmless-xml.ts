/** Characters; elements within each other. */
export const longestXml = 1024 * 1024
const deepestXml = 60

/**
 * Refuses what no message of SAML has, before anything reads it: entities, which may name files or grow without end, and
 * elements in each other without end.
 * @throws {Error}
 */
export function assertHarmlessXml(xml: string, longest = longestXml): void {
  if (xml.length > longest) throw new Error('the XML is too long')
  if (/<!(?!\[CDATA\[|--)|<\?(?!xml[\s?])/i.test(xml)) throw new Error('the XML has a document type or instructions')
  let depth = 0
  for (const [tag] of xml.matchAll(/<(?:\/|[^!?/>])[^>]*>/g)) {
    if (tag.startsWith('</')) depth--
    else if (!tag.endsWith('/>')) depth++
    if (depth > deepestXml) throw new Error('the XML is nested too deep')
  }
}
