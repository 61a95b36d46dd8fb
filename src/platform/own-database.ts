import type { Config } from './config.ts'
import { DataFolderInUse } from './instance-lock.ts'
import { hasCluster, runningPostgres, startEmbeddedPostgres } from './postgres-embedded.ts'
import { checkExternalPostgres } from './postgres-external.ts'

/** The database of the embedded server. */
export const databaseName = 'strongroom'

/**
 * Does some work on the database of a service that may be running or not: the external one, the running service's, or
 * the embedded one, which is started for that time.
 * @throws {Error} with one readable line, also when there is no service's data.
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
  const started = await startEmbeddedPostgres({
    dataDir,
    database: databaseName,
    onStep: () => {},
    onTrouble: () => {},
  }).catch((error: unknown) => {
    if (error instanceof DataFolderInUse) return null
    throw error
  })
  if (!started) return work(await runningPostgres(dataDir, databaseName))
  try {
    return await work(started.dsn)
  } finally {
    await started.stop()
  }
}
