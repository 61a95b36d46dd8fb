import { lstat, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { PostgresFolders } from './server-files.ts'

export type ClusterState = 'there' | 'missing'

/** Major version of the bundled server: it cannot use the data of another one. */
const major = '18'

/** Files that only an instance creates in its data folder. */
const traces = ['instance-id', 'secret-key', 'root-password', 'files']

/**
 * Whether the server's data exists. It counts as missing only when it certainly does not exist: nothing is created or removed where
 * unreadable data may be.
 * @throws {Error} with instructions.
 */
export async function clusterState({ data }: Pick<PostgresFolders, 'data'>): Promise<ClusterState> {
  const path = join(data, 'PG_VERSION')
  try {
    const version = (await readFile(path, 'utf8')).trim()
    if (version === major) return 'there'
    throw new Error(
      `${data} was made by PostgreSQL ${JSON.stringify(version.slice(0, 20))}, this release has ${major}: ` +
        'start it with the release that made it, make a backup there, and restore that into an empty data folder',
    )
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    if (code === undefined) throw cause
    if (code !== 'ENOENT') {
      throw new Error(
        `cannot read the data of PostgreSQL (${message}): nothing was changed; look at the disk and at rights`,
        {
          cause,
        },
      )
    }
  }
  const there = await lstat(data).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (there === null) return 'missing'
  throw new Error(
    `${data} is there, but has no data of PostgreSQL: mount the volume that has them, or put them back. ` +
      'Nothing was changed. Take the folder away only if it surely never had any',
  )
}

/** Whether a service has ever started on this data folder. */
export async function hasCluster(dataDir: string): Promise<boolean> {
  return (await clusterState({ data: join(dataDir, 'postgres', 'data') })) === 'there'
}

/** The traces of an instance in a data folder: names of files and folders that exist and are not empty. */
export async function instanceTraces(dataDir: string): Promise<string[]> {
  const found = await Promise.all(traces.map(async (name) => ((await isTrace(join(dataDir, name))) ? [name] : [])))
  return found.flat()
}

async function isTrace(path: string): Promise<boolean> {
  try {
    return (await readdir(path)).length > 0
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return false
    if (code === 'ENOTDIR') return true
    throw new Error(`cannot look at the data folder: ${(error as Error).message}`, { cause: error })
  }
}

/** @throws {Error} when the folder has traces of an instance, but not its database. */
export function assertNoTraces(dataDir: string, found: readonly string[]): void {
  if (found.length === 0) return
  throw new Error(
    `${dataDir} has ${found.join(', ')} of an instance, but not its database (postgres/data): mount the volume that has it, ` +
      'or bring it back with "strongroom restore". A new instance begins in an empty data folder',
  )
}
