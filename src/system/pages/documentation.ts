/** The documentation of the service, as pages: the same files as in the checkout and in the package. */
import { readdir, readFile } from 'node:fs/promises'
import { basename, dirname, join, normalize } from 'node:path'
import { Marked, type Tokens } from 'marked'
import { html } from '../../platform/values/html.ts'
import { Html } from '../../platform/values/trusted-html.ts'

export interface DocumentationPage {
  readonly title: string
  readonly content: Html
}

const root = join(import.meta.dirname, '..', '..', '..')

/** Files beside the folder `docs`; files that a package does not contain are left out. */
const besides = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md']

/** Files of the documentation by the name that they have as pages: `search`, `readme`. */
export async function documentationFiles(): Promise<ReadonlyMap<string, string>> {
  const [docs, others] = await Promise.all([readdir(join(root, 'docs')), readdir(root)])
  const files = [
    ...docs.filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`),
    ...besides.filter((name) => others.includes(name)),
  ]
  return new Map(files.sort().map((file) => [pageName(file), file]))
}

const pageName = (file: string): string => basename(file, '.md').toLowerCase()

/** One file as a page. Links to other pages lead there, links to files of the source are text. */
export async function documentationPage(file: string, files: ReadonlyMap<string, string>): Promise<DocumentationPage> {
  const source = await readFile(join(root, file), 'utf8')
  const anchors = new Map<string, number>()
  const marked = new Marked({ gfm: true })
  let title = ''
  marked.use({
    async: true,
    walkTokens: async (token) => {
      if (token.type === 'image') token.href = await pictureData((token as Tokens.Image).href, file)
    },
    renderer: {
      heading({ tokens, depth, text }: Tokens.Heading) {
        if (depth === 1 && title === '') {
          title = text
          return ''
        }
        return `<h${depth} id="${anchorOf(text, anchors)}">${this.parser.parseInline(tokens)}</h${depth}>\n`
      },
      link({ href, tokens }: Tokens.Link) {
        const content = this.parser.parseInline(tokens)
        const address = linkOf(href, file, files)
        return address === null ? content : html`<a href="${address}">${new Html(content)}</a>`.toString()
      },
      table({ header, rows }: Tokens.Table) {
        const cells = (row: readonly Tokens.TableCell[], tag: string) =>
          // A header row without text is left out.
          row.map(({ text, tokens }) =>
            text === '' ? '<td></td>' : `<${tag}>${this.parser.parseInline(tokens)}</${tag}>`,
          )
        const lines = rows.map((row) => `<tr>${cells(row, 'td').join('')}</tr>`)
        // Wider than the screen of a phone: it can be scrolled, and focused with the keyboard.
        return `<div class="scroll" tabindex="0"><table><thead><tr>${cells(header, 'th').join('')}</tr></thead><tbody>${lines.join('\n')}</tbody></table></div>\n`
      },
      code({ text }: Tokens.Code) {
        return html`<pre tabindex="0"><code>${text}</code></pre>`.toString()
      },
    },
  })
  const content = await marked.parse(source)
  return { title: title || pageName(file), content: html`<article lang="en">${new Html(content)}</article>` }
}

/** The same anchors as on the platforms where the files are usually read, so that links work at both places. */
function anchorOf(text: string, taken: Map<string, number>): string {
  const plain = text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
  const times = taken.get(plain) ?? 0
  taken.set(plain, times + 1)
  return times === 0 ? plain : `${plain}-${times}`
}

/** A drawing beside the files, embedded in the page: an address for it would become part of the interface. */
async function pictureData(href: string, file: string): Promise<string> {
  const drawing = await readFile(join(root, dirname(file), href))
  return `data:image/svg+xml;base64,${drawing.toString('base64')}`
}

/** The address of a link in a file; null when its target is a file without a page. */
function linkOf(href: string, file: string, files: ReadonlyMap<string, string>): string | null {
  if (href.startsWith('#') || /^(https?|mailto):/.test(href)) return href
  const [path = '', anchor] = href.split('#')
  const target = normalize(join(dirname(file), path))
  const name = pageName(target)
  return files.get(name) === target ? `${name}${anchor === undefined ? '' : `#${anchor}`}` : null
}
