import { execFile } from 'node:child_process'
import { mkdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { startEmbeddedPostgres } from '../../src/platform/postgres/embedded.ts'
import { migrateAll, oneAtATime, testServerFolder } from './postgres.ts'
import { temporaryFolder } from './process.ts'

const original = join(testServerFolder, 'prepared')

/**
 * A temporary folder for a service's data that has a PostgreSQL with our schema, for tests that are not about the very
 * first start: making it takes as long as two starts.
 */
export async function preparedFolder(): Promise<{ path: string } & AsyncDisposable> {
  await oneAtATime('prepared folder', async () => {
    if (!(await isThere(original))) await prepare()
  })
  const folder = await temporaryFolder()
  // With its owners: the server that root starts is another user's.
  await promisify(execFile)('cp', ['-a', join(original, 'postgres'), folder.path])
  return folder
}

async function prepare(): Promise<void> {
  const partial = `${original}.new`
  await rm(partial, { recursive: true, force: true })
  await mkdir(partial, { recursive: true })
  const server = await startEmbeddedPostgres({
    dataDir: partial,
    database: 'strongroom',
    durable: false,
    onStep: () => {},
    onTrouble: () => {},
  })
  await migrateAll(server.dsn)
  await server.stop()
  // What names this place.
  for (const name of ['run', 'run-folder']) await rm(join(partial, 'postgres', name), { recursive: true, force: true })
  await rename(partial, original)
}

function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}
