import type { Config } from '../config/config.ts'
import { DataFolderInUse } from '../process/instance-lock.ts'
import { hasCluster } from './cluster.ts'
import { type EmbeddedPostgres, runningPostgres, startEmbeddedPostgres } from './embedded.ts'
import { checkExternalPostgres } from './external.ts'

/** Name of the embedded server's database. */
export const databaseName = 'strongroom'

/**
 * Does some work on the database of a service that may be running or not: the external one, the running service's, or
 * the embedded one, which is started for that time.
 * @throws {Error} with one readable line, also when there is no data of a service.
 */
export async function withOwnDatabase<T>(
  config: Pick<Config, 'dataDir' | 'dbDsn'>,
  work: (dsn: string) => Promise<T>,
): Promise<T> {
  const { dataDir, dbDsn } = config
  if (dbDsn !== null) {
    await checkExternalPostgres(dbDsn)
    return work(dbDsn)
  }
  if (!(await hasCluster(dataDir))) throw new Error(`there are no data of a service in ${dataDir}`)
  const started = await start(dataDir).catch((error: unknown) => {
    if (error instanceof DataFolderInUse) return null
    throw error
  })
  return started ? whileRunning(started, work) : work(await runningPostgres(dataDir, databaseName))
}

/**
 * Does some work on a database that no service uses: the external one, or the embedded one, created when missing.
 * @throws {Error} with one readable line, also while a service runs on the data folder.
 */
export async function withNewDatabase<T>(
  { dataDir, dbDsn }: Pick<Config, 'dataDir' | 'dbDsn'>,
  work: (dsn: string) => Promise<T>,
): Promise<T> {
  if (dbDsn === null) return whileRunning(await start(dataDir, true), work)
  await checkExternalPostgres(dbDsn)
  return work(dbDsn)
}

function start(dataDir: string, besideTraces = false): Promise<EmbeddedPostgres> {
  return startEmbeddedPostgres({ dataDir, besideTraces, database: databaseName, onStep: () => {}, onTrouble: () => {} })
}

async function whileRunning<T>(postgres: EmbeddedPostgres, work: (dsn: string) => Promise<T>): Promise<T> {
  try {
    return await work(postgres.dsn)
  } finally {
    await postgres.stop()
  }
}
