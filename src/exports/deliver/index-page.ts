import { type Html, html, joined } from '../../platform/values/html.ts'
import type { ExportFile } from '../model.ts'

export interface FolderEntries {
  readonly folders: readonly string[]
  readonly files: readonly ExportFile[]
  /** The folder has no further entries. */
  readonly isWhole: boolean
}

/** A page for people: the entries of a folder of an export. */
export function indexPage(name: string, folder: string, { folders, files, isWhole }: FolderEntries): Html {
  const title = folder === '' ? name : `${name}: ${folder}`
  const up = folder === '' ? [] : [html`<li><a href="../">..</a></li>`]
  const entries = [
    ...up,
    ...folders.map((one) => html`<li><a href="${encodeURIComponent(one)}/">${one}/</a></li>`),
    ...files.map((file) => html`<li><a href="${encodeURIComponent(file.name)}">${file.name}</a>${sizeOf(file)}</li>`),
  ]
  const rest = isWhole ? html`` : html`<p>There are more, which are not shown: archives have all of them.</p>`
  return html`<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title></head><body><main><h1>${title}</h1><ul>${joined(entries)}</ul>${rest}</main></body></html>`
}

const sizeOf = ({ size }: ExportFile): string => (size === null ? '' : ` (${size.toLocaleString('en')} bytes)`)
