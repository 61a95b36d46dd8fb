import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { QueryResultRow } from 'pg'
import { scrubAddress } from '../../platform/secrets/secrets.ts'
import type { BlobStore, Sha256 } from '../blobs/blob-store.ts'
import { createFileSystemStore } from '../blobs/file-system.ts'
import { type FolderRules, folderOf } from './draft.ts'

/** A pool, or the connection on which a backup is made or restored. */
interface Asked {
  query<T extends QueryResultRow>(text: string, values?: unknown[]): Promise<{ rows: T[] }>
}

/** A location, for a backup. */
export interface BackupLocation {
  readonly id: number
  readonly name: string
  /** Text for people: the folder, the bucket. */
  readonly where: string
  /** Its contents, where they are files of this machine that the configuration lets the service reach. */
  readonly folder: { readonly path: string; readonly store: BlobStore } | null
}

export interface BackupContent {
  readonly sha256: Sha256
  readonly size: number
  /** A file or an upload uses it. Other contents are announced before they are stored, and stay a day without a use. */
  readonly used: boolean
}

interface LocationRow {
  readonly id: number
  readonly name: string
  readonly kind: string
  readonly prefix: string
  readonly dir: string | null
  readonly bucket: string | null
  readonly endpoint: string | null
}

/** All locations, those of the web included. They may come from a backup that another person has made. */
export async function backupLocations(from: Asked, rules: FolderRules): Promise<BackupLocation[]> {
  const { rows } = await from.query<LocationRow>(
    `select id, name, kind, prefix, config ->> 'dir' as dir, config ->> 'bucket' as bucket, config ->> 'endpoint' as endpoint
     from file_location order by id`,
  )
  return rows.map((row) => {
    const path = row.kind === 'file' ? pathOf(row, rules) : null
    const folder = path === null ? null : { path, store: createFileSystemStore(path) }
    return { id: row.id, name: printable(row.name), where: printable(whereOf(row, path)), folder }
  })
}

/** Null where the configuration does not allow the folder. */
function pathOf({ dir, prefix }: LocationRow, rules: FolderRules): string | null {
  try {
    return folderOf(join(dir ?? '', prefix), rules)
  } catch {
    return null
  }
}

function whereOf({ kind, prefix, dir, bucket, endpoint }: LocationRow, path: string | null): string {
  if (kind === 'remote') return 'addresses on the web'
  const below = prefix === '' ? '' : ` under ${prefix}`
  if (kind === 's3') return `the bucket ${bucket}${endpoint ? ` of ${scrubAddress(endpoint)}` : ''}${below}`
  return path === null ? `${join(dir ?? '', prefix)}, which is not in svc.files.folders` : path
}

/** A name must not move the cursor of a terminal. */
function printable(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, '?')
}

/** Contents that are read at once. */
const page = 1000

/** All contents that the database has in a location, by hash. */
export async function* backupContents(from: Asked, locationId: number): AsyncGenerator<BackupContent> {
  for (let last: Sha256 | null = ''; last !== null; ) {
    const { rows }: { rows: BackupContent[] } = await from.query<BackupContent>(
      `select encode(sha256, 'hex') as sha256, size, exists (select from file_version v
           where v.location_id = b.location_id and v.sha256 = b.sha256) or exists (select from file_upload_part p
           where p.location_id = b.location_id and p.sha256 = b.sha256) or exists (select from kept_content k
           where k.location_id = b.location_id and k.sha256 = b.sha256) as used
       from file_blob b where location_id = $1 and sha256 > decode($2, 'hex') and octet_length(sha256) = 32 order by sha256 limit ${page}`,
      [locationId, last],
    )
    yield* rows
    last = rows.length < page ? null : (rows.at(-1)?.sha256 ?? null)
  }
}

/** The names that a folder of contents can have at its top; nothing else in it is touched. */
const ours = /^(?:[0-9a-f]{2}|tmp)$/

/** Whether a folder has something at the names of contents. */
export async function hasContents(path: string): Promise<boolean> {
  return (await namesIn(path)).some((name) => ours.test(name))
}

/** Removes the contents from a folder that was empty before. */
export async function clearContents(path: string): Promise<void> {
  for (const name of (await namesIn(path)).filter((one) => ours.test(one))) {
    await rm(join(path, name), { recursive: true, force: true })
  }
}

async function namesIn(path: string): Promise<string[]> {
  return readdir(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
}

/** The contents of a location: those that are missing there, and those that exist. */
export interface Lack {
  readonly place: BackupLocation
  readonly count: number
  readonly size: number
  readonly there: number
  readonly thereSize: number
}

/**
 * The contents that the database expects and that are missing. For a location that is no folder of this machine, these
 * are all.
 */
export async function lackOf(from: Asked, place: BackupLocation): Promise<Lack> {
  let [count, size, there, thereSize] = [0, 0, 0, 0]
  for await (const content of backupContents(from, place.id)) {
    if (place.folder && (await place.folder.store.size(content.sha256)) === content.size) {
      there++
      thereSize += content.size
    } else if (content.used) {
      count++
      size += content.size
    }
  }
  return { place, count, size, there, thereSize }
}
