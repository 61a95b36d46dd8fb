import { createReadStream } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { type Manifest, manifestEntry, parseManifest } from './archive.ts'
import { entriesFrom } from './read.ts'

/** A backup in a list. */
export interface ListedBackup {
  /** In addresses: the id of a stored one, the file of an archive without its folder. */
  readonly name: string
  /** `stored`: made over the interface; `archive`: made by the command. */
  readonly kind: 'stored' | 'archive'
  readonly format: string
  /** Bytes of the archive; null: there is none. */
  readonly filesize: number | null
  readonly created_at: string
  readonly status: 'running' | 'done' | 'error' | 'unreadable'
}

/** An entry of a backup: a table, sequence or location, without data of the rows. */
export interface BackupEntry {
  readonly path: string
  readonly kind: 'table' | 'sequence' | 'contents'
  readonly columns: number
}

/** A line of the log of a backup that was made over the interface. */
export interface BackupLine {
  readonly created_at: string
  readonly msg: string
}

export interface BackupContents {
  readonly backup: ListedBackup & {
    readonly release: string
    readonly taken: string
    readonly instance: string
    readonly log: readonly BackupLine[]
  }
  readonly files: readonly BackupEntry[]
}

/** Valid names of archives: none that leads out of the folder. */
const archiveName = /^[\w][\w.-]{0,199}\.tar\.zst$/

/** Maximum number of files that are looked at: a folder of backups has tens. */
const mostListed = 1000

/** The archives of `strongroom backup` in a folder; a missing folder has none. */
export async function listArchives(folder: string): Promise<ListedBackup[]> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => archiveName.test(name)).slice(0, mostListed)
  const found = await Promise.all(names.map((name) => listed(folder, name)))
  return found.filter((one) => one !== null)
}

async function listed(folder: string, name: string): Promise<ListedBackup | null> {
  const there = await stat(join(folder, name)).catch(() => null)
  if (!there?.isFile()) return null
  const created_at = there.mtime.toISOString()
  return {
    name,
    kind: 'archive',
    format: 'native',
    filesize: there.size,
    created_at,
    status: there.size === 0 ? 'unreadable' : 'done',
  }
}

/** The description of an archive; null: there is no such archive. */
export async function readArchive(folder: string, name: string): Promise<BackupContents | null> {
  if (!archiveName.test(name)) return null
  const backup = await listed(folder, name)
  return backup && contentsOf(backup, async () => createReadStream(join(folder, name)))
}

/** The description of an archive, read from its beginning; an unreadable archive has none. */
export async function contentsOf(
  backup: ListedBackup,
  open: () => Promise<Readable>,
  log: readonly BackupLine[] = [],
): Promise<BackupContents> {
  const manifest = await manifestIn(open)
  if (!manifest) return withoutContents({ ...backup, status: 'unreadable' }, log)
  const { release, taken, databaseName: instance } = manifest
  return { backup: { ...backup, release, taken, instance, log }, files: entriesOf(manifest) }
}

export const withoutContents = (backup: ListedBackup, log: readonly BackupLine[]): BackupContents => ({
  backup: { ...backup, release: '', taken: '', instance: '', log },
  files: [],
})

function entriesOf({ tables, sequences, contents = [] }: Manifest): BackupEntry[] {
  return [
    ...tables.map(({ schema, name, columns }): BackupEntry => {
      return { path: `tables/${schema}.${name}`, kind: 'table', columns: columns.length }
    }),
    ...sequences.map(({ schema, name }): BackupEntry => {
      return { path: `sequences/${schema}.${name}`, kind: 'sequence', columns: 0 }
    }),
    ...contents.map((id): BackupEntry => ({ path: `contents/${id}`, kind: 'contents', columns: 0 })),
  ]
}

async function manifestIn(open: () => Promise<Readable>): Promise<Manifest | null> {
  const source = await open().catch(() => null)
  if (!source) return null
  try {
    for await (const { header, text } of entriesFrom(source).entries) {
      return header.name === manifestEntry ? parseManifest(await text()) : null
    }
    return null
  } catch {
    return null
  } finally {
    source.destroy()
  }
}
