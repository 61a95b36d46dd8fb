import type { XmlHandlers } from '../../../platform/xml/reader.ts'

export interface XmlTextOptions {
  /** Elements whose text counts, with all their content. */
  readonly text: ReadonlySet<string>
  /** Elements that end a line. */
  readonly breaks: ReadonlySet<string>
}

/** The text of elements. */
export function textHandlers({ text, breaks }: XmlTextOptions, give: (text: string) => void): XmlHandlers {
  /** Number of open elements with text. */
  let depth = 0
  return {
    open(name) {
      if (text.has(name)) depth++
    },
    close(name) {
      if (text.has(name)) depth--
      if (breaks.has(name)) give('\n')
    },
    text(piece) {
      if (depth > 0) give(piece)
    },
  }
}
