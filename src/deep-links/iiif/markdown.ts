/** Markdown as the HTML that IIIF allows in a manifest: few elements, and no scripts. */
import { Marked, type Tokens } from 'marked'
import { escapeMarkup } from '../../platform/values/markup.ts'

/** Most characters that are parsed as Markdown; longer texts are shown unchanged. */
const longest = 20_000

/** Allowed addresses of links in texts. */
const harmless = /^(https?:\/\/|mailto:)/i

const reader = new Marked({ gfm: true, breaks: true, async: false })

/** The text in one element, as viewers expect it of HTML values. */
export function markdownToHtml(text: string): string {
  if (text.length > longest) return `<span>${escapeMarkup(text)}</span>`
  return `<span>${reader.parse(text, { async: false }).trim()}</span>`
}

function link(href: string, text: string): string {
  return harmless.test(href) ? `<a href="${escapeMarkup(href)}">${text}</a>` : text
}

const line = (text: string): string => `${text}<br>`

reader.use({
  renderer: {
    html: ({ text }) => escapeMarkup(text),
    text(token) {
      return 'tokens' in token && token.tokens
        ? this.parser.parseInline(token.tokens)
        : escapeMarkup(plainText(token.text))
    },
    code: ({ text }) => `<p>${escapeMarkup(text)}</p>`,
    codespan: ({ text }) => `<span>${escapeMarkup(plainText(text))}</span>`,
    blockquote({ tokens }) {
      return this.parser.parse(tokens)
    },
    heading({ tokens }) {
      return `<p><b>${this.parser.parseInline(tokens)}</b></p>`
    },
    hr: () => '<br>',
    list({ items, ordered, start }) {
      const texts = items.map((item, index) => {
        const mark = item.task ? (item.checked ? '☑' : '☐') : ordered ? `${Number(start) + index}.` : '•'
        return `${mark} ${this.listitem(item)}`
      })
      return `<p>${texts.join('<br>')}</p>`
    },
    listitem({ tokens }) {
      return this.parser.parse(tokens)
    },
    checkbox: () => '',
    paragraph({ tokens }) {
      return `<p>${this.parser.parseInline(tokens)}</p>`
    },
    strong({ tokens }) {
      return `<b>${this.parser.parseInline(tokens)}</b>`
    },
    em({ tokens }) {
      return `<i>${this.parser.parseInline(tokens)}</i>`
    },
    del({ tokens }) {
      return `<span>${this.parser.parseInline(tokens)}</span>`
    },
    br: () => '<br>',
    link({ href, tokens }) {
      return link(href, this.parser.parseInline(tokens))
    },
    // Pictures of other servers would reveal to these servers who views the object.
    image: ({ href, text }) => link(href, escapeMarkup(text)),
    table({ header, rows }) {
      const row = (cells: Tokens.TableCell[]): string =>
        line(cells.map(({ tokens }) => this.parser.parseInline(tokens)).join(' | '))
      return `<p>${[header, ...rows].map(row).join('')}</p>`
    },
  },
})

/** Marked has already escaped some characters of texts. */
function plainText(text: string): string {
  return text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
}
