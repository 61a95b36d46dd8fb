/** Properties of the entries of a drive (RFC 4918, 15). */

import type { StagedFile } from './hotfolder/model.ts'
import { tokenAddress } from './if-header.ts'
import type { Lock } from './locks.ts'
import type { DriveFile, DriveFolder, Placeholder } from './model.ts'
import { dav, emptyElement, type PropertyName, type PropfindRequest, xmlHeader, xmlText } from './xml.ts'

/** An entry of a share of any kind. */
export type ShownEntry =
  | Pick<DriveFolder, 'kind' | 'name' | 'createdAt' | 'modifiedAt'>
  | DriveFile
  | Placeholder
  | StagedFile

export interface Shown {
  readonly href: string
  readonly entry: ShownEntry
  readonly locks: readonly Lock[]
}

/** null for folders, which have none. */
export function etagOf(entry: ShownEntry): string | null {
  if (entry.kind === 'folder') return null
  if (entry.kind === 'staged') return entry.etag
  return entry.kind === 'file' ? `"${entry.sha256}"` : '"empty"'
}

type Property = (shown: Shown) => string | null

/** Contents of properties as XML; null: an entry of this kind does not have the property. */
const properties: Readonly<Record<string, Property>> = {
  creationdate: ({ entry }) => entry.createdAt.toISOString().replace(/\.\d+Z$/, 'Z'),
  displayname: ({ entry }) => xmlText(entry.name),
  getcontentlength: ({ entry }) => {
    if (entry.kind === 'folder') return null
    return String(entry.kind === 'placeholder' ? 0 : entry.bytes)
  },
  getcontenttype: ({ entry }) => {
    if (entry.kind === 'folder') return 'httpd/unix-directory'
    return entry.kind === 'file' ? xmlText(entry.mimeType) : 'application/octet-stream'
  },
  getetag: ({ entry }) => {
    const tag = etagOf(entry)
    return tag === null ? null : xmlText(tag)
  },
  getlastmodified: ({ entry }) => ('modifiedAt' in entry ? entry.modifiedAt : entry.createdAt).toUTCString(),
  lockdiscovery: ({ locks, href }) => locks.map((lock) => activeLock(lock, href)).join(''),
  resourcetype: ({ entry }) => (entry.kind === 'folder' ? '<D:collection/>' : ''),
  supportedlock: () =>
    '<D:lockentry><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockentry>',
}

/** The answer to a PROPFIND: 207. */
export function multistatus(all: readonly Shown[], asked: PropfindRequest): string {
  return `${xmlHeader}<D:multistatus xmlns:D="${dav}">${all.map((shown) => response(shown, asked)).join('')}</D:multistatus>\n`
}

function response(shown: Shown, asked: PropfindRequest): string {
  const names = asked.kind === 'some' ? asked.names : Object.keys(properties).map((name) => ({ namespace: dav, name }))
  const found: string[] = []
  const missing: string[] = []
  for (const name of names) {
    const element = elementOf(name, shown)
    if (element === null) missing.push(emptyElement(name))
    else found.push(asked.kind === 'names' ? emptyElement(name) : element)
  }
  const parts = [
    ...(found.length > 0 || missing.length === 0 ? [propstat(found, '200 OK')] : []),
    // Missing properties are only reported if the request names them.
    ...(asked.kind === 'some' && missing.length > 0 ? [propstat(missing, '404 Not Found')] : []),
  ]
  return `<D:response><D:href>${xmlText(shown.href)}</D:href>${parts.join('')}</D:response>`
}

const propstat = (elements: readonly string[], status: string): string =>
  `<D:propstat><D:prop>${elements.join('')}</D:prop><D:status>HTTP/1.1 ${status}</D:status></D:propstat>`

/**
 * The answer to a PROPPATCH: that of a PROPFIND. Nothing is stored. The names of the request are in the answer as well,
 * since some clients treat a missing name as a failure.
 */
export function patched(shown: Shown, names: readonly PropertyName[]): string {
  const own = Object.keys(properties).map((name) => ({ namespace: dav, name }))
  const others = names.filter(({ namespace, name }) => namespace !== dav || !Object.hasOwn(properties, name))
  const elements = [...own.flatMap((name) => elementOf(name, shown) ?? []), ...others.map(emptyElement)]
  return `${xmlHeader}<D:multistatus xmlns:D="${dav}"><D:response><D:href>${xmlText(shown.href)}</D:href>${propstat(elements, '200 OK')}</D:response></D:multistatus>\n`
}

/** null: the entry has no such property. */
function elementOf({ namespace, name }: PropertyName, shown: Shown): string | null {
  const value = namespace === dav && Object.hasOwn(properties, name) ? (properties[name]?.(shown) ?? null) : null
  return value === null ? null : `<D:${name}>${value}</D:${name}>`
}

function activeLock({ token, deep, owner, seconds }: Lock, href: string): string {
  return (
    '<D:activelock><D:locktype><D:write/></D:locktype><D:lockscope><D:exclusive/></D:lockscope>' +
    `<D:depth>${deep ? 'infinity' : '0'}</D:depth>` +
    (owner === '' ? '' : `<D:owner>${xmlText(owner)}</D:owner>`) +
    `<D:timeout>Second-${seconds}</D:timeout><D:locktoken><D:href>${tokenAddress(token)}</D:href></D:locktoken>` +
    `<D:lockroot><D:href>${xmlText(href)}</D:href></D:lockroot></D:activelock>`
  )
}

/** The body of an answer to LOCK. */
export function lockDiscovery(lock: Lock, href: string): string {
  return `${xmlHeader}<D:prop xmlns:D="${dav}"><D:lockdiscovery>${activeLock(lock, href)}</D:lockdiscovery></D:prop>\n`
}
