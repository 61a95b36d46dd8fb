import { createHash } from 'node:crypto'
import { html } from '../../platform/values/html.ts'
import { Html } from '../../platform/values/trusted-html.ts'
import type { PageColours } from './colours.ts'
import type { PageLanguage } from './language.ts'

export interface Layout {
  /** One heading; also the title of the window. */
  readonly title: string
  readonly content: Html
  /** The problem, in one sentence: read out at once, and focused first by the keyboard. */
  readonly problem?: string | null
  /** A text to read, which is wider than a form. */
  readonly wide?: boolean
}

interface Logo {
  /** A picture instead of the name; empty: none. */
  readonly picture: string
  /** The target of the link; empty: none. */
  readonly address: string
}

interface Surroundings {
  readonly instance: string
  readonly logo: Logo
  /** The icon for the browser; empty: that of the service. */
  readonly favicon: string
  readonly language: PageLanguage
  readonly style: Style
  /** The path under which a proxy serves the service. */
  readonly basePath: string
}

export interface Style {
  readonly text: string
  /** The form for the content security policy. */
  readonly source: string
}

/** The style of all pages in the colours of the instance. It is part of the page, and the policy contains its hash. */
export function pageStyle({ brand, onBrand, background, onBackground }: PageColours, picture = ''): Style {
  const colour = background === null ? '' : `body { background: ${background}; color: ${onBackground} }`
  // The name must be readable on any picture.
  const behind =
    picture &&
    `body { background: url("${picture}") center / cover fixed }
header > span { background: var(--card); color: var(--text); padding: .3rem .6rem; border-radius: .35rem }`
  const own = `${colour}${behind}`
  const text = `
:root { --brand: ${brand}; --on-brand: ${onBrand}; --card: #fff; --text: #1c2430; --muted: #566172; --line: #78859a; --bad: #a4161a; --bad-back: #fdeeee; color-scheme: light dark }
* { box-sizing: border-box }
body { font: 16px/1.55 system-ui, sans-serif; margin: 0; padding: 0 1rem; background: #eef1f5; color: #1c2430; min-height: 100vh }
header { max-width: 26rem; margin: 3rem auto 1rem; font-size: 1.1rem; font-weight: 600; overflow-wrap: anywhere }
.logo { display: block; max-width: 100%; max-height: 4.5rem }
main { max-width: 26rem; margin: 0 auto 3rem; padding: 1.6rem; background: var(--card); color: var(--text); border-radius: .6rem; border-top: .3rem solid var(--brand); box-shadow: 0 .1rem .6rem #0002 }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 1rem }
h2 { font-size: 1.15rem; line-height: 1.3; margin: 0 0 .5rem }
h1, h2 { hyphens: auto; overflow-wrap: anywhere }
section + section { margin-top: 1.6rem }
.text, .terms { white-space: pre-line }
.more { margin: 1rem 0 0 }
button + button { margin-top: .7rem }
p, ul, ol { margin: 0 0 1rem; overflow-wrap: anywhere }
label { display: block; font-weight: 600; margin-bottom: .25rem }
.hint, .muted { color: var(--muted); font-size: .93rem; font-weight: 400 }
.field { margin-bottom: 1rem }
.field > .hint { margin: .4rem 0 0 }
.field > .bad { color: var(--bad); font-size: .93rem; margin: .25rem 0 0 }
input:not([type=checkbox], [type=radio]), select, textarea { font: inherit; width: 100%; padding: .55rem .65rem; border: 1px solid var(--line); border-radius: .35rem; background: var(--card); color: var(--text) }
input[aria-invalid=true] { border-color: var(--bad); border-width: 2px }
.check { display: flex; gap: .6rem; align-items: flex-start; margin-bottom: 1rem }
.check label { font-weight: 400; margin: 0 }
.check input { width: 1.15rem; height: 1.15rem; margin: .2rem 0 0; flex: none; accent-color: var(--brand) }
button, .button { overflow-wrap: anywhere; display: block; width: 100%; font: inherit; font-weight: 600; text-align: center; text-decoration: none; cursor: pointer; padding: .65rem 1rem; border: 1px solid var(--brand); border-radius: .35rem; background: var(--brand); color: var(--on-brand) }
button.second, .button.second { background: var(--card); color: var(--text); border-color: var(--line) }
form + form, form + p, form + .or, .way + form { margin-top: 1rem } section + form { margin-top: 1.6rem } .or { text-align: center; color: var(--muted); margin: 1rem 0 }
a { color: inherit }
:focus-visible { outline: 3px solid var(--text); outline-offset: 2px }
.problem { color: var(--bad); background: var(--bad-back); border: 1px solid currentColor; border-radius: .35rem; padding: .7rem .9rem; margin: 0 0 1rem }
.skip { position: absolute; left: -100rem } .skip:focus { position: static }
.wide header, .wide main { max-width: 54rem } .wide h2 { margin-top: 2rem } .wide h3 { margin: 1.4rem 0 .4rem }
.scroll, pre { overflow-x: auto } pre { padding: .7rem .9rem; border: 1px solid var(--line); border-radius: .35rem; font-size: .88rem } pre code { overflow-wrap: normal }
table { border-collapse: collapse; font-size: .93rem; margin-bottom: 1rem } th, td { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line) }
.columns { columns: 12rem; margin-top: .5rem } nav { margin-bottom: 1rem }
code, .key { font-family: ui-monospace, monospace; overflow-wrap: anywhere }
@media (prefers-color-scheme: dark) {
  :root { --card: #1d232d; --text: #e4e9f0; --muted: #a6b1c0; --line: #8592a5; --bad: #ffb3b0; --bad-back: #3a2023 }
  body { background: #11151b; color: #e4e9f0 }
  .logo { background: #fff; padding: .5rem .7rem; border-radius: .35rem }
}
@media (max-width: 30rem) { header { margin-top: 1.2rem } main { padding: 1.2rem } }
${own}`
  return { text, source: `'sha256-${createHash('sha256').update(text).digest('base64')}'` }
}

/** One page as a whole: a heading, the problem, and the content. */
export function renderLayout(
  { title, content, problem, wide = false }: Layout,
  { instance, logo, favicon, language, style, basePath }: Surroundings,
): Html {
  const skip = language.text('page.skip')
  const name =
    logo.picture === ''
      ? html`<span>${instance}</span>`
      : html`<img class="logo" src="${logo.picture}" alt="${instance}">`
  const head = logo.address === '' ? name : html`<a href="${logo.address}">${name}</a>`
  return html`<!doctype html>
<html lang="${language.lang}">
<head><meta charset="utf-8"><title>${title} · ${instance}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex">
<link rel="icon" href="${favicon || `${basePath}/favicon.svg`}"><style>${new Html(style.text)}</style></head>
<body${wide ? html` class="wide"` : ''}>
<header><a class="skip" href="#content">${skip}</a>${head}</header>
<main id="content">
<h1>${title}</h1>
${problem ? html`<p class="problem" role="alert" id="problem">${problem}</p>` : ''}
${content}
</main>
</body>
</html>`
}

interface Policy {
  readonly style: Style
  /** Further targets of the answer to a form, besides this service: browsers apply this to redirects, too. */
  readonly formTargets: readonly string[]
  /** Scripts that the page needs, in the form for the policy. */
  readonly scripts: readonly string[]
  /** The script of the page sends requests to this service. */
  readonly connects: boolean
}

/** The policy of a page: it may show itself, and send its forms to this service and to the target of a sign-in. */
export function pagePolicy({ style, formTargets, scripts, connects }: Policy): string {
  return [
    "default-src 'none'",
    "base-uri 'none'",
    `form-action ${["'self'", ...formTargets.map(policySource)].join(' ')}`,
    "frame-ancestors 'none'",
    "img-src 'self' data:",
    `style-src ${style.source}`,
    ...(scripts.length === 0 ? [] : [`script-src ${scripts.join(' ')}`]),
    ...(connects ? ["connect-src 'self'"] : []),
  ].join(';')
}

/** The origin of an address; the scheme, for an address without an origin, such as those of programs on a phone. */
function policySource(address: string): string {
  const { origin, protocol } = new URL(address)
  return origin === 'null' ? protocol : origin
}
