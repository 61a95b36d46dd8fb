import { normalized, withoutEnds } from '../../platform/values/text.ts'
import { type FileVersion, original, originalOf, type StoredFile } from '../model.ts'

/** Bytes of a name, with its extension: the limit of file systems, less a little room for suffixes of programs. */
const longest = 240

/** Characters with a special meaning in file systems or programs. */
const unsafe = /[<>:"/\\|?*%]+/g
/** Names of devices, with any extension (Windows). */
const device = /^(con|prn|aux|nul|com\d|lpt\d)(?=\.|$)/i

/** The name for downloads of a version, unless an object gives another. */
export function ownName(file: StoredFile, { name, extension }: Pick<FileVersion, 'name' | 'extension'>): string {
  return name === original && extension === originalOf(file).extension
    ? file.filepath
    : `${file.filepath}.${name}.${extension}`
}

/**
 * Makes a file name from text that anyone may have written: one line without folders, without invisible characters or
 * those that change the direction of text, in composed form, not too long, and with the extension of the content,
 * whatever extension the text has. Null where nothing is left.
 */
export function nameFrom(text: string, extension: string, originalExtension: string): string | null {
  const line = normalized(text.toWellFormed(), 'NFC')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu, '')
    .replaceAll(unsafe, '_')
  const base = trimmed(withoutExtension(line.trimEnd(), [extension, originalExtension]))
  if (/^_*$/.test(base)) return null
  const end = extension === '' ? '' : `.${extension}`
  const name = trimmed(cut(base, longest - Buffer.byteLength(end)))
  return `${device.test(name) ? '_' : ''}${name}${end}`
}

/** The name is neither hidden nor taken for a folder; some systems drop spaces and dots at the end. */
function trimmed(text: string): string {
  return withoutEnds(text, ' .')
}

function withoutExtension(text: string, extensions: readonly string[]): string {
  const end = extensions.find((one) => one !== '' && text.toLowerCase().endsWith(`.${one}`))
  return end === undefined ? text : text.slice(0, -end.length - 1)
}

/** Cuts a text to at most so many bytes, without splitting visible characters. */
function cut(text: string, bytes: number): string {
  if (Buffer.byteLength(text) <= bytes) return text
  let [result, length] = ['', 0]
  for (const { segment } of new Intl.Segmenter().segment(text.slice(0, bytes))) {
    length += Buffer.byteLength(segment)
    if (length > bytes) break
    result += segment
  }
  return result
}
