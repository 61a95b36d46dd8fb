/**
 * The grammar of deep links: a sequence of selectors in any order, each at most once.
 *
 *     id/<n>[/latest|/version/<n>]  uuid/<uuid>[/latest|/version/<n>]  column/<objecttype>/<column>/<value>
 *     mask/<name>  file/standard/<n>  file/all/<n>  file/id/<n>  file/id/eas:<reference>  file/column/<column>[/<n>]
 *     file_browser/preferred  file_browser/<n>  file_version/name/<name>  file_version/group/<group>
 *     format/<format>  disposition/inline  disposition/attachment
 */
import { AppError } from '../platform/errors.ts'

export type ObjectSelector =
  | { readonly by: 'id'; readonly id: number }
  | { readonly by: 'uuid'; readonly uuid: string }
  | { readonly by: 'column'; readonly objecttype: string; readonly column: string; readonly value: string }

/** All `n` count from 1. */
export type FileSelector =
  | { readonly by: 'standard'; readonly n: number }
  | { readonly by: 'all'; readonly n: number }
  | { readonly by: 'id'; readonly id: number }
  | { readonly by: 'reference'; readonly reference: string }
  | { readonly by: 'column'; readonly column: string; readonly n: number }

export type Disposition = 'inline' | 'attachment'

export interface DeepLink {
  readonly object: ObjectSelector
  /** null: the latest version. */
  readonly version: number | null
  readonly mask: string | null
  readonly file: FileSelector | null
  readonly browser: 'preferred' | number | null
  readonly fileVersion: { readonly name: string } | { readonly group: string } | null
  /** As written in the path: `json`, `xslt/<sheet>`, `iiif/v3/manifest.json`. */
  readonly format: string | null
  readonly disposition: Disposition | null
}

export const manifestFormat = 'iiif/v3/manifest.json'

/** Most characters of a path, and most parts: all selectors together have at most 24. */
const longestPath = 4000
const mostParts = 30

/** @throws {AppError} `ApiObjectPath` */
export function parseDeepLink(path: string): DeepLink {
  const parts = new Parts(path)
  const found: Partial<Record<Selector, unknown>> = {}
  let version: number | null = null
  while (!parts.atEnd) {
    const word = parts.next('a selector')
    const selector = Object.hasOwn(selectors, word) ? selectors[word as keyof typeof selectors] : undefined
    if (!selector) throw parts.wrong(`${word} is no selector here`)
    if (found[selector.fills] !== undefined) throw parts.wrong(`there is a second selector ${word}`)
    found[selector.fills] = selector.read(parts)
    if (word === 'id' || word === 'uuid') version = readVersion(parts)
  }
  if (!found.object) throw parts.wrong('it names no object')
  const link = { mask: null, file: null, browser: null, fileVersion: null, format: null, disposition: null }
  const read = { ...link, ...found, version } as DeepLink
  const wantsFile = read.file !== null || read.browser !== null
  if (wantsFile && read.format !== null) throw parts.wrong('a file has no format')
  if (!wantsFile && read.fileVersion !== null) throw parts.wrong('file_version stands beside file or file_browser')
  return read
}

type Selector = 'object' | 'mask' | 'file' | 'browser' | 'fileVersion' | 'format' | 'disposition'

interface SelectorReader {
  /** Selectors with the same value exclude each other. */
  readonly fills: Selector
  readonly read: (parts: Parts) => unknown
}

const selectors = {
  id: { fills: 'object', read: (parts) => ({ by: 'id', id: parts.number() }) satisfies ObjectSelector },
  uuid: { fills: 'object', read: (parts) => ({ by: 'uuid', uuid: parts.next('a uuid') }) satisfies ObjectSelector },
  column: {
    fills: 'object',
    read: (parts) => {
      const [objecttype, column] = [parts.next('an object type'), parts.next('a column')]
      return { by: 'column', objecttype, column, value: parts.next('a value') } satisfies ObjectSelector
    },
  },
  mask: { fills: 'mask', read: (parts) => parts.next('the name of a mask') },
  file: { fills: 'file', read: readFile },
  file_browser: {
    fills: 'browser',
    read: (parts) => (parts.take('preferred') ? 'preferred' : parts.number()),
  },
  file_version: {
    fills: 'fileVersion',
    read: (parts) => {
      if (parts.take('name')) return { name: parts.next('the name of a version') }
      if (parts.take('group')) return { group: parts.next('a group') }
      throw parts.wrong('file_version stands before name or group')
    },
  },
  format: { fills: 'format', read: readFormat },
  disposition: {
    fills: 'disposition',
    read: (parts) => {
      const found = (['inline', 'attachment'] as const).find((word) => parts.take(word))
      if (!found) throw parts.wrong('disposition is inline or attachment')
      return found
    },
  },
} as const satisfies Record<string, SelectorReader>

function readVersion(parts: Parts): number | null {
  if (parts.take('latest')) return null
  return parts.take('version') ? parts.number() : null
}

function readFile(parts: Parts): FileSelector {
  for (const by of ['standard', 'all'] as const) if (parts.take(by)) return { by, n: parts.number() }
  if (parts.take('column')) {
    const column = parts.next('a column')
    return { by: 'column', column, n: parts.isNumber ? parts.number() : 1 }
  }
  if (!parts.take('id')) throw parts.wrong('file stands before standard, all, id or column')
  if (parts.isNumber) return { by: 'id', id: parts.number() }
  const text = parts.next('the id of a file')
  if (!text.startsWith('eas:') || text.length === 4)
    throw parts.wrong('file/id stands before a number or eas:<reference>')
  return { by: 'reference', reference: text.slice(4) }
}

const plainFormat = /^[a-z][a-z0-9_]{0,40}$/

function readFormat(parts: Parts): string {
  const name = parts.next('a format')
  if (name === 'xslt') return `xslt/${parts.next('the name of a sheet')}`
  if (name === 'iiif') {
    if (parts.take('v3') && parts.take('manifest.json')) return manifestFormat
    throw parts.wrong(`iiif is had as format/${manifestFormat}`)
  }
  if (!plainFormat.test(name)) throw parts.wrong(`${name} is no format`)
  return name
}

/** The parts of a path, decoded one by one: an encoded slash belongs to its part. */
class Parts {
  readonly #parts: readonly string[]
  #at = 0

  constructor(path: string) {
    if (path.length > longestPath) throw pathError(`it is longer than ${longestPath} characters`)
    const parts = path.split('/', mostParts + 1)
    if (parts.length > mostParts) throw pathError(`it has more than ${mostParts} parts`)
    this.#parts = parts.map(decoded)
  }

  get atEnd(): boolean {
    return this.#at === this.#parts.length
  }

  get isNumber(): boolean {
    return !this.atEnd && numeric.test(this.#parts[this.#at] as string)
  }

  next(expected: string): string {
    const part = this.#parts[this.#at]
    if (part === undefined) throw this.wrong(`${expected} is missing`)
    this.#at++
    return part
  }

  number(): number {
    const text = this.next('a number')
    const number = Number(text)
    if (!numeric.test(text) || !Number.isSafeInteger(number)) throw this.wrong(`${text} is no number from 1 on`)
    return number
  }

  /** Whether the next part is this word; if so, it is consumed. */
  take(word: string): boolean {
    if (this.#parts[this.#at] !== word) return false
    this.#at++
    return true
  }

  wrong(reason: string): AppError {
    return pathError(reason, this.#at)
  }
}

const numeric = /^[1-9]\d{0,15}$/

function decoded(part: string): string {
  if (part === '') throw pathError('a part is empty')
  try {
    const text = decodeURIComponent(part)
    // PostgreSQL stores neither.
    if (text.includes('\0') || !text.isWellFormed()) throw pathError('a part is no text')
    return text
  } catch (error) {
    if (error instanceof AppError) throw error
    throw pathError('a part cannot be decoded')
  }
}

/** @param part number of parts read so far */
export function pathError(reason: string, part?: number): AppError {
  const text = reason.length > 200 ? `${reason.slice(0, 200)}…` : reason
  return new AppError(
    'ApiObjectPath',
    { reason: text, ...(part === undefined ? {} : { part }) },
    { message: `The path names no object: ${text}.` },
  )
}
