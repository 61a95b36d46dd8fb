import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Kysely, PostgresDialect, sql } from 'kysely'
import { type Migration, Migrator } from 'kysely/migration'
import pg from 'pg'

const folder = join(import.meta.dirname, '..', '..', 'migrations')

/**
 * Brings the database to the newest schema: the files of `migrations/` in the order of their names, all in one
 * transaction and under an advisory lock, so that several processes may start at once and a failure leaves the
 * database as it was. Returns the names that were applied now.
 * @throws {Error} with the name of the file that failed, or when a newer release has migrated the database.
 */
export async function migrate(dsn: string): Promise<string[]> {
  const pool = new pg.Pool({ connectionString: dsn, max: 2, application_name: 'strongroom migration' })
  pool.on('error', () => {})
  const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) })
  try {
    const provider = { getMigrations: sqlFiles }
    const { error, results = [] } = await new Migrator({
      db,
      provider,
      migrationTableName: 'migration',
      migrationLockTableName: 'migration_lock',
    }).migrateToLatest()
    const failed = results.find((result) => result.status === 'Error')
    if (failed) throw new Error(`migration ${failed.migrationName} failed: ${messageOf(error)}`, { cause: error })
    if (error) throw new Error(`cannot migrate the database: ${messageOf(error)}`, { cause: error })
    return results.map((result) => result.migrationName)
  } finally {
    await db.destroy()
  }
}

/** The text of each migration by name, in order. */
export async function migrationTexts(): Promise<Map<string, string>> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.sql')).sort()
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')))
  return new Map(files.map((file, index) => [file.slice(0, -'.sql'.length), texts[index] ?? '']))
}

async function sqlFiles(): Promise<Record<string, Migration>> {
  const migrations: Record<string, Migration> = {}
  for (const [name, text] of await migrationTexts())
    migrations[name] = { up: async (db) => void (await sql.raw(text).execute(db)) }
  return migrations
}

function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  const missing = /previously executed migration (\S+) is missing/.exec(message)
  return missing ? `it was migrated by a newer release (${missing[1]})` : message
}
