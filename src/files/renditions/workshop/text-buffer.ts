/** Collects a text in pieces until there is enough. */
export class TextBuffer {
  readonly most: number
  #text = ''
  #cut = false

  constructor(most: number) {
    this.most = most
  }

  get full(): boolean {
    return this.#cut
  }

  add(text: string): void {
    if (this.#cut) return
    // Characters that databases do not store, and that are invisible.
    const piece = text
      .toWellFormed()
      .replaceAll(/[\0-\x08\x0b\x0c\x0e-\x1f\ufffd]/g, ' ')
      .replaceAll(/[ \t]+/g, ' ')
    this.#text += piece
    if (this.#text.length <= this.most) return
    this.#text = this.#text.slice(0, this.most).toWellFormed()
    this.#cut = true
  }

  result(): { text: string; cut: boolean } {
    return { text: linesOf(this.#text), cut: this.#cut }
  }
}

/** Removes spaces at the ends of lines, and empty lines. */
function linesOf(text: string): string {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join('\n')
}
