import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { mkdir, readFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { migrateQueue } from '../../src/jobs/queue.ts'
import { openDb } from '../../src/platform/postgres/db.ts'
import { migrate, migrationTexts } from '../../src/platform/postgres/migrate.ts'
import { memoryFolder } from './memory-folder.ts'

const checkout = join(import.meta.dirname, '..', '..')

/**
 * Folder of the PostgreSQL that test processes share: those of one `npm test`, or all that are run by hand in this
 * checkout. A small process keeps the server (test-server.ts); it ends when nobody has used it for a while.
 */
export const testServerFolder =
  process.env.TEST_SERVER_FOLDER ??
  join(
    memoryFolder(),
    `strongroom-test-${userInfo().uid}-${createHash('sha256').update(checkout).digest('hex').slice(0, 8)}`,
  )

export const testServerFile = join(testServerFolder, 'server.dsn')

export interface TestDatabase {
  readonly dsn: string
  drop(): Promise<void>
}

/** A database of its own, copied from a migrated template, or from one that nobody is connected to. */
export async function createTestDatabase(original?: TestDatabase): Promise<TestDatabase> {
  return createDatabase(async () => (original ? nameOf(original.dsn) : await migratedTemplate()))
}

/** An empty database without our schema. */
export async function createEmptyDatabase(): Promise<TestDatabase> {
  return createDatabase(async () => 'template1')
}

async function createDatabase(template: () => Promise<string>): Promise<TestDatabase> {
  const name = `test_${process.pid}_${randomBytes(6).toString('hex')}`
  // Copied file by file: where nothing needs to survive a crash that is cheaper than writing each page to the log.
  await administer(`create database ${name} template ${await template()} strategy file_copy`)
  return {
    dsn: databaseDsn(await testServer(), name),
    drop: () => administer(`drop database if exists ${name} with (force)`),
  }
}

let administration: Promise<pg.Pool> | undefined

/** On one connection of this process, which keeps the shared server and does not keep the process. */
async function administer(text: string): Promise<void> {
  administration ??= openAdministration()
  await (await administration).query(text)
}

async function openAdministration(): Promise<pg.Pool> {
  const connectionString = await testServer()
  const pool = new pg.Pool({
    connectionString,
    max: 1,
    idleTimeoutMillis: 0,
    allowExitOnIdle: true,
    application_name: 'strongroom tests',
  })
  return pool.on('error', () => {})
}

/** Connection string of the shared server's maintenance database; starts the server when nobody has. */
async function testServer(): Promise<string> {
  const deadline = Date.now() + 60_000
  for (let attempt = 0; Date.now() < deadline; attempt++) {
    const dsn = await testServerReady(0)
    if (dsn) return dsn
    // Whoever comes first starts it; the instance lock sends the others away. Later attempts cover a server that was
    // just ending.
    if (attempt % 40 === 0) await startTestServer()
    await sleep(50)
  }
  throw new Error(`the test server does not start; see ${testServerFolder}`)
}

/** The server's connection string once it answers; null when it does not within the time. */
export async function testServerReady(milliseconds = 60_000): Promise<string | null> {
  const deadline = Date.now() + milliseconds
  for (;;) {
    const dsn = await readFile(testServerFile, 'utf8').catch(() => null)
    if (dsn && (await answers(dsn))) return dsn
    if (Date.now() >= deadline) return null
    await sleep(25)
  }
}

async function startTestServer(): Promise<void> {
  await mkdir(testServerFolder, { recursive: true, mode: 0o755 })
  const child = spawn(process.execPath, [join(import.meta.dirname, 'test-server.ts')], {
    detached: true,
    stdio: 'ignore',
  })
  child.unref()
}

async function answers(dsn: string): Promise<boolean> {
  return query(dsn, 'select 1').then(
    () => true,
    () => false,
  )
}

let template: Promise<string> | undefined

/** Asked for once in each process: no test changes migrations. */
function migratedTemplate(): Promise<string> {
  template ??= findTemplate()
  return template
}

/** The template has the hash of the migrations in its name: changed migrations make a new one. */
async function findTemplate(): Promise<string> {
  const hash = createHash('sha256')
  for (const [name, text] of await migrationTexts()) hash.update(name).update(text)
  const name = `template_${hash.digest('hex').slice(0, 16)}`
  await oneAtATime(name, async (client, server) => {
    const { rowCount } = await client.query('select from pg_database where datname = $1', [name])
    if (rowCount === 0) await createTemplate(client, server, name)
  })
  return name
}

/** Runs what one test process after the other may do. */
export async function oneAtATime(
  name: string,
  run: (client: pg.Client, server: string) => Promise<void>,
): Promise<void> {
  const server = await testServer()
  const client = new pg.Client({ connectionString: server })
  await client.connect()
  try {
    await client.query(`select pg_advisory_lock(hashtext($1))`, [name])
    await run(client, server)
  } finally {
    await client.end()
  }
}

async function createTemplate(client: pg.Client, server: string, template: string): Promise<void> {
  const partial = `${template}_new`
  await client.query(`drop database if exists ${partial} with (force)`)
  await client.query(`create database ${partial}`)
  await migrateAll(databaseDsn(server, partial))
  await client.query(`alter database ${partial} rename to ${template}`)
  await client.query(`alter database ${template} allow_connections false`)
}

/** With the tables of the job queue, which every service would create otherwise. */
export async function migrateAll(dsn: string): Promise<void> {
  await migrate(dsn)
  const db = openDb({
    connectionString: dsn,
    maxConnections: 3,
    applicationName: 'strongroom tests',
    lockTimeout: 60_000,
    onError: () => {},
  })
  await migrateQueue(db)
  await db.close()
}

/** Name of the database of a connection string of `databaseDsn`. */
function nameOf(dsn: string): string {
  return /@\/([^?]*)/.exec(dsn)?.[1] ?? ''
}

function databaseDsn(server: string, name: string): string {
  return server.replace(/@\/[^?]*/, `@/${name}`)
}

async function query(dsn: string, text: string): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: dsn, application_name: 'strongroom tests' })
  client.on('error', () => {})
  await client.connect()
  try {
    return await client.query(text)
  } finally {
    await client.end()
  }
}
