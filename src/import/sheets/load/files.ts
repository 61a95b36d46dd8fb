import { createHash, hash as hashOf } from 'node:crypto'
import { createReadStream, openAsBlob } from 'node:fs'
import { realpath, stat } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { LRUCache } from 'lru-cache'
import { type ServiceClient, ServiceError } from '../../client.ts'
import type { ColumnMapping } from '../plan/mapping.ts'
import { extensionOf, fileExtensions, isAddress } from '../values/text.ts'

/** The file of a cell: on the disk, or at an address. */
export type NamedFile =
  | { readonly path: string; readonly name: string; readonly size: number }
  | { readonly address: string }

/** The file of a cell cannot be used; the message has the reason. */
export class FileProblem extends Error {}

/** Maximum bytes and files of one upload. */
const together = { bytes: 64 * 1024 * 1024, files: 20 }

/**
 * Finds the files of a cell, only below the folder of the sheet. A name without a known ending, or with `.*`, is looked for with
 * each of the endings.
 * @throws {FileProblem}
 */
export async function findFiles(folder: string, value: string, column: ColumnMapping): Promise<NamedFile[]> {
  if (isAddress(value)) return [{ address: value }]
  const extensions = column.extensions ?? fileExtensions
  const root = await realpath(folder)
  const place = join(column.folder ?? '', value.replaceAll('\\', '/'))
  if (value.includes('\0') || isAbsolute(value) || /^[a-z]:/i.test(value) || !isInside(root, resolve(root, place))) {
    throw new FileProblem('lies outside of the folder of the sheet')
  }
  const open = place.endsWith('.*')
  const bare = open ? place.slice(0, -2) : place
  const candidates = open
    ? extensions.map((extension) => `${bare}.${extension}`)
    : [place, ...(extensionOf(place) === null ? extensions.map((extension) => `${place}.${extension}`) : [])]
  const found: NamedFile[] = []
  for (const candidate of candidates) {
    const file = await fileAt(root, candidate)
    if (file) found.push(file)
    if (file && !open) break
  }
  if (found.length === 0) throw new FileProblem(`is not there: ${join(folder, place)}`)
  if (
    column.extensions &&
    found.some((file) => 'name' in file && !column.extensions?.includes(extensionOf(file.name) ?? ''))
  ) {
    throw new FileProblem(`is none of the kinds ${column.extensions.join(', ')}`)
  }
  return found
}

async function fileAt(root: string, place: string): Promise<NamedFile | null> {
  const path = await realpath(resolve(root, place)).catch(() => null)
  if (path === null) return null
  // A symbolic link may lead outside.
  if (!isInside(root, path)) throw new FileProblem('lies outside of the folder of the sheet')
  const found = await stat(path)
  return found.isFile() ? { path, name: basename(place).normalize('NFC'), size: found.size } : null
}

function isInside(root: string, path: string): boolean {
  const way = relative(root, path)
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}

export function folderOf(file: string): string {
  return dirname(resolve(file))
}

/** A record of a file in the form of objects. */
export interface StoredFile {
  readonly _id: number
  readonly reference?: string
}

/** The link of an object to a file. */
export type FileLink = { readonly _id: number } | { readonly 'lookup:_id': { readonly reference: string } }

export interface Uploads {
  /** The unique reference of the file: from its content and name, or its address. */
  referenceOf(file: NamedFile): Promise<string>
  /** Stores files that are not stored yet. Returns for each reference its link, or the reason of the failure. */
  store(files: ReadonlyMap<string, NamedFile>): Promise<Map<string, FileLink | string>>
}

/**
 * Puts files into the service, each once: its reference is unique there, so after an interruption uploaded files are found again.
 */
export function createUploads(client: ServiceClient): Uploads {
  const known = new LRUCache<string, FileLink>({ max: 20_000 })

  async function upload(some: readonly [string, LocalFile][], results: Map<string, FileLink | string>): Promise<void> {
    try {
      const files = await Promise.all(
        some.map(async ([, { path, name }]) => ({ name, content: await openAsBlob(path) })),
      )
      const references = JSON.stringify(some.map(([reference]) => reference))
      const records = await client.upload(files, { references })
      for (const [index, [reference]] of some.entries()) {
        const record = records[index]
        if (record) results.set(reference, { _id: record._id })
      }
    } catch (error) {
      if (!isRefusal(error)) throw error
      if (some.length > 1) for (const each of some) await upload([each], results)
      else if (some[0]) results.set(some[0][0], refused(error, some[0][0]))
    }
  }

  async function fetchOne(reference: string, url: string, results: Map<string, FileLink | string>): Promise<void> {
    try {
      const query = { url, reference, skip_duplicate_reference: true }
      const [record] = await client.post<StoredFile[]>('/eas/rput', undefined, query)
      if (record) results.set(reference, { _id: record._id })
    } catch (error) {
      if (!isRefusal(error)) throw error
      results.set(reference, refused(error, reference))
    }
  }

  return {
    async referenceOf(file) {
      if ('address' in file) return `import:${hashOf('sha256', file.address)}`
      return `import:${await contentHash(file.path)}:${file.name}`
    },
    async store(files) {
      const results = new Map<string, FileLink | string>()
      const local: [string, LocalFile][] = []
      for (const [reference, file] of files) {
        const link = known.get(reference)
        if (link) results.set(reference, link)
        else if ('address' in file) await fetchOne(reference, file.address, results)
        else local.push([reference, file])
      }
      for (const group of groupsOf(local)) await upload(group, results)
      for (const [reference, link] of results) if (typeof link === 'object') known.set(reference, link)
      return results
    },
  }
}

type LocalFile = Extract<NamedFile, { path: string }>

function* groupsOf(files: readonly [string, LocalFile][]): Generator<[string, LocalFile][]> {
  let group: [string, LocalFile][] = []
  let bytes = 0
  for (const each of files) {
    if (group.length > 0 && (group.length >= together.files || bytes + each[1].size > together.bytes)) {
      yield group
      group = []
      bytes = 0
    }
    group.push(each)
    bytes += each[1].size
  }
  if (group.length > 0) yield group
}

/** A file that already exists is treated as uploaded; any other error is a reason of failure. */
function refused(error: ServiceError, reference: string): FileLink | string {
  if (error.code === 'DatabaseUniqueKeyViolation') return { 'lookup:_id': { reference } }
  return error.detail
}

function isRefusal(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.status >= 400 && error.status < 500 && error.status !== 401
}

async function contentHash(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer)
  return hash.digest('hex')
}
