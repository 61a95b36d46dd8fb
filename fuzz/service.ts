import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { invariants } from '../test/support/invariants.ts'
import { createTestDatabase, type TestDatabase } from '../test/support/postgres.ts'
import type { Turn } from './probe.ts'

export const rootPassword = 'fuzz-root-password'

/** A service in a separate process, on a separate database. */
export interface FuzzedService extends AsyncDisposable {
  readonly url: URL
  readonly database: TestDatabase
  /** The folder of its files. */
  readonly folder: string
  /** The last committed change of data stored by clients: grows with every changed row. */
  lastChange(): Promise<Change>
  /** Resolves when no background work is left, except for long-running work. */
  rest(): Promise<void>
  memory(): Promise<NodeJS.MemoryUsage>
  /** The longest turn of its event loop since the last call. */
  turn(): Promise<Turn>
  /** Broken invariants of the stored objects. */
  broken(): Promise<string[]>
  /** The text that it wrote to its log. */
  readonly output: () => string
  readonly ended: () => boolean
}

export interface Change {
  id: number
  table: string
}

/** Copies of stored data, and data that a refused request may change: counters of sign-ins, the index, sessions. */
const notWatched = [
  'search_',
  'index_queue',
  // Follows the index, for all callers.
  'harvest_',
  'login_flow',
  'sign_in_failure',
  'known_source',
  'oauth_',
  'transition_event',
  // Attempts are counted, even if they are refused.
  'quota_use',
  'fuzz_',
  'schema_',
  // Received data is kept where the request was refused, until the janitor removes it.
  'file_blob',
  'file_upload',
  // Made in the background, some time after the file has arrived.
  'file_rendition',
  'file_likeness',
  'file_count_',
  'begun_job',
  'migration',
]

/** Milliseconds. */
const longestRest = 20_000

/** The start of a service: a database without connections, and the files that belong to it. */
export type Beginning = Pick<FuzzedService, 'database' | 'folder'>

/** Its database and folder outlive it: the caller drops them. `settings`: of its environment. */
export async function startFuzzedService(
  beginning?: Beginning,
  settings: Readonly<Record<string, string>> = {},
): Promise<FuzzedService> {
  const database = await createTestDatabase(beginning?.database)
  const folder = await mkdtemp(join(tmpdir(), 'strongroom-fuzz-'))
  if (beginning) await cp(beginning.folder, folder, { recursive: true })
  const { child, output, url } = await startProcess(folder, database.dsn, settings).catch(async (error) => {
    await dropBeginning({ database, folder })
    throw error
  })
  const watch = new pg.Client({ connectionString: database.dsn, application_name: 'strongroom fuzz' })
  watch.on('error', () => {})
  await watch.connect()
  await watchChanges(watch)
  const ended = (): boolean => child.exitCode !== null || child.signalCode !== null
  return {
    url,
    database,
    folder,
    output,
    ended,
    async lastChange() {
      const { rows } = await watch.query<Change>({
        name: 'last_change',
        text: 'select id::int, name as table from fuzz_change order by id desc limit 1',
      })
      return rows[0] ?? { id: 0, table: '' }
    },
    async rest() {
      const until = performance.now() + longestRest
      for (let waiting = true; waiting && performance.now() < until; ) {
        await sleep(300)
        const { rows } = await watch.query<{ waiting: boolean }>({
          name: 'waiting_jobs',
          text: `select exists (select from begun_job) or exists (select from graphile_worker.jobs
            where attempts < max_attempts and (locked_at is not null or run_at <= now())) as waiting`,
        })
        waiting = rows[0]?.waiting ?? false
      }
    },
    async broken() {
      const found: string[] = []
      for (const [what, text] of Object.entries(invariants)) {
        const { rows } = await watch.query({ name: what, text })
        if (rows.length > 0) found.push(`${what}: ${JSON.stringify(rows[0])}`)
      }
      return found
    },
    memory: async () => (await ask<{ memory: NodeJS.MemoryUsage }>(child, 'memory', 60_000)).memory,
    turn: async () => (ended() ? { worked: 0, waited: 0 } : (await ask<{ turn: Turn }>(child, 'turn', 600_000)).turn),
    [Symbol.asyncDispose]: async () => {
      await watch.end().catch(() => {})
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGTERM')
        await once(child, 'exit')
      }
    },
  }
}

/** Asks the probe in the service; one question at a time. */
async function ask<Answer>(child: ChildProcess, question: string, patience: number): Promise<Answer> {
  child.send(question)
  const [answer] = await once(child, 'message', { signal: AbortSignal.timeout(patience) })
  return answer as Answer
}

export async function dropBeginning({ database, folder }: Beginning): Promise<void> {
  await database.drop()
  await rm(folder, { recursive: true, force: true })
}

async function startProcess(folder: string, dsn: string, settings: Readonly<Record<string, string>>) {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('SVC_'))
  const { NODE_TEST_CONTEXT: _, ...environment } = Object.fromEntries(inherited)
  const main = join(import.meta.dirname, '..', 'src', 'main.ts')
  const probe = join(import.meta.dirname, 'probe.ts')
  const child: ChildProcess = spawn(process.execPath, ['--expose-gc', '--import', probe, main, 'start'], {
    cwd: folder,
    env: {
      ...environment,
      SVC_DATA_DIR: folder,
      SVC_PORT: '0',
      SVC_DB_DSN: dsn,
      SVC_DB_MAX_CONNECTIONS: '10',
      SVC_ROOT_PASSWORD: rootPassword,
      SVC_LOG_LEVEL: 'error',
      SVC_LOGIN_ALLOW_REDIRECTS: 'http://localhost:*',
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  let text = ''
  const ready = Promise.withResolvers<string>()
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk) => {
      // Only the end is kept, which shows why the service ended; the output for a million requests would fill the memory.
      text = `${text}${chunk}`.slice(-1_000_000)
      const address = /ready at (\S+)/.exec(text)?.[1]
      if (address) ready.resolve(address)
    })
  }
  child.on('exit', (code) => ready.reject(new Error(`the service ended with code ${code}: ${text}`)))
  return { child, output: () => text, url: new URL(await ready.promise) }
}

/** One row of `fuzz_change` for each changed row, in the same transaction: the newest id tells whether anything changed. */
async function watchChanges(client: pg.Client): Promise<void> {
  await client.query(`
    create table if not exists fuzz_change (id bigint generated always as identity primary key, name text not null);
    create or replace function fuzz_note() returns trigger language plpgsql as $$
      begin
        insert into fuzz_change (name) values (tg_table_name);
        return null;
      end $$;`)
  const { rows } = await client.query<{ name: string }>(
    `select relname as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace
     and not exists (select from unnest($1::text[]) as part where relname like part || '%')`,
    [notWatched],
  )
  for (const { name } of rows) {
    // The log also has events of failures, and of background work on files.
    const told = name === 'event' ? "when (new.type !~ '_(ERROR|FAILED)$|^FILE_(PRODUCE|METADATA)$')" : ''
    const trigger = `create or replace trigger fuzz_note after insert or update on "${name}" for each row ${told} execute function fuzz_note();
      create or replace trigger fuzz_note_delete after delete on "${name}" for each row execute function fuzz_note()`
    await client.query(trigger)
  }
}
