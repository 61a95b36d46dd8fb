export interface XmlTextOptions {
  /** Elements whose text counts, with all that stands in them. */
  readonly text: ReadonlySet<string>
  /** Elements that end a line. */
  readonly breaks: ReadonlySet<string>
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

/** Of markup that does not end so much is waited for. */
const longestMarkup = 1_000_000
/** An entity is no longer. */
const longestEntity = 12

/**
 * The text of elements, from XML that comes in pieces of any size. It knows the five entities of XML and numbers, nothing that a
 * document declares itself: whatever that names is neither read nor multiplied.
 */
export class XmlText {
  readonly #options: XmlTextOptions
  readonly #give: (text: string) => void
  #rest = ''
  /** Elements with text that are open. */
  #depth = 0

  constructor(options: XmlTextOptions, give: (text: string) => void) {
    this.#options = options
    this.#give = give
  }

  push(piece: string): void {
    const xml = this.#rest + piece
    let at = 0
    for (;;) {
      const open = xml.indexOf('<', at)
      if (open === -1) {
        // What may be the beginning of an entity waits for the next piece.
        const amp = xml.lastIndexOf('&')
        const end = amp >= at && xml.length - amp < longestEntity && !xml.includes(';', amp) ? amp : xml.length
        this.#text(xml.slice(at, end))
        at = end
        break
      }
      this.#text(xml.slice(at, open))
      const close = this.#markupEnd(xml, open)
      if (close === -1) {
        at = xml.length - open > longestMarkup ? xml.length : open
        break
      }
      this.#markup(xml.slice(open, close))
      at = close
    }
    this.#rest = xml.slice(at)
  }

  /** Behind the markup that begins there; -1: it goes on in the next piece. */
  #markupEnd(xml: string, open: number): number {
    const ends: readonly (readonly [string, string])[] = [
      ['<!--', '-->'],
      ['<![CDATA[', ']]>'],
      ['<?', '?>'],
    ]
    for (const [start, end] of ends) {
      if (!xml.startsWith(start, open)) continue
      const at = xml.indexOf(end, open + start.length)
      return at === -1 ? -1 : at + end.length
    }
    // It may be one of these, of which a part has come.
    if (xml.length - open < 9 && '<![CDATA['.startsWith(xml.slice(open))) return -1
    let quote = ''
    for (let at = open + 1; at < xml.length; at++) {
      const letter = xml[at] as string
      if (quote !== '') {
        if (letter === quote) quote = ''
      } else if (letter === '"' || letter === "'") quote = letter
      else if (letter === '>') return at + 1
    }
    return -1
  }

  #markup(markup: string): void {
    if (markup.startsWith('<![CDATA[')) {
      if (this.#depth > 0) this.#give(markup.slice(9, -3))
      return
    }
    const [, slash, name = ''] = /^<(\/?)([^\s/>!?]+)/.exec(markup) ?? []
    if (name === '') return
    const empty = markup.endsWith('/>')
    if (this.#options.breaks.has(name) && (slash === '/' || empty)) this.#give('\n')
    if (!this.#options.text.has(name) || empty) return
    this.#depth = Math.max(0, this.#depth + (slash === '/' ? -1 : 1))
  }

  #text(text: string): void {
    if (this.#depth === 0 || text === '') return
    this.#give(text.replaceAll(/&(#x[\da-f]{1,6}|#\d{1,7}|[a-z][\w.-]{0,60});/gi, (_, name: string) => entityOf(name)))
  }
}

function entityOf(name: string): string {
  if (!name.startsWith('#')) return entities[name] ?? ' '
  const code = name[1] === 'x' || name[1] === 'X' ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1))
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : ' '
}
