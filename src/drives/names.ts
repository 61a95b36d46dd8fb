/** Names of files and folders that every file system accepts (decision 57). */
import { AppError } from '../platform/errors.ts'
import { composed } from '../platform/values/text.ts'

const longest = 200

/** Characters that Windows, macOS or a path cannot have in a name. */
const unsafe = /[/\\:*?"<>|\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu
/** Device names of Windows, with any extension. */
const devices = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)/i

/** The name in drives: in composed form, without characters that a file system refuses, never hidden. */
export function safeName(given: string): string {
  let name = composed(given.toWellFormed()).replaceAll(unsafe, '_').trim()
  while (name.endsWith('.') || name.endsWith(' ')) name = name.slice(0, -1)
  if (name === '') return '_'
  if (name.startsWith('.')) name = `_${name.slice(1)}`
  if (devices.test(name)) name = `_${name}`
  return shortened(name)
}

/** The form in which names are compared: most clients ignore case. */
export const nameKey = (name: string): string => composed(name).toLowerCase()

/** Makes names distinct: later ones get a number, `view (2).jpg`. */
export function distinctNames<T>(things: readonly T[], nameOf: (thing: T) => string, taken = new Set<string>()) {
  const next = new Map<string, number>()
  return things.map((thing) => {
    const wanted = safeName(nameOf(thing))
    const key = nameKey(wanted)
    let name = wanted
    let number = next.get(key) ?? 2
    while (taken.has(nameKey(name))) name = numbered(wanted, number++)
    next.set(key, number)
    taken.add(nameKey(name))
    return { thing, name }
  })
}

function numbered(name: string, number: number): string {
  const dot = extensionAt(name)
  return `${name.slice(0, dot)} (${number})${name.slice(dot)}`
}

function shortened(name: string): string {
  if (name.length <= longest) return name
  const dot = extensionAt(name)
  return `${name.slice(0, longest - (name.length - dot)).toWellFormed()}${name.slice(dot)}`
}

/** The position of the extension; the end where there is none. */
function extensionAt(name: string): number {
  const dot = name.lastIndexOf('.')
  return dot > 0 && name.length - dot <= 17 ? dot : name.length
}

/** @throws {AppError} for a name that drives would change */
export function assertName(name: string): void {
  if (name.startsWith('.')) throw new AppError('DotFilenameNotAllowed', { filename: name.slice(0, 255) })
  if (safeName(name) !== name.normalize('NFC'))
    throw new AppError('EasInvalidFilename', { filename: name.slice(0, 255) })
}
