import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { type SealedElsewhere, sealedElsewhere } from '../auth/service.ts'
import { createEventLog } from '../events/service.ts'
import { migrateQueue } from '../jobs/service.ts'
import type { Config } from '../platform/config/config.ts'
import { type Db, openDb } from '../platform/postgres/db.ts'
import { restoreMark } from '../platform/postgres/instance-id.ts'
import { migrate, migrationTexts } from '../platform/postgres/migrate.ts'
import { withNewDatabase, withOwnDatabase } from '../platform/postgres/own-database.ts'
import { createProgress, type Progress, type ProgressOutput } from '../platform/process/progress.ts'
import { readManifest } from './backup/read.ts'
import { restoreBackup } from './backup/restore.ts'
import { type BackupSummary, writeBackup } from './backup/write.ts'

const help = {
  backup: `Usage: strongroom backup <file>

Writes all data as they are at this moment into a file (.tar.zst), while the service runs or while it does not.
Saving goes on meanwhile. The search index is not in it: a restore builds it anew.
`,
  restore: `Usage: strongroom restore <file>

Puts the data of a backup into an empty data folder (or an empty database, svc.db.dsn); all of them or none.
Then start the service: it builds the search index.
`,
}

type Out = ProgressOutput & NodeJS.WritableStream

/** `strongroom backup …`: answers the exit code. @throws {Error} with one line for the person at the terminal. */
export async function runBackup(args: string[], config: Config, out: Out = process.stdout): Promise<number> {
  const file = fileOf('backup', args, out)
  if (file === null) return 0
  if (await stat(file).catch(() => null)) throw new Error(`${file} exists already`)
  await withOwnDatabase(config, (dsn) =>
    withDb(dsn, config, async (db) => {
      const { tables, rows, bytes } = await logged(db, config, file, () =>
        shown(out, (progress) => writeBackup({ db, databaseName: config.databaseName, file, progress })),
      )
      out.write(`${rows} rows of ${tables} tables in ${file} (${(bytes / 1e6).toFixed(1)} MB)\n`)
      for (const { name, count, size } of await contentsByLocation(db)) {
        out.write(
          `not in it: ${count} contents of files (${(size / 1e6).toFixed(1)} MB) in the location ${name}; copy them now\n`,
        )
      }
    }),
  )
  return 0
}

/** `strongroom restore …`: answers the exit code. @throws {Error} with one line for the person at the terminal. */
export async function runRestore(args: string[], config: Config, out: Out = process.stdout): Promise<number> {
  const file = fileOf('restore', args, out)
  if (file === null) return 0
  if (!(await stat(file).catch(() => null))) throw new Error(`there is no file ${file}`)
  // Before there is a database, or a mark that keeps the service from starting.
  await readManifest(file, config.databaseName, [...(await migrationTexts()).keys()])
  const mark = restoreMark(config.dataDir)
  await withNewDatabase(config, async (dsn) => {
    await migrate(dsn)
    await withDb(dsn, config, async (db) => {
      await migrateQueue(db)
      const { rows, taken } = await shown(out, (progress) =>
        restoreBackup({ db, file, databaseName: config.databaseName, progress, begun: mark.set }),
      )
      await mark.clear()
      out.write(`restored ${rows} rows as of ${taken}; start the service, which builds the search index\n`)
      const missing = await sealedElsewhere(db, config)
      if (missing.apps + missing.accounts > 0) out.write(keyMissing(missing, config.dataDir))
    })
  })
  return 0
}

/** Once the service runs, it makes a key of its own. */
function keyMissing({ apps, accounts }: SealedElsewhere, dataDir: string): string {
  const what = [
    ...(apps > 0 ? [`${apps} authenticator apps`] : []),
    ...(accounts > 0 ? [`${accounts} accounts without a password`] : []),
  ]
  return (
    `the secret key is missing: it opens ${what.join(' and ')}. Before the start copy the file secret-key of the old data folder into ` +
    `${dataDir}, or set svc.secretKey; without it the apps must be set up anew, and the accounts need another UUID\n`
  )
}

function fileOf(command: keyof typeof help, args: string[], out: Out): string | null {
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options: { help: { type: 'boolean' } } })
  if (values.help) {
    out.write(help[command])
    return null
  }
  const [file, ...rest] = positionals
  if (file === undefined || rest.length > 0)
    throw new Error(`${command} needs one file; see strongroom ${command} --help`)
  return resolve(file)
}

async function withDb(dsn: string, config: Config, work: (db: Db) => Promise<void>): Promise<void> {
  const db = openDb({
    connectionString: dsn,
    maxConnections: 2,
    applicationName: 'strongroom maintenance',
    lockTimeout: config.lockTimeout,
    onError: () => {},
  })
  try {
    await work(db)
  } finally {
    await db.close()
  }
}

/** Contents of files lie beside the database. They never change, so a copy that is made later has all of a backup's. */
async function contentsByLocation(db: Db): Promise<{ name: string; count: number; size: number }[]> {
  const { rows } = await db.query<{ name: string; count: number; size: number }>(
    `select l.name, count(*)::int8 as count, sum(b.size)::float8 as size
     from file_blob b join file_location l on l.id = b.location_id
     where l.kind <> 'remote' group by l.name order by l.name`,
  )
  return rows
}

async function shown<T>(out: Out, work: (progress: Progress) => Promise<T>): Promise<T> {
  const progress = createProgress(out)
  try {
    return await work(progress)
  } finally {
    progress.stop()
  }
}

/** The event log says when the last good backup was made (BACKUP_DONE, BACKUP_FAILED). */
async function logged(
  db: Db,
  config: Config,
  file: string,
  work: () => Promise<BackupSummary>,
): Promise<BackupSummary> {
  const started = new Date()
  const note = async (type: 'BACKUP_DONE' | 'BACKUP_FAILED', more: object = {}): Promise<void> => {
    if (config.readOnly) return
    const Elapsed = `${((Date.now() - started.getTime()) / 1000).toFixed(3)}s`
    const info = { Started: started.toISOString(), Elapsed, BackupOpts: { file }, ...more }
    await createEventLog().append(db, [{ type, actor: null, info }])
  }
  try {
    const summary = await work()
    await note('BACKUP_DONE')
    return summary
  } catch (error) {
    await note('BACKUP_FAILED', { Error: (error as Error).message }).catch(() => {})
    throw error
  }
}
