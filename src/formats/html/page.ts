/** `html`: the page of one object, for people. It needs nothing else: style and policy stand in it. */

import { type ObjectTree, records, type Wire } from '../../objects/service.ts'
import { badRequest } from '../../platform/errors.ts'
import { type Html, html, nothing } from '../../platform/values/html.ts'
import { textIn } from '../../platform/values/localized.ts'
import { isRecord } from '../../platform/values/records.ts'
import { Html as Trusted } from '../../platform/values/trusted-html.ts'
import { type PageOf, pageAddress } from '../page-address.ts'
import type { SourceObject } from '../source.ts'
import { standardTexts } from '../table/cell.ts'
import type { Format, WriteContext } from '../writer.ts'
import { type FieldContext, fieldList, objectLink } from './fields.ts'
import { mediaOf } from './files.ts'
import { styleSource, styleText } from './style.ts'
import { wordsIn } from './texts.ts'

export const htmlFormat = (pageOf: PageOf): Format => ({
  name: 'html',
  contentType: 'text/html; charset=utf-8',
  extension: 'html',
  single: true,
  async *write(objects, context) {
    let count = 0
    for await (const object of objects) {
      if (++count > 1) throw badRequest('a page shows one object', { format: 'html' })
      yield Buffer.from(pageText(object, context, pageOf))
    }
  },
})

function pageText({ tree }: SourceObject, context: WriteContext, pageOf: PageOf): string {
  const { languages } = context.actor
  const { language, words } = wordsIn(languages)
  const fields: FieldContext = { languages, words, pageOf }
  const { wire, table } = tree
  const title = textIn(standardTexts(wire) as Record<string, string>, languages) || `#${wire._system_object_id}`
  const media = mediaOf(tree.fields, title, words)
  const type = textIn(table.nameLocalized, languages) || table.name
  const page = html`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policyFor(media.sources)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${title}</title>
<style>${new Trusted(styleText)}</style>
<script type="application/ld+json">${dataBlock(described(wire, { title, images: media.images, address: pageAddress(pageOf, wire) }))}</script>
</head>
<body>
<main>
<h1>${title}</h1>
<p class="sub">${type}</p>
${media.html}
${fieldList(tree.fields, fields)}
<h2>${words.about}</h2>
<dl>${aboutEntries(tree, fields)}</dl>
</main>
</body>
</html>
`
  return page.toString()
}

/** The page runs no scripts and sends nothing; pictures and films are loaded from the addresses of the files. */
function policyFor(sources: readonly string[]): string {
  const origins = [...new Set(sources.map((source) => new URL(source).origin))].join(' ')
  const from = origins === '' ? "'none'" : origins
  return `default-src 'none'; img-src ${from}; media-src ${from}; style-src ${styleSource}; base-uri 'none'; form-action 'none'`
}

/** JSON in a page, escaped so that it cannot end the element. */
const dataBlock = (value: unknown): Html => new Trusted(JSON.stringify(value).replaceAll('<', '\\u003c'))

/** For machines, in the words of schema.org. */
function described(
  wire: Wire,
  {
    title,
    images,
    address,
  }: { readonly title: string; readonly images: readonly string[]; readonly address: string | null },
) {
  return {
    '@context': 'https://schema.org',
    '@type': 'CreativeWork',
    name: title,
    identifier: wire._uuid,
    ...(address === null ? {} : { url: address }),
    ...(images.length === 0 ? {} : { image: images }),
    dateCreated: wire._created,
    dateModified: wire._last_modified,
  }
}

function aboutEntries({ wire, paths }: ObjectTree, context: FieldContext): readonly Html[] {
  const { words, languages } = context
  const entry = (label: string, value: Html): Html => html`<dt>${label}</dt><dd>${value}</dd>`
  const pool = isRecord(wire._pool) && isRecord(wire._pool.pool) ? wire._pool.pool : {}
  const poolName = isRecord(pool.name) ? textIn(pool.name as Record<string, string>, languages) : ''
  const tags = records(wire._tags).map(({ displayname }) =>
    textIn((displayname ?? {}) as Record<string, string>, languages),
  )
  const above = paths.map((path) => path.slice(0, -1)).filter((path) => path.length > 0)
  return [
    ...above.map((path) =>
      entry(
        words.path,
        path.map((step) => objectLink(step, context)).reduce((before, step) => html`${before} › ${step}`),
      ),
    ),
    poolName === '' ? nothing : entry(words.pool, html`${poolName}`),
    tags.length === 0 ? nothing : entry(words.tags, html`${tags.join(', ')}`),
    typeof wire._last_modified === 'string'
      ? entry(words.changed, html`<time datetime="${wire._last_modified}">${wire._last_modified.slice(0, 10)}</time>`)
      : nothing,
    entry(words.identifier, html`<code>${String(wire._uuid)}</code>`),
  ]
}
