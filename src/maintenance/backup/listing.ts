import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type Manifest, manifestEntry, parseManifest } from './archive.ts'
import { openArchive } from './read.ts'

/** A backup as a list shows it. */
export interface ListedBackup {
  /** Its file, without the folder. */
  readonly name: string
  readonly kind: 'archive'
  readonly filesize: number
  readonly created_at: string
  readonly status: 'done' | 'unreadable'
}

/** What is in one: of each table and location, without anything of the rows. */
export interface BackupEntry {
  readonly path: string
  readonly kind: 'table' | 'sequence' | 'contents'
  readonly columns: number
}

export interface BackupContents {
  readonly backup: ListedBackup & { readonly release: string; readonly taken: string; readonly instance: string }
  readonly files: readonly BackupEntry[]
}

/** Names of archives that somebody may ask for: none that leads out of the folder. */
const archiveName = /^[\w][\w.-]{0,199}\.tar\.zst$/

/** Files that are looked at: a folder of backups has tens. */
const mostListed = 1000

/** The archives of `strongroom backup` in a folder, newest first; a folder that is not there has none. */
export async function listArchives(folder: string): Promise<ListedBackup[]> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => archiveName.test(name)).slice(0, mostListed)
  const found = await Promise.all(names.map((name) => listed(folder, name)))
  return found.filter((one) => one !== null).sort((a, b) => (a.created_at < b.created_at ? 1 : -1))
}

async function listed(folder: string, name: string): Promise<ListedBackup | null> {
  const there = await stat(join(folder, name)).catch(() => null)
  if (!there?.isFile()) return null
  const created_at = there.mtime.toISOString()
  return { name, kind: 'archive', filesize: there.size, created_at, status: there.size === 0 ? 'unreadable' : 'done' }
}

/** What an archive says of itself, read from its beginning; null: there is no such, or it cannot be read. */
export async function readArchive(folder: string, name: string): Promise<BackupContents | null> {
  if (!archiveName.test(name)) return null
  const backup = await listed(folder, name)
  if (!backup) return null
  const manifest = await manifestIn(join(folder, name))
  if (!manifest) return { backup: { ...backup, status: 'unreadable', release: '', taken: '', instance: '' }, files: [] }
  const { release, taken, databaseName: instance } = manifest
  return { backup: { ...backup, release, taken, instance }, files: entriesOf(manifest) }
}

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

async function manifestIn(file: string): Promise<Manifest | null> {
  const { source, entries } = openArchive(file)
  try {
    for await (const { header, text } of entries) {
      return header.name === manifestEntry ? parseManifest(await text()) : null
    }
    return null
  } catch {
    return null
  } finally {
    source.destroy()
  }
}
