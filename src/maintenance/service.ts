/** What of backups the running service shows; the commands stand beside it. */
export {
  type BackupContents,
  type BackupEntry,
  type ListedBackup,
  listArchives,
  readArchive,
} from './backup/listing.ts'
