import { normalized } from '../../platform/values/text.ts'

/** Types that browsers show without running code; content of other types is saved, never opened in the service's name. */
const shown = /^(image\/(?!svg)[\w.+-]+|audio\/[\w.+-]+|video\/[\w.+-]+|application\/pdf|text\/plain|image\/svg\+xml)$/

const textual = /^text\/|^application\/(json|xml)$|\+xml$/

/** Whether browsers show contents of the type. */
export const isShown = (mimeType: string): boolean => shown.test(mimeType)

/** Headers of a content. Scripts in it must not run: its uploader must not act in the name of the service. */
export function contentHeaders(
  mimeType: string,
  fileName: string,
  wanted: 'inline' | 'attachment' = 'inline',
): Record<string, string> {
  const pdf = mimeType === 'application/pdf'
  const policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; media-src 'self'"
  return {
    'Content-Type': textual.test(mimeType) ? `${mimeType}; charset=utf-8` : mimeType,
    'Content-Disposition': disposition(wanted === 'inline' && isShown(mimeType) ? 'inline' : 'attachment', fileName),
    // Viewers of PDF do not work in a sandbox; they run no code of the page around them.
    'Content-Security-Policy': pdf ? policy : `sandbox; ${policy}`,
    'X-Content-Type-Options': 'nosniff',
    'Cross-Origin-Resource-Policy': 'cross-origin',
    'Accept-Ranges': 'bytes',
  }
}

/** RFC 6266: a name in ASCII for all clients, and one in UTF-8. */
export function disposition(type: 'inline' | 'attachment', name: string): string {
  const plain = normalized(name, 'NFKD')
    .replaceAll(/[^\x20-\x7e]/g, '')
    .replaceAll(/["\\%]/g, '_')
  const encoded = encodeURIComponent(name.toWellFormed()).replaceAll(
    /['()*]/g,
    (c) => `%${c.charCodeAt(0).toString(16)}`,
  )
  return `${type}; filename="${plain || 'file'}"; filename*=UTF-8''${encoded}`
}
