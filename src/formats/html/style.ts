import { createHash } from 'node:crypto'

/** Part of the page; its policy contains the hash of this text. */
export const styleText = `
:root { --text: #1c2430; --muted: #566172; --line: #c9d1dc; --back: #fff; --brand: #1f5fae; color-scheme: light dark }
* { box-sizing: border-box }
body { font: 16px/1.55 system-ui, sans-serif; margin: 0; background: var(--back); color: var(--text) }
main { max-width: 62rem; margin: 0 auto; padding: 2rem 1rem 4rem }
h1 { font-size: 2rem; line-height: 1.2; margin: 0 0 .5rem; overflow-wrap: anywhere }
h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; border-bottom: 1px solid var(--line) }
.sub { color: var(--muted); margin: 0 0 1.5rem }
.media { display: flex; flex-wrap: wrap; gap: 1rem; margin: 1rem 0 }
figure { margin: 0; max-width: 100% }
figure img, figure video { display: block; max-width: 100%; max-height: 32rem; height: auto; border-radius: .3rem }
figcaption { color: var(--muted); font-size: .9rem; overflow-wrap: anywhere }
dl { display: grid; grid-template-columns: minmax(8rem, 14rem) 1fr; gap: .35rem 1.5rem; margin: 0 }
dt { font-weight: 600 } dd { margin: 0; overflow-wrap: anywhere; min-width: 0 }
dd .text { white-space: pre-line } dd ul { margin: 0; padding-left: 1.1rem } dd dl { grid-template-columns: minmax(6rem, 10rem) 1fr }
a { color: var(--brand) } a:focus-visible { outline: 3px solid currentColor; outline-offset: 2px }
.muted { color: var(--muted) }
@media (max-width: 40rem) { dl, dd dl { grid-template-columns: 1fr } dd { margin-bottom: .6rem } }
@media (prefers-color-scheme: dark) { :root { --text: #e4e9f0; --muted: #a6b1c0; --line: #3d4756; --back: #14181f; --brand: #8ab8f0 } }
@media print { :root { --text: #000; --muted: #333; --back: #fff; --brand: #000 } main { max-width: none; padding: 0 } figure img { max-height: 12cm } h2, figure, dt { break-inside: avoid; break-after: avoid } }
`

export const styleSource = `'sha256-${createHash('sha256').update(styleText).digest('base64')}'`
