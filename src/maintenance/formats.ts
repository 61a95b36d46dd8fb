/** The formats of backups over the interface. */
import type { Config } from '../platform/config/config.ts'
import type { Db } from '../platform/postgres/db.ts'
import type { Progress } from '../platform/process/progress.ts'
import { backupText } from './backup/telling.ts'
import { writeBackup } from './backup/write.ts'
import { writeScript } from './sql/write.ts'

export interface MakeOptions {
  readonly db: Db
  readonly config: Pick<Config, 'databaseName' | 'dataDir' | 'fileFolders'>
  /** The target file, which does not exist yet. */
  readonly file: string
  /** Tables whose rows are left out. */
  readonly without: readonly string[]
  readonly progress: Progress
  /** The name of the archive for people. */
  readonly name: string
}

export interface Made {
  /** The contents of the archive, and the parts that are left out. */
  readonly lines: readonly string[]
  /** Contents that were missing or damaged, by location. */
  readonly harmed: readonly { readonly location: string; readonly count: number }[]
}

export interface BackupFormat {
  readonly mimetype: string
  readonly extension: string
  write(options: MakeOptions): Promise<Made>
}

export const backupFormats: Readonly<Record<string, BackupFormat>> = {
  native: {
    mimetype: 'application/zstd',
    extension: 'tar.zst',
    async write({ name, ...options }) {
      const summary = await writeBackup({ ...options, withFiles: true })
      const harmed = summary.copied
        .filter(({ harmedCount }) => harmedCount > 0)
        .map(({ place, harmedCount }) => ({ location: place.name, count: harmedCount }))
      return { lines: backupText(name, summary).trim().split('\n'), harmed }
    },
  },
  postgres: {
    mimetype: 'application/gzip',
    extension: 'sql.gz',
    async write({ name, ...options }) {
      const { tables, rows, bytes } = await writeScript(options)
      const size = `${(bytes / 1e6).toFixed(1)} MB`
      return {
        lines: [`${rows} rows of ${tables} tables in ${name} (${size})`, 'not in it: contents of files'],
        harmed: [],
      }
    },
  },
}
