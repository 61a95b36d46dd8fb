/**
 * Keeps the PostgreSQL that the test processes of this checkout share. Started by test/support/postgres.ts, ends when
 * no test has been connected for two minutes, and removes its folder.
 */
import { rm, writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { startEmbeddedPostgres } from '../../src/platform/postgres/embedded.ts'
import { testServerFile, testServerFolder } from './postgres.ts'

const idleLimit = 120_000

const server = await startEmbeddedPostgres({
  dataDir: testServerFolder,
  database: 'tests',
  durable: false,
  onStep: () => {},
  onTrouble: () => {},
})
await writeFile(testServerFile, server.dsn)

let stopping = false
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.on(signal, () => {
    stopping = true
  })
}

let lastUse = Date.now()
const client = new pg.Client({ connectionString: server.dsn })
client.on('error', () => {
  stopping = true
})
await client.connect()
while (!stopping && Date.now() - lastUse < idleLimit) {
  await sleep(250)
  if (stopping || Date.now() - lastUse < 5000) continue
  const { rowCount } = await client.query(
    `select from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid() limit 1`,
  )
  if (rowCount) lastUse = Date.now()
}
await rm(testServerFile, { force: true })
await client.end().catch(() => {})
await server.stop()
await rm(testServerFolder, { recursive: true, force: true })
