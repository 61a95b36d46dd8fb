import { backupLocations, type Lack, lackOf } from '../../files/service.ts'
import type { Db } from '../../platform/postgres/db.ts'
import type { FolderConfig } from './contents-in.ts'
import type { CopiedContents } from './contents-out.ts'
import type { RestoreSummary } from './restore.ts'
import type { BackupSummary } from './write.ts'

const contents = (count: number, bytes: number): string => `${count} contents of files (${(bytes / 1e6).toFixed(1)} MB)`

/** The text about a finished backup: its contents, and the parts that are left out. */
export function backupText(file: string, { tables, rows, bytes, copied, left }: BackupSummary): string {
  const lines = [
    `${rows} rows of ${tables} tables in ${file} (${(bytes / 1e6).toFixed(1)} MB)`,
    ...copied.flatMap(copiedLines),
    ...left.map(
      ({ place, count, size }) =>
        `not in it: ${contents(count, size)} in the location ${place.name}: ${place.where}` +
        `${place.folder ? '; copy them now' : ''}`,
    ),
  ]
  return `${lines.join('\n')}\n`
}

function copiedLines({ place, copied, bytes, harmed, harmedCount }: CopiedContents): string[] {
  const done = copied > 0 ? [`in it: ${contents(copied, bytes)} of the location ${place.name}: ${place.where}`] : []
  if (harmedCount === 0) return done
  const more = harmedCount > harmed.length ? ' and more' : ''
  return [
    ...done,
    `missing or damaged: ${harmedCount} contents of files of the location ${place.name}: ${harmed.join(', ')}${more}`,
  ]
}

/** The text after a restore: the contents that are restored, and those that must be copied to a location by hand. */
export async function* contentLines(
  db: Db,
  config: FolderConfig,
  { contents: within }: RestoreSummary,
): AsyncGenerator<string> {
  if (within === null) yield 'the backup is of a release that did not copy contents of files into it\n'
  for (const place of await backupLocations(db, { dataDir: config.dataDir, folders: config.fileFolders })) {
    const lack = await lackOf(db, place)
    if (lack.there > 0) yield `${contents(lack.there, lack.thereSize)} are in ${place.where}\n`
    if (lack.count > 0) yield lackLine(lack, within?.includes(place.id) ?? false)
  }
}

function lackLine({ place, count, size }: Lack, inBackup: boolean): string {
  const what = `${contents(count, size)} of the location ${place.name}`
  if (!place.folder) return `not restored: ${what}; they must be in ${place.where}\n`
  const why = inBackup
    ? 'the folder had contents already, or they were not in the backup'
    : 'they are not in the backup'
  return `missing: ${what}; put them into ${place.where} (${why})\n`
}
