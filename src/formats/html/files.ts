/** Files of an object on its page: pictures, films and sounds as such, others as links. */

import { type FieldTree, type FileTree, fileLists, type VersionTree } from '../../objects/service.ts'
import { type Html, html, joined, nothing } from '../../platform/values/html.ts'
import type { PageTexts } from './texts.ts'

export interface Media {
  readonly html: Html
  /** Addresses of pictures. */
  readonly images: readonly string[]
  /** All addresses from which the page loads media. */
  readonly sources: readonly string[]
}

const pictures = ['jpg', 'jpeg', 'png', 'gif', 'webp', 'svg', 'avif']
const films = ['mp4', 'webm']
const sounds = ['mp3', 'm4a', 'aac', 'ogg', 'wav']

/** The files of all fields, including those in rows; the preferred file of each field comes first. */
export function mediaOf(fields: readonly FieldTree[], title: string, words: PageTexts): Media {
  const files = fileLists(fields).flatMap((list) => list.files.toSorted((a, b) => rank(a) - rank(b)))
  const shown = files.map((file) => mediumOf(file, title, words))
  const figures = shown.map(({ figure }) => figure)
  const sources = shown.flatMap(({ source }) => source ?? [])
  return {
    html: figures.length === 0 ? nothing : html`<div class="media">${joined(figures)}</div>`,
    images: shown.flatMap(({ image }) => image ?? []),
    sources,
  }
}

const rank = ({ wire }: FileTree): number => (wire.preferred === true ? 0 : 1)

interface Medium {
  readonly figure: Html
  readonly image?: string
  readonly source?: string
}

function mediumOf(file: FileTree, title: string, words: PageTexts): Medium {
  const name = String(file.wire.original_filename ?? '')
  const caption = html`<figcaption>${linkTo(file, name)}</figcaption>`
  const shown = bestOf(file, 'image', pictures, 1600)
  if (shown) {
    const large = bestOf(file, 'image', pictures, Number.POSITIVE_INFINITY) ?? shown
    const alt = name === '' ? title : `${title}: ${name}`
    const picture = html`<a href="${addressOf(large)}" title="${words.enlarge}"><img src="${addressOf(shown)}" alt="${alt}"></a>`
    return { figure: html`<figure>${picture}${caption}</figure>`, image: addressOf(large), source: addressOf(shown) }
  }
  const film = bestOf(file, 'video', films, Number.POSITIVE_INFINITY)
  if (film) {
    const video = html`<video controls preload="none" src="${addressOf(film)}" aria-label="${name}"></video>`
    return { figure: html`<figure>${video}${caption}</figure>`, source: addressOf(film) }
  }
  const sound = bestOf(file, 'audio', sounds, Number.POSITIVE_INFINITY)
  if (!sound) return { figure: html`<figure>${caption}</figure>` }
  const audio = html`<audio controls preload="none" src="${addressOf(sound)}" aria-label="${name}"></audio>`
  return { figure: html`<figure>${audio}${caption}</figure>`, source: addressOf(sound) }
}

/** The largest version that browsers can show, up to this width; where all are wider, the smallest. */
function bestOf(file: FileTree, kind: string, extensions: readonly string[], widest: number): VersionTree | undefined {
  const own = file.versions
    .filter((one) => one.url !== undefined && one.wire._show_allowed !== false)
    .filter(({ wire }) => wire.class === kind && extensions.includes(String(wire.extension)))
    .toSorted((a, b) => widthOf(a) - widthOf(b))
  return own.findLast((one) => widthOf(one) <= widest) ?? own[0]
}

const widthOf = ({ wire }: VersionTree): number => Number(wire.width ?? 0)
const addressOf = ({ url = '' }: VersionTree): string => (/^https?:\/\//.test(url) ? url : '')

function linkTo({ versions }: FileTree, name: string): Html {
  const original = versions.find((one) => one.name === 'original' && one.wire._download_allowed !== false)
  return original?.url === undefined ? html`${name}` : html`<a href="${addressOf(original)}">${name}</a>`
}
