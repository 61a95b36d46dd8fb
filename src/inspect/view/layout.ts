import { readFileSync } from 'node:fs'
import { type Html, html } from '../../platform/values/html.ts'
import { Html as TrustedHtml } from '../../platform/values/trusted-html.ts'
import { menu, type Section, sectionPaths } from '../model.ts'
import type { View } from './view.ts'

const style = readFileSync(new URL('./console.client.css', import.meta.url), 'utf8')
const script = readFileSync(new URL('./console.client.js', import.meta.url), 'utf8')

export interface ConsoleLayout {
  readonly title: string
  readonly content: Html
  readonly section: Section | null
  /** The result of the last action. */
  readonly notice?: string | null
  /** For this one page: only its own style and script run. */
  readonly nonce: string
  readonly instance: string
  /** The path under which a proxy serves the service. */
  readonly basePath: string
  /** The form for signing out, when the reader has signed in. */
  readonly signOut: Html | null
  readonly who: string
  readonly sql: boolean
}

export function consoleLayout(view: View, layout: ConsoleLayout): Html {
  const { title, content, section, notice, nonce, instance, basePath, signOut, who, sql } = layout
  const groups = Object.entries(menu) as [keyof typeof menu, readonly Section[]][]
  const entries = groups.map(([group, sections]) => {
    const items = sections
      .filter((one) => one !== 'sql' || sql)
      .map((one) => {
        const current = one === section ? html` aria-current="page"` : ''
        return html`<li><a href="${view.link(sectionPaths[one])}"${current}>${view.text(`nav.${one}`)}</a></li>`
      })
    return html`<h2>${view.text(`nav.group.${group}`)}</h2><ul>${items}</ul>`
  })
  return html`<!doctype html>
<html lang="${view.lang}">
<head><meta charset="utf-8"><title>${title} · ${instance}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex">
<link rel="icon" href="${basePath}/favicon.svg"><style nonce="${nonce}">${new TrustedHtml(style)}</style></head>
<body>
<a class="skip" href="#content">${view.text('skip')}</a>
<div class="frame">
<header class="side"><a class="name" href="${view.link('')}">${instance}</a><p class="kind">${view.text('console')}</p>
<nav aria-label="${view.text('nav.label')}"><details open id="menu"><summary>${view.text('nav.label')}</summary>${entries}</details></nav></header>
<div class="main">
<main id="content"><div class="top"><p>${view.text('utc')}${view.acts ? '' : html` · ${view.text('readOnly')}`}</p><div>${who}${signOut ? html` ${signOut}` : ''}</div></div><h1>${title}</h1>
${notice ? html`<p class="notice" role="status">${notice}</p>` : ''}
${content}
</main></div></div>
<script nonce="${nonce}">${new TrustedHtml(menuScript)}${new TrustedHtml(script)}</script>
</body>
</html>`
}

/** On a phone the menu is closed at first, so that the content is visible at once. */
const menuScript = `if (matchMedia('(max-width: 56rem)').matches) document.getElementById('menu').open = false\n`

/** The policy of a page of the console: it may show itself, and contact this service only. */
export const consolePolicy = (nonce: string): string =>
  [
    "default-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "img-src 'self' data:",
    `style-src 'nonce-${nonce}'`,
    `script-src 'nonce-${nonce}'`,
    "connect-src 'self'",
  ].join(';')

/** A page that redirects by itself: from here a browser sends the cookies that it withholds from links of other sites. */
export function onwardPage(view: Pick<View, 'lang' | 'text'>, to: string): Html {
  return html`<!doctype html>
<html lang="${view.lang}"><head><meta charset="utf-8"><title>${view.text('onward')}</title>
<meta http-equiv="refresh" content="0;url=${to}"></head><body><main><h1>${view.text('onward')}</h1><p><a href="${to}">${view.text('onward.link')}</a></p></main></body></html>`
}
