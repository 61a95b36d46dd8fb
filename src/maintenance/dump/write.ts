import { createWriteStream } from 'node:fs'
import { mkdtemp, open, rm } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Config } from '../../platform/config/config.ts'
import type { Db } from '../../platform/postgres/db.ts'
import { endForeign, startForeign } from '../../platform/process/foreign/start.ts'
import { watchForeign } from '../../platform/process/foreign/watch.ts'
import type { Progress } from '../../platform/process/progress.ts'
import { connectionVariables } from './connection.ts'
import { findDumpProgram } from './program.ts'

export interface DumpOptions {
  readonly db: Db
  readonly config: Pick<Config, 'pgDump'>
  readonly file: string
  /** Tables whose rows are left out. */
  readonly without: readonly string[]
  readonly progress: Progress
  /** Ends the program. */
  readonly signal: AbortSignal
}

/** It needs little memory and no disk, however large the database is: what comes of it goes into the file. */
const limits = { seconds: 86_400, memory: 4_000_000_000, output: 100_000_000 }

/** The end of what it says that is kept. */
const mostErrors = 800

/**
 * Has `pg_dump` write the database as it is at one moment, for `pg_restore`: with the search index, and without owners and
 * grants, so that it can be restored by any user of the target server.
 * @throws {Error} with what the program says
 */
export async function writeDump(options: DumpOptions): Promise<{ version: string; bytes: number }> {
  const { db, config, file, without, progress, signal } = options
  const program = await findDumpProgram(db, config)
  if (!program) throw new Error('no pg_dump of the version of the server, or of a newer one, is found')
  progress.say(`pg_dump ${program.version} writes the database`)
  // The file has hashes of passwords, and weak passwords can be found from them: only its owner may read it.
  const target = await open(file, 'wx', 0o600)
  const folder = await mkdtemp(`${file}-`)
  const child = startForeign({
    command: [
      program.path,
      ...['--format=custom', '--no-owner', '--no-privileges', '--no-password'],
      ...without.map((table) => `--exclude-table-data=public.${table}`),
    ],
    folder,
    limits: { processor: limits.seconds },
    isolate: [],
    environment: connectionVariables(db.pool.options.connectionString ?? ''),
    stdio: ['ignore', 'pipe', 'pipe', 'ignore'],
    // The database may be on another machine.
    online: true,
    background: true,
  })
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    // The shell that waits beside it holds streams open.
    child.once('exit', () => endForeign(child))
    child.once('close', resolve)
  })
  ended.catch(() => {})
  let broken: string | null = null
  const end = (why: string): void => {
    broken ??= why
    endForeign(child)
  }
  const onAbort = (): void => end('was ended with the service')
  signal.addEventListener('abort', onAbort, { once: true })
  if (signal.aborted) onAbort()
  const forget = watchForeign(child, limits, folder, ({ reason }) => end(reason))
  let said = ''
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    said = (said + chunk).slice(-mostErrors)
  })
  try {
    await pipeline(child.stdout as Readable, createWriteStream(file, { fd: target.fd, autoClose: false }))
    const code = await ended
    if (broken !== null) throw new Error(`pg_dump ${broken}`)
    if (code !== 0) throw new Error(`pg_dump failed: ${said.trim() || `it ended with ${code ?? 'a signal'}`}`)
    await target.sync()
    return { version: program.version, bytes: (await target.stat()).size }
  } finally {
    forget()
    signal.removeEventListener('abort', onAbort)
    endForeign(child)
    progress.stop()
    await target.close()
    await rm(folder, { recursive: true, force: true })
  }
}
