/** Names in drop folders with a meaning. */
import { comparable, withoutExtension } from '../../ingest/service.ts'

export const logName = 'hotfolder.log'
/** The name of the log after it has become long. */
export const oldLogName = 'hotfolder.old.log'
export const importing = 'IMPORTING-'
export const failed = 'ERROR-'

/** Bytes of a name, so that it fits into the limit of file systems even with a prefix and a suffix. */
const longestBytes = 240

export const failureLogOf = (name: string): string => `${name}.log`

/** Names that only the import makes. */
export function isReserved(name: string): boolean {
  return name === logName || name === oldLogName || name.startsWith(importing) || name.startsWith(failed)
}

export const fits = (name: string): boolean => Buffer.byteLength(name) <= longestBytes

/** Whether a file with that name is to be imported. `siblings`: all names beside it. */
export function isDropped(name: string, siblings: ReadonlySet<string>): boolean {
  if (name.startsWith('.') || !fits(name)) return false
  if (name === logName || name === oldLogName || name.startsWith(failed)) return false
  return !isFailureLog(name, siblings)
}

/** The log beside a failed file. */
function isFailureLog(name: string, siblings: ReadonlySet<string>): boolean {
  return name.endsWith('.log') && siblings.has(`${failed}${name.slice(0, -4)}`)
}

const jpeg = /\.(jpe?g|jpe|jfif)$/i

export const isJpeg = (name: string): boolean => jpeg.test(name)

/** The common part of the names of a photograph and its raw file. */
export const stemOf = (name: string): string => comparable(withoutExtension(name))

interface Sorted {
  readonly folders: readonly string[]
  readonly name: string
}

/** Folder by folder, by name. A JPEG comes after other files of the same name: it was made from the raw file. */
export function inOrder(one: Sorted, other: Sorted): number {
  return (
    compared(one.folders.join('/'), other.folders.join('/')) ||
    compared(stemOf(one.name), stemOf(other.name)) ||
    Number(isJpeg(one.name)) - Number(isJpeg(other.name)) ||
    compared(one.name, other.name)
  )
}

const compared = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)
