import { html, joined } from '../platform/values/html.ts'

/** The entries of a folder as a page. The address is a key, so the page does not contain it. */
export function indexPage(
  title: string,
  entries: readonly { readonly name: string; readonly kind: string }[],
  hasParent: boolean,
): string {
  const rows = entries.map(({ name, kind }) => {
    const shown = kind === 'folder' ? `${name}/` : name
    return html`<li><a href="./${encodeURIComponent(name)}${kind === 'folder' ? '/' : ''}">${shown}</a></li>`
  })
  const up = hasParent ? html`<li><a href="../">../</a></li>` : html``
  return html`<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>${title}</title></head><body><h1>${title}</h1><ul>${up}${joined(rows)}</ul></body></html>`.toString()
}
