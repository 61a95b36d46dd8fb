import { link, lstat, mkdir, open, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { readForeign } from '../process/own-folders.ts'
import { assertNoTraces, instanceTraces } from './cluster.ts'

/** A file in the data folder while a restore into it is in progress. */
const unfinished = 'restore-unfinished'

const pathOf = (dataDir: string): string => join(dataDir, 'instance-id')

interface Found {
  /** The id of the instance; null before it has one. */
  readonly id: string | null
  /** The database has our schema, perhaps an older one. */
  readonly ours: boolean
  /** There are tables, of this or any other program. */
  readonly used: boolean
}

/**
 * Checks that data folder and database belong together, before either is changed.
 * @throws {Error} with instructions, when they do not.
 */
export async function assertSameInstance(dsn: string, dataDir: string): Promise<void> {
  // Also when it is empty: then the restore was interrupted at its beginning.
  if (await lstat(join(dataDir, unfinished)).catch(() => null)) {
    throw new Error(
      `a restore into ${dataDir} was begun and did not come to its end, so the database is empty: repeat it, ` +
        `or take ${join(dataDir, unfinished)} away to begin without it`,
    )
  }
  const [found, written] = await Promise.all([asked(dsn), readForeign(pathOf(dataDir))])
  if (!found.ours && found.used) {
    throw new Error('the database has tables of something else: set svc.db.dsn to a database for this service alone')
  }
  if (!found.ours) return assertNoTraces(dataDir, await instanceTraces(dataDir))
  const named = written.trim()
  if (named === '' || named === found.id) return
  throw new Error(
    `the data folder ${dataDir} belongs to the instance ${named}, the database to ` +
      `${found.id ?? 'one of an earlier release'}: check svc.dataDir, svc.db.dsn and what is mounted. ` +
      `Where they are surely meant to be together, take ${pathOf(dataDir)} away`,
  )
}

/** Stores the id of the instance in the data folder, once the database has its schema. */
export async function noteInstance(dsn: string, dataDir: string): Promise<void> {
  const { id } = await asked(dsn)
  const path = pathOf(dataDir)
  if (id === null || (await readForeign(path)).trim() === id) return
  const partial = `${path}.${process.pid}`
  try {
    {
      await using file = await open(partial, 'wx', 0o644)
      await file.writeFile(`${id}\n`)
      await file.sync()
    }
    // If two processes start at once, only one writes it.
    await link(partial, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
  } finally {
    await rm(partial, { force: true })
  }
}

/** Between `set` and `clear` no service starts on the data folder: neither during a restore, nor after an interrupted one. */
export function restoreMark(dataDir: string) {
  const path = join(dataDir, unfinished)
  return {
    /** `folders`: folders of contents that the restore fills, and that were empty before. */
    async set(folders: readonly string[] = []): Promise<void> {
      await mkdir(dataDir, { recursive: true })
      await using file = await open(path, 'w', 0o644)
      await file.writeFile(
        `A restore into this data folder has not come to its end: repeat it.\n${JSON.stringify(folders)}\n`,
      )
      await file.sync()
    },
    /** Folders that an interrupted restore has begun to fill. */
    async folders(): Promise<string[]> {
      try {
        const found: unknown = JSON.parse((await readFile(path, 'utf8')).split('\n')[1] ?? '')
        return Array.isArray(found) ? found.filter((one) => typeof one === 'string') : []
      } catch {
        return []
      }
    },
    clear: (): Promise<void> => rm(path, { force: true }),
  }
}

export type RestoreMark = ReturnType<typeof restoreMark>

async function asked(dsn: string): Promise<Found> {
  const client = new pg.Client({ connectionString: dsn, application_name: 'strongroom' })
  client.on('error', () => {})
  try {
    await client.connect()
    const { rows } = await client.query<{ known: boolean; ours: boolean; used: boolean }>(
      `select to_regclass('public.instance') is not null as known, to_regclass('public.migration') is not null as ours,
         exists (
           select from pg_class c
           where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
             and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'e')
         ) as used`,
    )
    const { known = false, ours = false, used = false } = rows[0] ?? {}
    if (!known) return { id: null, ours, used }
    const { rows: instances } = await client.query<{ id: string }>('select id from instance')
    return { id: instances[0]?.id ?? null, ours, used }
  } finally {
    await client.end().catch(() => {})
  }
}
