/** The formats of backups over the interface. */
import type { Config } from '../platform/config/config.ts'
import { AppError } from '../platform/errors.ts'
import type { Db, Queryable } from '../platform/postgres/db.ts'
import type { Progress } from '../platform/process/progress.ts'
import { backupText } from './backup/telling.ts'
import { writeBackup } from './backup/write.ts'
import { findDumpProgram } from './dump/program.ts'
import { writeDump } from './dump/write.ts'
import { writeScript } from './sql/write.ts'

export type BackupConfig = Pick<Config, 'databaseName' | 'dataDir' | 'fileFolders' | 'pgDump'>

export interface MakeOptions {
  readonly db: Db
  readonly config: BackupConfig
  /** Where it is written: no such file is there yet. */
  readonly file: string
  /** Tables whose rows are left out. */
  readonly without: readonly string[]
  readonly progress: Progress
  /** The name of the archive for people. */
  readonly name: string
  /** Aborted when the service stops. */
  readonly signal: AbortSignal
}

export interface BackupResult {
  /** The contents of the archive, and the parts that are left out. */
  readonly lines: readonly string[]
  /** Contents that were missing or damaged, by location. */
  readonly harmed: readonly { readonly location: string; readonly count: number }[]
}

export interface BackupFormat {
  readonly mimetype: string
  readonly extension: string
  write(options: MakeOptions): Promise<BackupResult>
  /** Whether it can be made on this machine; always, where it is not said. */
  readonly isThere?: (db: Queryable, config: BackupConfig) => Promise<boolean>
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
  pg_dump: {
    mimetype: 'application/octet-stream',
    extension: 'pg_dump',
    isThere: async (db, config) => (await findDumpProgram(db, config)) !== null,
    async write({ name, ...options }) {
      const { version, bytes } = await writeDump(options)
      const size = `${(bytes / 1e6).toFixed(1)} MB`
      return {
        lines: [`the database by pg_dump ${version} in ${name} (${size})`, 'not in it: contents of files'],
        harmed: [],
      }
    },
  },
}

/** @throws {AppError} `FormatNotSupported` for what cannot be made here. */
export async function assertFormat(db: Queryable, config: BackupConfig, format: string): Promise<void> {
  const known = Object.hasOwn(backupFormats, format) ? backupFormats[format] : undefined
  if (known && (known.isThere === undefined || (await known.isThere(db, config)))) return
  const there = await Promise.all(
    Object.entries(backupFormats).map(async ([name, { isThere }]) =>
      isThere === undefined || (await isThere(db, config)) ? [name] : [],
    ),
  )
  throw new AppError('FormatNotSupported', { format, supported: there.flat() })
}
