import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'

const folder = join(import.meta.dirname, '..', '..', '..', 'migrations')

/** Advisory lock that one process holds while it migrates; any fixed number that is not used elsewhere. */
const lockKey = 0x6d696772

/**
 * Brings the database to the newest schema: the files of `migrations/` in the order of their names, all in one transaction and
 * under an advisory lock, so that several processes may start at once and a failure leaves the database as it was. Returns the
 * names that were applied now. `onWarning` is called with notes for an administrator. `onStep` is called with the number of
 * migrations before the first one, and with the progress about once a second.
 * @throws {Error} with the name of the file that failed, or when a newer release has migrated the database.
 */
export async function migrate(
  dsn: string,
  onWarning: (text: string) => void = () => {},
  onStep: (text: string) => void = () => {},
): Promise<string[]> {
  const client = new pg.Client({ connectionString: dsn, application_name: 'strongroom migration' })
  client.on('error', () => {})
  client.on('notice', ({ severity, message }) => {
    if (severity === 'WARNING') onWarning(message ?? '')
  })
  try {
    await client.connect()
    await client.query('begin')
    await client.query('select pg_advisory_xact_lock($1)', [lockKey])
    const texts = await migrationTexts()
    const applied = await appliedMigrations(client)
    const newer = [...applied].find((name) => !texts.has(name))
    if (newer !== undefined) throw new Error(`it was migrated by a newer release (${newer})`)
    const due = [...texts].filter(([name]) => !applied.has(name))
    await applyAll(client, due, onStep)
    await client.query('commit')
    return due.map(([name]) => name)
  } catch (error) {
    throw new Error(`cannot migrate the database: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    })
  } finally {
    // The server rolls back uncommitted changes.
    await client.end().catch(() => {})
  }
}

async function appliedMigrations(client: pg.Client): Promise<ReadonlySet<string>> {
  await client.query(
    'create table if not exists migration (name varchar(255) primary key, "timestamp" varchar(255) not null)',
  )
  const { rows } = await client.query<{ name: string }>('select name from migration')
  return new Set(rows.map((row) => row.name))
}

async function applyAll(
  client: pg.Client,
  due: readonly (readonly [name: string, text: string])[],
  onStep: (text: string) => void,
): Promise<void> {
  if (due.length > 0) onStep(`applying ${due.length} migrations`)
  let toldAt = Date.now()
  for (const [index, [name, text]] of due.entries()) {
    if (Date.now() - toldAt >= 1000) {
      onStep(`applied ${index} of ${due.length} migrations`)
      toldAt = Date.now()
    }
    await apply(client, name, text)
  }
}

async function apply(client: pg.Client, name: string, text: string): Promise<void> {
  try {
    await client.query(text)
    await client.query('insert into migration values ($1, $2)', [name, new Date().toISOString()])
  } catch (error) {
    throw new Error(`${name} failed: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  }
}

/** The text of each migration by name, in order. */
export async function migrationTexts(): Promise<Map<string, string>> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.sql')).sort()
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')))
  return new Map(files.map((file, index) => [file.slice(0, -'.sql'.length), texts[index] ?? '']))
}
