import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Config } from '../../platform/config/config.ts'
import type { Queryable } from '../../platform/postgres/db.ts'
import { findProgram } from '../../platform/process/foreign/network.ts'
import { runForeign } from '../../platform/process/foreign/run.ts'

export interface DumpProgram {
  readonly path: string
  /** As it says itself: `18.4`. */
  readonly version: string
}

/** To say its version. */
const limits = { seconds: 10, memory: 500_000_000, output: 0, said: 1000 }

/**
 * The program `pg_dump`, where there is one that knows the server of the database: it must be of its major version or of a
 * newer one.
 */
export async function findDumpProgram(db: Queryable, { pgDump }: Pick<Config, 'pgDump'>): Promise<DumpProgram | null> {
  const path = await findProgram(pgDump)
  if (path === null) return null
  const version = await versionOf(path)
  return version !== null && Number.parseInt(version, 10) >= (await majorOfServer(db)) ? { path, version } : null
}

async function versionOf(program: string): Promise<string | null> {
  const folder = await mkdtemp(join(tmpdir(), 'dump-version-'))
  try {
    const end = await runForeign({ program, args: ['--version'], folder, limits, isolate: [] })
    if (end.kind !== 'ended' || end.code !== 0) return null
    return /^pg_dump \(PostgreSQL\) (\d+[\w.]*)/.exec(end.output.toString('utf8'))?.[1] ?? null
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function majorOfServer(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ major: number }>(
    `select current_setting('server_version_num')::int / 10000 as major`,
  )
  return rows[0]?.major ?? Number.POSITIVE_INFINITY
}
