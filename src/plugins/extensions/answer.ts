import { withoutEnd } from '../../platform/values/text.ts'

/**
 * The content type of an extension's output, by its beginning: programs cannot name one. Output that looks like a web
 * page is sent as text, unless the manifest allows pages: a page would run in the browser with the rights of its reader.
 */
export async function contentTypeOf(head: Buffer): Promise<string> {
  if (head.length === 0) return 'application/octet-stream'
  const { fileTypeFromBuffer } = await import('file-type')
  const known = await fileTypeFromBuffer(head).catch(() => undefined)
  if (known && !/xml|html/.test(known.mime)) return known.mime
  const text = withoutEnd(head.toString('utf8'), '\ufffd')
  if (text.includes('\ufffd') || text.includes('\0')) return 'application/octet-stream'
  return /^\s*[[{]/.test(text) ? 'application/json; charset=utf-8' : 'text/plain; charset=utf-8'
}

/** The text in a form allowed in a header. */
export function headerText(text: string): string {
  return text.replace(/[^\x20-\x7e]+/g, ' ').slice(0, 500)
}
