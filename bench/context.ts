import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServiceClient, type ServiceClient } from '../src/import/client.ts'
import { startEmbeddedPostgres } from '../src/platform/postgres/embedded.ts'
import { type Process, startProcess } from './process.ts'

/** The setup for every path of the bench: one service in a separate process, one PostgreSQL beside it. */
export interface Context {
  readonly service: Process
  /** Connection string of the service's database, for measurements beside the service. */
  readonly dsn: string
  readonly client: ServiceClient
  /** Headers of a signed-in JSON request, for raw load. */
  headers(): Promise<Record<string, string>>
  /** Folder with the records of the collection. */
  readonly source: string
  /** Prints a line of progress. */
  readonly say: (line: string) => void
  close(): Promise<void>
}

export const rootPassword = 'bench-root-password'

export interface DataFolder {
  readonly path: string
  remove(): Promise<void>
}

/** A folder that is removed after the bench. */
export async function temporaryFolder(): Promise<DataFolder> {
  const path = await mkdtemp(join(tmpdir(), 'strongroom-bench-'))
  return { path, remove: () => rm(path, { recursive: true, force: true }) }
}

/** A folder that stays, for data that several runs measure. */
export async function keptFolder(path: string): Promise<DataFolder> {
  await mkdir(path, { recursive: true })
  return { path, remove: async () => {} }
}

/**
 * Starts PostgreSQL in the same way as the service would, so that others can measure on it; then the service. `data`: the folder of
 * both; absent: one that is removed afterwards.
 */
export async function openContext(
  source: string,
  say: (line: string) => void,
  env: Record<string, string> = {},
  data?: DataFolder,
): Promise<Context> {
  const folder = data ?? (await temporaryFolder())
  const postgres = await startEmbeddedPostgres({
    dataDir: folder.path,
    database: 'strongroom',
    onStep: () => {},
    onTrouble: say,
  })
  const service = await startProcess('src/main.ts', ['start'], {
    SVC_DATA_DIR: folder.path,
    SVC_DB_DSN: postgres.dsn,
    SVC_PORT: '0',
    SVC_ROOT_PASSWORD: rootPassword,
    ...env,
  }).catch(async (error: Error) => {
    await postgres.stop()
    throw error
  })
  const client = createServiceClient({ url: service.url, login: 'root', password: rootPassword })
  return {
    service,
    dsn: postgres.dsn,
    client,
    source,
    say,
    headers: async () => ({
      authorization: `Bearer ${await client.token()}`,
      'content-type': 'application/json',
    }),
    async close() {
      await service.stop()
      await postgres.stop()
      await folder.remove()
    },
  }
}
