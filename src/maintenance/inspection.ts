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
import { type BackupHead, findBackup, listHeads } from './store.ts'

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
      const [stored, archives] = await Promise.all([listHeads(db), listArchives(folder)])
      return [...stored.map(listed), ...archives].sort((a, b) => (a.created_at < b.created_at ? 1 : -1))
    },

    /** Null: there is no backup of that name. Only the beginning of an archive is read. */
    async read(name: string): Promise<BackupContents | null> {
      if (!/^[1-9]\d{0,14}$/.test(name)) return readArchive(folder, name)
      const backup = await findBackup(db, Number(name))
      if (!backup) return null
      const { sha256, locationId, format, status } = backup
      const log = backup.log.map(({ at, msg }) => ({ created_at: new Date(at).toISOString(), msg }))
      // Others do not say at their beginning what is in them.
      const readable = status === 'done' && format === 'native'
      if (sha256 === null || locationId === null || !readable) return withoutContents(listed(backup), log)
      return contentsOf(listed(backup), async () => storeOf(locationId).read(sha256), log)
    },
  }
}

const listed = ({ id, createdAt, status, size, format }: BackupHead): ListedBackup => ({
  name: String(id),
  kind: 'stored',
  format,
  filesize: size,
  created_at: createdAt.toISOString(),
  status,
})
