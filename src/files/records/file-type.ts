import { lookup } from 'mime-types'
import { classOf, type FileClass } from '../classes.ts'
import { extensionOf } from './file-name.ts'

/** The type of a file. */
export interface FileType {
  /** In small letters, without the dot; empty: none. */
  readonly extension: string
  readonly class: FileClass
  readonly mimeType: string
}

/** Bytes at the beginning of a file by which its type is recognised. */
export const headBytes = 64 * 1024

const unknown = 'application/octet-stream'

/**
 * Types found by the first bytes, and the extensions that may be used for each. The first name of the content itself is
 * always right.
 */
const sameContent: readonly (readonly string[])[] = [
  ['jpg', 'jpeg', 'jfif'],
  // Raw formats of cameras are based on TIFF.
  ['tif', 'tiff', 'dng', 'nef', 'cr2', 'arw', 'rw2', 'raf', 'crw'],
  ['zip', 'docx', 'xlsx', 'pptx', 'ppsx', 'odt', 'ods', 'odp', 'epub', 'indd'],
  ['docx', 'docm', 'dotx'],
  ['pptx', 'ppsx'],
  ['cfb', 'doc', 'xls', 'ppt', 'msg'],
  ['pdf', 'ai'],
  ['ps', 'eps', 'ai'],
  ['eps', 'ai'],
  ['heic', 'heif'],
  ['avif', 'heic'],
  ['asf', 'wma', 'wmv'],
  ['ogg', 'oga', 'ogv', 'opus'],
  ['oga', 'ogg', 'opus'],
  ['opus', 'ogg', 'oga'],
  ['ogv', 'ogg'],
  ['mp4', 'm4v', 'm4a', 'mov', '3gp'],
  ['m4a', 'mp4'],
  ['m4v', 'mp4'],
  ['mov', 'mp4'],
  ['3gp', 'mp4'],
  ['mkv', 'webm'],
  ['webm', 'mkv'],
  ['mpg', 'mpeg', 'm2v', 'vob', 'mp2'],
  ['mts', 'ts', 'm2ts'],
  ['mp3', 'mp2'],
  ['aiff', 'aif'],
  ['xml', 'svg'],
  ['gz', 'tgz'],
]

const aliases = new Map(sameContent.map((names) => [names[0], new Set(names)]))

/** The type by the name alone: before any content has arrived. */
export function typeByName(name: string): FileType {
  const extension = extensionOf(name)
  return { extension, class: classOf(extension), mimeType: lookup(extension) || unknown }
}

/**
 * The type of a file: by its content first, by its name second. Where they contradict each other, the content is right: a
 * program with the name of a picture is not a picture, neither for the rights nor for the browser that gets it.
 */
export async function fileTypeOf(name: string, head: Buffer): Promise<FileType> {
  const named = typeByName(name)
  const { fileTypeFromBuffer, supportedExtensions } = await import('file-type')
  const found = await fileTypeFromBuffer(head).catch(() => undefined)
  if (!found) {
    // A file with this extension would have been recognised.
    const other = supportedExtensions.has(named.extension as never) && !withoutFixedBeginning.has(named.extension)
    return other ? { ...named, class: 'unknown', mimeType: unknown } : text(named, head)
  }
  if (found.ext === 'xml' || named.extension === 'svg') {
    const svg = named.extension === 'svg' && /<svg[\s>]/.test(head.toString('latin1'))
    if (svg) return { extension: 'svg', class: 'image', mimeType: 'image/svg+xml' }
  }
  if (found.ext === named.extension || aliases.get(found.ext)?.has(named.extension)) {
    return { ...named, mimeType: named.extension === found.ext ? found.mime : named.mimeType }
  }
  return { extension: found.ext, class: classOf(found.ext), mimeType: found.mime }
}

/** Formats with various beginnings: a file of them may have no known signature. */
const withoutFixedBeginning = new Set([
  'mp3',
  'mp2',
  'mpg',
  'mts',
  'm2ts',
  'ts',
  'aac',
  'ics',
  'xml',
  'vtt',
  'txt',
  'csv',
])

function text(named: FileType, head: Buffer): FileType {
  if (named.extension !== 'svg') return named
  if (/<svg[\s>]/.test(head.toString('latin1'))) return named
  return { ...named, class: 'unknown', mimeType: unknown }
}
