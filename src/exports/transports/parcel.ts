import type { Readable } from 'node:stream'
import type { AddressRules } from '../../platform/outgoing/addresses.ts'
import type { ArchiveEntry } from '../deliver/archive.ts'
import { type Options, packerOf } from './options.ts'

/** The files to be sent to a target, and the rules for that. */
export interface Parcel {
  readonly options: Options
  /** The name of the archive, or of the folder. */
  readonly name: string
  readonly contentType: string
  /** The whole result as one stream. */
  archive(): Readable
  /** File by file. */
  entries(): AsyncIterable<ArchiveEntry>
  readonly rules: AddressRules
  /** Milliseconds that the other side may take for an answer. */
  readonly patience: number
  /** Aborted when the run is over, or the process ends. */
  readonly signal: AbortSignal
}

/** Sends the files. @returns lines for the log @throws {Error} with the reason */
export type Send = (parcel: Parcel) => Promise<readonly string[]>

/** A place for files. */
export interface Target {
  put(path: string, content: Readable): Promise<void>
  /** The folder above it exists. */
  makeFolder(path: string): Promise<void>
}

/** Sends the archive, or each file into a folder. @returns how many files; null: the archive */
export async function sendInto({ archive, entries, name, options, signal }: Parcel, target: Target) {
  if (packerOf(options) !== 'files') {
    const content = archive()
    await target.put(name, content).finally(() => content.destroy())
    return null
  }
  const known = new Set<string>()
  let count = 0
  for await (const entry of entries()) {
    signal.throwIfAborted()
    const { content, end } = await entry.open()
    try {
      const path = `${name}/${entry.path}`
      for (const folder of newFolders(path, known)) await target.makeFolder(folder)
      await target.put(path, content)
    } finally {
      content.destroy()
      end()
    }
    count++
  }
  return count
}

/** Folders of a path from the top down, without those already known. */
function newFolders(path: string, known: Set<string>): string[] {
  const steps = path.split('/').slice(0, -1)
  const folders = steps.map((_, index) => steps.slice(0, index + 1).join('/'))
  const fresh = folders.filter((folder) => !known.has(folder))
  for (const folder of fresh) known.add(folder)
  return fresh
}
