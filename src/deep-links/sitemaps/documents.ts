/** Sitemaps as the protocol has them. @see https://www.sitemaps.org/protocol.html and RFC 9309 for `robots.txt` */
import { element, textElement } from '../../formats/service.ts'
import { deepLink, deepLinkPath } from '../../platform/values/deep-link.ts'

export const sitemapPath = '/sitemap.xml'

const namespace = 'http://www.sitemaps.org/schemas/sitemap/0.9'
const declaration = '<?xml version="1.0" encoding="UTF-8"?>\n'

export interface Changed {
  /** `2026-05-17T10:00:00Z` */
  readonly changed: string
}

/** The list of parts, which are counted from 1. */
export function indexDocument(externalUrl: string, parts: readonly (Changed & { readonly part: number })[]): string {
  const entries = parts.map(({ part, changed }) => {
    const loc = textElement('loc', `${externalUrl}${sitemapPath}?part=${part}`)
    return `${element('sitemap', loc + textElement('lastmod', changed))}\n`
  })
  return `${declaration}${element('sitemapindex', `\n${entries.join('')}`, { xmlns: namespace })}\n`
}

export const urlsBegin = `${declaration}<urlset xmlns="${namespace}">\n`
export const urlsEnd = '</urlset>\n'

/** Pages of objects. */
export function urlElements(externalUrl: string, objects: readonly (Changed & { readonly uuid: string })[]): string {
  return objects
    .map(({ uuid, changed }) => {
      const loc = textElement('loc', `${deepLink(externalUrl, uuid)}/format/html`)
      return `${element('url', loc + textElement('lastmod', changed))}\n`
    })
    .join('')
}

/** Rules for robots: they may read the pages of objects and the sitemap, or nothing. The longest rule that fits counts. */
export function robotsText(externalUrl: string, isOpen: boolean): string {
  const place = new URL(externalUrl).pathname.replace(/\/$/, '')
  const allowed = [`Allow: ${place}${deepLinkPath}/uuid/*/format/html$`, `Allow: ${place}${sitemapPath}`]
  const lines = ['User-agent: *', ...(isOpen ? allowed : []), `Disallow: ${place}/`]
  return [...lines, ...(isOpen ? ['', `Sitemap: ${externalUrl}${sitemapPath}`] : []), ''].join('\n')
}
