/**
 * Limits for XML of other servers, checked before any other code reads it: parsers and signature checks take quadratic time for
 * some of it.
 */
export interface XmlLimits {
  readonly characters: number
  /** Elements, comments and sections of CDATA. */
  readonly pieces: number
  readonly attributes: number
  /** Namespaces declared on elements, and namespaces in scope at one place. */
  readonly namespaces: number
  readonly namespacesInScope: number
  readonly depth: number
}

/** Limits for a message: an assertion with a thousand group names has some 2000 elements. */
export const messageLimits: XmlLimits = {
  characters: 256 * 1024,
  pieces: 3000,
  attributes: 6000,
  namespaces: 3000,
  namespacesInScope: 40,
  depth: 40,
}

/** Limits for metadata, which are configured, or requested from a configured address. */
export const metadataLimits: XmlLimits = {
  characters: 1024 * 1024,
  pieces: 10_000,
  attributes: 20_000,
  namespaces: 5000,
  namespacesInScope: 40,
  depth: 20,
}

/** Maximum number of attributes of one element, and of characters of a name. */
const [mostAttributes, longestName] = [40, 500]

const space = /[ \t\r\n]*/y
const nameOf = /[\p{L}_:][\p{L}\p{N}\p{M}_:.-]*/uy
const declaration = /<\?xml[ \t\r\n][^?<>]*\?>/y

/**
 * Refuses XML that no SAML message contains, or that exceeds the limits: entities, which may name files or grow without limit,
 * endless nesting, and XML that is not well-formed, which two parsers could read differently. It walks over the text once.
 * @throws {Error} with the reason
 */
export function assertHarmlessXml(xml: string, limits: XmlLimits): void {
  if (xml.length > limits.characters) throw new Error('the XML is too long')
  const walk = new Walk(xml, limits)
  walk.whole()
}

class Walk {
  readonly #xml: string
  readonly #limits: XmlLimits
  #at = 0
  #pieces = 0
  #attributes = 0
  #namespaces = 0
  #inScope = 0
  #roots = 0
  /** Open elements, with the number of namespaces that each declares. */
  readonly #open: { readonly name: string; readonly namespaces: number }[] = []

  constructor(xml: string, limits: XmlLimits) {
    this.#xml = xml
    this.#limits = limits
  }

  whole(): void {
    if (this.#xml.startsWith('\ufeff')) this.#at = 1
    this.#matched(declaration)
    for (;;) {
      const next = this.#xml.indexOf('<', this.#at)
      this.#text(next < 0 ? this.#xml.length : next)
      if (next < 0) break
      this.#markup()
    }
    if (this.#open.length > 0 || this.#roots !== 1) throw broken()
  }

  #text(end: number): void {
    const text = this.#xml.slice(this.#at, end)
    if (this.#open.length === 0 && text.trim() !== '') throw broken()
    this.#at = end
  }

  #markup(): void {
    if (++this.#pieces > this.#limits.pieces) throw new Error('the XML has too many elements')
    if (this.#begins('<!--')) this.#skip('<!--', '-->')
    else if (this.#begins('<![CDATA[') && this.#open.length > 0) this.#skip('<![CDATA[', ']]>')
    else if (this.#begins('<!') || this.#begins('<?')) {
      throw new Error('the XML has a document type or instructions')
    } else if (this.#begins('</')) this.#endTag()
    else this.#startTag()
  }

  #begins(text: string): boolean {
    return this.#xml.startsWith(text, this.#at)
  }

  #skip(start: string, end: string): void {
    const found = this.#xml.indexOf(end, this.#at + start.length)
    if (found < 0) throw broken()
    this.#at = found + end.length
  }

  #endTag(): void {
    this.#at += 2
    const name = this.#name()
    this.#matched(space)
    this.#expect('>')
    const opened = this.#open.pop()
    if (opened?.name !== name) throw broken()
    this.#inScope -= opened.namespaces
  }

  #startTag(): void {
    this.#at += 1
    const name = this.#name()
    if (this.#open.length === 0) this.#roots++
    const namespaces = this.#attributesOf()
    const empty = this.#begins('/')
    if (empty) this.#at += 1
    this.#expect('>')
    if (empty) return
    this.#open.push({ name, namespaces })
    this.#inScope += namespaces
    if (this.#open.length > this.#limits.depth) throw new Error('the XML is nested too deep')
  }

  /** Returns the number of namespaces that they declare. */
  #attributesOf(): number {
    const names = new Set<string>()
    let namespaces = 0
    for (;;) {
      const spaced = this.#matched(space) !== ''
      if (this.#begins('>') || this.#begins('/')) break
      if (!spaced) throw broken()
      const name = this.#name()
      if (names.has(name)) throw new Error('the XML has an attribute twice')
      names.add(name)
      if (name === 'xmlns' || name.startsWith('xmlns:')) namespaces++
      this.#value()
      if (names.size > mostAttributes) throw new Error('the XML has too many attributes')
    }
    this.#attributes += names.size
    this.#namespaces += namespaces
    if (this.#attributes > this.#limits.attributes) throw new Error('the XML has too many attributes')
    if (this.#namespaces > this.#limits.namespaces || this.#inScope + namespaces > this.#limits.namespacesInScope) {
      throw new Error('the XML has too many namespaces')
    }
    return namespaces
  }

  #value(): void {
    this.#matched(space)
    this.#expect('=')
    this.#matched(space)
    const quote = this.#xml[this.#at]
    if (quote !== '"' && quote !== "'") throw broken()
    const end = this.#xml.indexOf(quote, this.#at + 1)
    if (end < 0 || this.#xml.slice(this.#at + 1, end).includes('<')) throw broken()
    this.#at = end + 1
  }

  #name(): string {
    const name = this.#matched(nameOf)
    if (name === '') throw broken()
    if (name.length > longestName) throw new Error('the XML has a name that is too long')
    return name
  }

  #expect(character: string): void {
    if (this.#xml[this.#at] !== character) throw broken()
    this.#at += 1
  }

  /** The matching text at the current position, which is then behind it; empty: no match. */
  #matched(pattern: RegExp): string {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#xml)?.[0] ?? ''
    this.#at += found.length
    return found
  }
}

const broken = (): Error => new Error('the XML is not well-formed')
