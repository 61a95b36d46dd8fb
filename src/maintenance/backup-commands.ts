import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { createEventLog } from '../events/service.ts'
import { migrateQueue } from '../jobs/service.ts'
import type { Config } from '../platform/config/config.ts'
import { type Db, openDb } from '../platform/postgres/db.ts'
import { restoreMark } from '../platform/postgres/instance-id.ts'
import { migrate, migrationTexts } from '../platform/postgres/migrate.ts'
import { withNewDatabase, withOwnDatabase } from '../platform/postgres/own-database.ts'
import { createProgress, type Progress, type ProgressOutput } from '../platform/process/progress.ts'
import { type SealedElsewhere, sealedElsewhere } from '../signin/service.ts'
import { checkBackup } from './backup/check.ts'
import { readManifest } from './backup/read.ts'
import { restoreBackup } from './backup/restore.ts'
import { backupText, contentLines } from './backup/telling.ts'
import { type BackupSummary, writeBackup } from './backup/write.ts'

const help = {
  backup: `Usage: strongroom backup <file> [--without-files]

Writes all data as they are at this moment into a file (.tar.zst), while the service runs or while it does not, and with
them the contents of files that lie in folders. Saving goes on meanwhile. The search index is not in it: a restore builds it
anew. Contents in S3 are not in it either, and the command says so.

  --without-files    leaves the contents of files out: copy their folders yourself, after the backup

The exit code is 1 where the backup was made, but contents of files are missing or damaged.
`,
  verify: `Usage: strongroom verify <file>

Reads a whole backup as a restore would, without restoring it, and says whether it could be restored by this release into this
instance. Neither the service nor its database is needed. The exit code is 1 where contents of files in it were missing or
damaged when it was made.
`,
  restore: `Usage: strongroom restore <file>

Puts the data of a backup into an empty data folder (or an empty database, svc.db.dsn), and the contents of files that are
in it into the folders of their locations; all of them or none. Then start the service: it builds the search index.
`,
}

type Out = ProgressOutput & NodeJS.WritableStream

/** `strongroom backup …`: returns the exit code. @throws {Error} with one line for the person at the terminal. */
export async function runBackup(args: string[], config: Config, out: Out = process.stdout): Promise<number> {
  const given = argumentsOf('backup', args, out)
  if (given === null) return 0
  const { file, withoutFiles } = given
  if (await stat(file).catch(() => null)) throw new Error(`${file} exists already`)
  return withOwnDatabase(config, (dsn) =>
    withDb(dsn, config, async (db) => {
      const summary = await logged(db, config, { file, ...(withoutFiles && { withoutFiles }) }, () =>
        shown(out, (progress) => writeBackup({ db, config, file, withFiles: !withoutFiles, progress })),
      )
      out.write(backupText(file, summary))
      return summary.copied.some(({ harmedCount }) => harmedCount > 0) ? 1 : 0
    }),
  )
}

/**
 * `strongroom verify …`: returns the exit code. @throws {Error} with the reason, in one line, why the backup cannot be restored.
 */
export async function runVerify(args: string[], config: Config, out: Out = process.stdout): Promise<number> {
  const given = argumentsOf('verify', args, out)
  if (given === null) return 0
  const { file } = given
  if (!(await stat(file).catch(() => null))) throw new Error(`there is no file ${file}`)
  const migrations = [...(await migrationTexts()).keys()]
  const { databaseName } = config
  const { manifest, rows, contents, harmed } = await shown(out, (progress) =>
    checkBackup({ file, databaseName, migrations, progress }),
  )
  out.write(`${file} can be restored: ${rows} rows and ${contents} contents of files as of ${manifest.taken}\n`)
  for (const sha256 of harmed) out.write(`missing or damaged when the backup was made: ${sha256}\n`)
  return harmed.length > 0 ? 1 : 0
}

/** `strongroom restore …`: returns the exit code. @throws {Error} with one line for the person at the terminal. */
export async function runRestore(args: string[], config: Config, out: Out = process.stdout): Promise<number> {
  const given = argumentsOf('restore', args, out)
  if (given === null) return 0
  const { file } = given
  if (!(await stat(file).catch(() => null))) throw new Error(`there is no file ${file}`)
  // Before a database is created, or a mark that prevents the service from starting.
  await readManifest(file, config.databaseName, [...(await migrationTexts()).keys()])
  const mark = restoreMark(config.dataDir)
  await withNewDatabase(config, async (dsn) => {
    await migrate(dsn)
    await withDb(dsn, config, async (db) => {
      await migrateQueue(db)
      const summary = await shown(out, (progress) => restoreBackup({ db, file, config, progress, mark }))
      await mark.clear()
      out.write(
        `restored ${summary.rows} rows as of ${summary.taken}; start the service, which builds the search index\n`,
      )
      for await (const line of contentLines(db, config, summary)) out.write(line)
      const missing = await sealedElsewhere(db, config)
      if (missing.apps + missing.accounts > 0) out.write(keyMissing(missing, config.dataDir))
    })
  })
  return 0
}

/** Once the service runs, it creates a new key. */
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

function argumentsOf(command: keyof typeof help, args: string[], out: Out) {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      help: { type: 'boolean' },
      ...(command === 'backup' && { 'without-files': { type: 'boolean' } }),
    } as { help: { type: 'boolean' }; 'without-files': { type: 'boolean' } },
  })
  if (values.help) {
    out.write(help[command])
    return null
  }
  const [file, ...rest] = positionals
  if (file === undefined || rest.length > 0)
    throw new Error(`${command} needs one file; see strongroom ${command} --help`)
  return { file: resolve(file), withoutFiles: values['without-files'] ?? false }
}

async function withDb<T>(dsn: string, config: Config, work: (db: Db) => Promise<T>): Promise<T> {
  const db = openDb({
    connectionString: dsn,
    maxConnections: 2,
    applicationName: 'strongroom maintenance',
    lockTimeout: config.lockTimeout,
    onError: () => {},
  })
  try {
    return await work(db)
  } finally {
    await db.close()
  }
}

async function shown<T>(out: Out, work: (progress: Progress) => Promise<T>): Promise<T> {
  const progress = createProgress(out)
  try {
    return await work(progress)
  } finally {
    progress.stop()
  }
}

/** The event log records the time of the last good backup (BACKUP_DONE, BACKUP_FAILED). */
async function logged(
  db: Db,
  config: Config,
  BackupOpts: { readonly file: string; readonly withoutFiles?: boolean },
  work: () => Promise<BackupSummary>,
): Promise<BackupSummary> {
  const started = new Date()
  const note = async (type: 'BACKUP_DONE' | 'BACKUP_FAILED', more: object = {}): Promise<void> => {
    if (config.readOnly) return
    const Elapsed = `${((Date.now() - started.getTime()) / 1000).toFixed(3)}s`
    const info = { Started: started.toISOString(), Elapsed, BackupOpts, ...more }
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
