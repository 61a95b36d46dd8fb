import type { FileService } from '../files/service.ts'
import type { Db } from '../platform/postgres/db.ts'
import {
  type BackupContents,
  contentsOf,
  type ListedBackup,
  listArchives,
  readArchive,
  withoutContents,
} from './backup/listing.ts'
import { findBackup, type StoredBackup } from './store.ts'

type Stored = Pick<StoredBackup, 'id' | 'createdAt' | 'status' | 'size' | 'format'>

interface Options {
  readonly db: Db
  /** The folder for archives of the command. */
  readonly folder: string
  readonly storeOf: FileService['storeOf']
}

/** Backups for administrators: those of the interface, and archives of the command in the data folder. */
export function createBackupInspection({ db, folder, storeOf }: Options) {
  return {
    /** Newest first. */
    async list(): Promise<ListedBackup[]> {
      const [stored, archives] = await Promise.all([
        db.query<Stored>(
          `select id, created_at as "createdAt", status, size, format from backup order by id desc limit 1000`,
        ),
        listArchives(folder),
      ])
      return [...stored.rows.map(listed), ...archives].sort((a, b) => (a.created_at < b.created_at ? 1 : -1))
    },

    /** Null: there is no backup of that name. Only the beginning of an archive is read. */
    async read(name: string): Promise<BackupContents | null> {
      if (!/^[1-9]\d{0,14}$/.test(name)) return readArchive(folder, name)
      const backup = await findBackup(db, Number(name))
      if (!backup) return null
      const { sha256, locationId, format } = backup
      const log = backup.log.map(({ at, msg }) => ({ created_at: new Date(at).toISOString(), msg }))
      // Archives of other formats have no list of contents at their beginning.
      if (sha256 === null || locationId === null || format !== 'native') return withoutContents(listed(backup), log)
      return contentsOf(listed(backup), async () => storeOf(locationId).read(sha256), log)
    },
  }
}

const listed = ({ id, createdAt, status, size, format }: Stored): ListedBackup => ({
  name: String(id),
  kind: 'stored',
  format,
  filesize: size,
  created_at: createdAt.toISOString(),
  status,
})
