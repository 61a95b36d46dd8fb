import { badRequest } from '../../platform/errors.ts'
import type { PageDeps } from './deps.ts'

/** A service on which ours depends, with its current state. */
export interface Backend {
  readonly name: string
  readonly kind: 'database' | 'location' | 'process'
  readonly status: 'connected' | 'not accessible'
  readonly details: string
  /** Used bytes: of the database on disk, of the process in memory; null: not known. */
  readonly bytes: number | null
}

/** The database, the locations of contents and this process. */
export async function backendsOf({ db, files, config }: Pick<PageDeps, 'db' | 'files' | 'config'>): Promise<Backend[]> {
  const [{ rows }, locations] = await Promise.all([
    db.query<{ version: string; bytes: number; connections: number; most: string }>(
      `select current_setting('server_version') as version, pg_database_size(current_database())::int8 as bytes,
         (select count(*)::int from pg_stat_activity where datname = current_database()) as connections,
         current_setting('max_connections') as most`,
    ),
    files.locations.list(),
  ])
  const [database] = rows
  if (!database) throw badRequest('The database does not say what it is.')
  return [
    {
      name: 'PostgreSQL',
      kind: 'database',
      status: 'connected',
      details: `${database.version}, ${config.dbDsn === null ? 'embedded' : 'external'}, ${database.connections} of ${database.most} connections`,
      bytes: database.bytes,
    },
    ...locations.map(({ name, kind, status, status_msg }): Backend => {
      return {
        name,
        kind: 'location',
        status,
        details: [kind, status_msg].filter((text) => text !== '').join(', '),
        bytes: null,
      }
    }),
    {
      name: 'Node.js',
      kind: 'process',
      status: 'connected',
      details: `${process.versions.node}, process ${process.pid}`,
      bytes: process.memoryUsage.rss(),
    },
  ]
}
