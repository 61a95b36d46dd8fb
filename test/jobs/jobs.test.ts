import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { pino } from 'pino'
import { createJobs, type JobContext, type JobHandler, type Jobs, type LocalJob } from '../../src/jobs/service.ts'
import { type Db, openDb } from '../../src/platform/postgres/db.ts'
import { startNetwork } from '../support/network.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { until } from '../support/until.ts'

interface Process extends AsyncDisposable {
  db: Db
  jobs: Jobs
}

/** A process's worth of jobs on a database. */
async function startProcess(dsn: string, handlers: Record<string, JobHandler<never>>): Promise<Process> {
  const db = openDb({
    connectionString: dsn,
    maxConnections: 8,
    applicationName: 'jobs',
    lockTimeout: 2000,
    onError: () => {},
  })
  const jobs = createJobs({ db, log: pino({ level: 'silent' }), recoverEvery: 1000 })
  for (const [name, handler] of Object.entries(handlers)) jobs.register(name, handler)
  await jobs.start()
  return {
    db,
    jobs,
    async [Symbol.asyncDispose]() {
      await jobs.close()
      await db.close()
    },
  }
}

async function withDatabase(work: (dsn: string) => Promise<void>): Promise<void> {
  const database = await createTestDatabase()
  try {
    await work(database.dsn)
  } finally {
    await database.drop()
  }
}

// Each has a database of its own, and some wait for limits of time.
describe('jobs', { concurrency: true }, () => {
  test('a job runs after the commit of its transaction; one that was rolled back never was', () =>
    withDatabase(async (dsn) => {
      const seen: unknown[] = []
      await using one = await startProcess(dsn, { note: async (payload) => void seen.push(payload) })
      await one.db.transaction(async (tx) => {
        await one.jobs.enqueue(tx, 'note', { text: 'kept' })
        assert.deepEqual(seen, [])
      })
      await assert.rejects(
        one.db.transaction(async (tx) => {
          await one.jobs.enqueue(tx, 'note', { text: 'lost' })
          throw new Error('no')
        }),
      )
      await one.jobs.idle()
      assert.deepEqual(seen, [{ text: 'kept' }])
    }))

  test('a job that fails is tried again until its last attempt', () =>
    withDatabase(async (dsn) => {
      const seen: [string, number, boolean][] = []
      const fail: JobHandler<{ name: string; failures: number }> = async (
        { name, failures },
        { attempt, isLastAttempt },
      ) => {
        seen.push([name, attempt, isLastAttempt])
        if (attempt <= failures) throw new Error('not yet')
      }
      await using one = await startProcess(dsn, { fail })
      await one.db.transaction((tx) => one.jobs.enqueue(tx, 'fail', { name: 'twice', failures: 2 }))
      await one.jobs.idle({ hurry: true })
      await one.db.transaction((tx) => one.jobs.enqueue(tx, 'fail', { name: 'ever', failures: 9 }, { maxAttempts: 2 }))
      await one.jobs.idle({ hurry: true })
      assert.deepEqual(seen, [
        ['twice', 1, false],
        ['twice', 2, false],
        ['twice', 3, false],
        ['ever', 1, false],
        ['ever', 2, true],
      ])
    }))

  test('after a failure a job waits: it is not due again at once', () =>
    withDatabase(async (dsn) => {
      let runs = 0
      const fail = async (): Promise<void> => {
        runs++
        throw new Error('no')
      }
      await using one = await startProcess(dsn, { fail })
      await one.db.transaction((tx) => one.jobs.enqueue(tx, 'fail', {}))
      await one.jobs.idle()
      assert.equal(runs, 1)
      const { rows } = await one.db.query<{ wait: boolean; error: string }>(
        `select run_at > now() + interval '1 second' as wait, last_error as error from graphile_worker.jobs`,
      )
      assert.deepEqual(rows, [{ wait: true, error: 'no' }])
    }))

  test('of waiting jobs with one key the last one counts, and a job can wait for its time', () =>
    withDatabase(async (dsn) => {
      const seen: unknown[] = []
      await using one = await startProcess(dsn, { note: async (payload) => void seen.push(payload) })
      const runAt = new Date(Date.now() + 3_600_000)
      for (const n of [1, 2, 3]) {
        await one.db.transaction((tx) => one.jobs.enqueue(tx, 'note', { n }, { key: 'once', runAt }))
      }
      await one.jobs.idle()
      assert.deepEqual(seen, [])
      await one.jobs.idle({ hurry: true })
      assert.deepEqual(seen, [{ n: 3 }])
    }))

  test('several processes start at once on a new database and share the jobs, each job once', () =>
    withDatabase(async (dsn) => {
      const seen = new Map<number, string>()
      const handler = (name: string): JobHandler<{ n: number }> => {
        return async ({ n }) => {
          assert.ok(!seen.has(n), `job ${n} ran twice`)
          seen.set(n, name)
        }
      }
      const started = ['a', 'b', 'c'].map((name) => startProcess(dsn, { work: handler(name) }))
      await using a = await (started[0] as Promise<Process>)
      await using _b = await (started[1] as Promise<Process>)
      await using _c = await (started[2] as Promise<Process>)
      const requests = Array.from({ length: 300 }, (_, n) => ({ name: 'work', payload: { n } }))
      await a.db.transaction((tx) => a.jobs.enqueueAll(tx, requests))
      await a.jobs.idle()
      assert.equal(seen.size, 300)
      assert.ok(new Set(seen.values()).size > 1, 'only one process worked')
    }))

  test('closing waits for running jobs', () =>
    withDatabase(async (dsn) => {
      const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
      let ended = false
      const slow = async (_: unknown, { signal }: JobContext): Promise<void> => {
        begin()
        await new Promise((resolve) => setTimeout(resolve, 150))
        ended = !signal.aborted
      }
      await using one = await startProcess(dsn, { slow })
      await one.db.transaction((tx) => one.jobs.enqueue(tx, 'slow', {}))
      await begun
      await one.jobs.close()
      assert.ok(ended)
    }))

  test('the job of a process that is killed is run by another one within seconds', () =>
    withDatabase(async (dsn) => {
      // One from the queue, and one that the process has begun by itself.
      for (const way of ['queue', 'here']) {
        const child = spawn(process.execPath, [join(import.meta.dirname, 'hanging-worker.ts'), dsn, way], {
          stdio: ['ignore', 'pipe', 'inherit'],
        })
        await once(child.stdout, 'data')
        child.kill('SIGKILL')
        await once(child, 'exit')
      }

      const seen: number[] = []
      const hang = async (_: unknown, { attempt }: JobContext): Promise<void> => void seen.push(attempt)
      await using one = await startProcess(dsn, { hang })
      await one.jobs.idle({ timeout: 10_000 })
      assert.deepEqual(seen, [2, 2])
    }))

  test('when the last attempt of a job was killed, its record is told so once, and the job is gone', () =>
    withDatabase(async (dsn) => {
      const child = spawn(process.execPath, [join(import.meta.dirname, 'hanging-worker.ts'), dsn, 'once'], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      await once(child.stdout, 'data')
      child.kill('SIGKILL')
      await once(child, 'exit')

      const ended: unknown[] = []
      const failed: number[] = []
      const db = openDb({
        connectionString: dsn,
        maxConnections: 8,
        applicationName: 'jobs',
        lockTimeout: 2000,
        onError: () => {},
      })
      const jobs = createJobs({ db, log: pino({ level: 'silent' }), recoverEvery: 1000 })
      const handler: JobHandler<unknown> = async (_, { attempt }) => {
        failed.push(attempt)
        throw new Error('no')
      }
      jobs.register('recorded', handler, 'quick', { attempts: 1, end: async (payload) => void ended.push(payload) })
      await jobs.start()
      try {
        await until(() => ended.length > 0)
        await jobs.idle()
        const { rows: left } = await db.query('select from graphile_worker.jobs')
        assert.deepEqual([ended, failed, left], [[{ n: 1 }], [], []])
        // A job that fails with an error has told its record itself.
        await db.transaction((tx) => jobs.enqueue(tx, 'recorded', { n: 2 }, { key: 'recorded', maxAttempts: 1 }))
        await jobs.idle()
        await db.query(`update graphile_worker._private_jobs set run_at = now() - interval '1 hour'`)
        await new Promise((resolve) => setTimeout(resolve, 2500))
        assert.deepEqual([ended.length, failed], [1, [1]])
      } finally {
        await jobs.close()
        await db.close()
      }
    }))

  test('what a process runs by itself begins after the commit, is taken by nobody else, and is tried again when it fails', () =>
    withDatabase(async (dsn) => {
      const seen: unknown[] = []
      const queued = async (payload: unknown, { attempt }: JobContext): Promise<void> =>
        void seen.push([payload, attempt])
      await using one = await startProcess(dsn, { note: queued })
      await using other = await startProcess(dsn, { note: queued })
      const add = (run: LocalJob['run'], more = async (): Promise<void> => {}) =>
        one.db.transaction(async (tx) => {
          const job = { name: 'note', payload: { text: 'again' }, priority: 0, maxAttempts: 3, run }
          assert.ok(await one.jobs.runLocally(tx, [job]))
          assert.deepEqual(seen, [])
          await more()
        })
      await assert.rejects(
        add(
          async () => void seen.push('lost'),
          () => Promise.reject(new Error('no')),
        ),
      )
      const { promise: goesOn, resolve: goOn } = Promise.withResolvers<void>()
      await add(async ({ attempt }) => {
        await goesOn
        seen.push(['here', attempt])
      })
      // Somebody looks for jobs meanwhile.
      await other.db.transaction((tx) => other.jobs.enqueue(tx, 'note', 'other'))
      const waiting = one.jobs.idle()
      goOn()
      await waiting
      assert.deepEqual(
        seen.splice(0).toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b))),
        [
          ['here', 1],
          ['other', 1],
        ],
      )
      await add(() => Promise.reject(new Error('not now')))
      await one.jobs.idle({ hurry: true })
      assert.deepEqual(seen, [[{ text: 'again' }, 2]])
    }))

  test('what is stored without an answer to the COMMIT is begun by nobody here, and run all the same, once', () =>
    withDatabase(async (dsn) => {
      const seen: unknown[] = []
      await using network = await startNetwork(dsn)
      await using one = await startProcess(network.dsn, {
        note: async (payload, { attempt }) => void seen.push([payload, attempt]),
      })
      let added = false
      network.toServer = ({ body }) => {
        const text = body.toString()
        added ||= text.includes('insert into begun_job')
        return added && /\bcommit\b/.test(text) ? 'on, then silent' : 'on'
      }
      const run = async (): Promise<void> => void seen.push('here')
      const job = { name: 'note', payload: 'in doubt', priority: 0, maxAttempts: 1, run }
      const adding = one.db.transaction((tx) => one.jobs.runLocally(tx, [job]))
      await assert.rejects(adding, { code: 'ServiceUnavailable', message: /whether this is stored/ })
      network.toServer = null
      await until(() => seen.length > 0)
      await one.jobs.idle()
      assert.deepEqual(seen, [['in doubt', 1]])
    }))

  test('jobs go on when the connections to the database fell silent', () =>
    withDatabase(async (dsn) => {
      const seen: unknown[] = []
      await using network = await startNetwork(dsn)
      await using one = await startProcess(network.dsn, { note: async (payload) => void seen.push(payload) })
      await one.db.transaction((tx) => one.jobs.enqueue(tx, 'note', 'before'))
      await until(() => seen.length === 1)
      network.silence()
      await using other = await startProcess(dsn, { other: async () => {} })
      await other.db.transaction((tx) => other.jobs.enqueue(tx, 'note', 'after'))
      await until(() => seen.includes('after'))
      await other.jobs.idle()
    }))

  test('a job whose end cannot be stored ends its workers, not the process, and is run again', () =>
    withDatabase(async (dsn) => {
      const seen: number[] = []
      await using network = await startNetwork(dsn)
      await using one = await startProcess(network.dsn, { note: async (_, { attempt }) => void seen.push(attempt) })
      network.toServer = ({ body }) => {
        // The end of the first attempt is lost.
        if (seen.length === 1 && /complete_job/.test(body.toString())) return 'silent'
        return 'on'
      }
      await one.db.transaction((tx) => one.jobs.enqueue(tx, 'note', 'again'))
      await until(() => seen.length === 2)
      network.toServer = null
      await one.jobs.idle()
      assert.deepEqual(seen, [1, 2])
    }))

  test('jobs go on when the connections to the database were cut', () =>
    withDatabase(async (dsn) => {
      const seen: unknown[] = []
      await using one = await startProcess(dsn, { note: async (payload) => void seen.push(payload) })
      await one.db
        .query(
          'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
        )
        .catch(() => {})
      for (let tries = 0; tries < 20; tries++) {
        const done = await one.db
          .transaction((tx) => one.jobs.enqueue(tx, 'note', {}))
          .then(
            () => true,
            () => false,
          )
        if (done) break
      }
      await one.jobs.idle()
      assert.ok(seen.length > 0)
    }))

  test('a job that was taken and that nobody runs is run within seconds, while others run on', () =>
    withDatabase(async (dsn) => {
      const seen: unknown[] = []
      const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
      const { promise: enough, resolve: finish } = Promise.withResolvers<void>()
      const long = async (): Promise<void> => {
        begin()
        await enough
        seen.push('long')
      }
      await using one = await startProcess(dsn, { long, note: async (payload) => void seen.push(payload) })
      await one.db.transaction((tx) => one.jobs.enqueue(tx, 'long', {}))
      await begun
      // As after a connection that broke when the job had just been given out on it.
      await one.db.transaction(async (tx) => {
        await one.jobs.enqueue(tx, 'note', { text: 'lost' })
        await tx.query(
          `update graphile_worker._private_jobs lost set locked_by = held.locked_by, locked_at = now() - interval '10 s'
         from graphile_worker.jobs held where lost.locked_by is null and held.locked_by is not null`,
        )
      })
      setTimeout(finish, 2000)
      await one.jobs.idle({ timeout: 30_000 })
      assert.deepEqual(seen, ['long', { text: 'lost' }])
    }))

  test('lanes do not wait for each other; within one the smaller priority goes first', () =>
    withDatabase(async (dsn) => {
      const seen: string[] = []
      const held = Promise.withResolvers<void>()
      const db = openDb({
        connectionString: dsn,
        maxConnections: 8,
        applicationName: 'jobs',
        lockTimeout: 2000,
        onError: () => {},
      })
      const jobs = createJobs({
        db,
        log: pino({ level: 'silent' }),
        concurrency: { quick: 1, webhook: 1, standard: 1, export: 1, preview: 1, media: 1, task: 1, backup: 1 },
      })
      jobs.register('render', async () => held.promise, 'media')
      jobs.register<{ n: string }>('mail', async ({ n }) => void seen.push(n))
      jobs.register<{ n: string }>(
        'tidy',
        async ({ n }) => {
          seen.push(n)
          if (n === 'last') held.resolve()
        },
        'standard',
      )
      try {
        await jobs.start()
        await db.transaction((tx) => jobs.enqueueAll(tx, Array(5).fill({ name: 'render', payload: {} })))
        await db.transaction((tx) => jobs.enqueue(tx, 'mail', { n: 'mail' }))
        // Nothing ends in the media lane until the last of these has run.
        await db.transaction((tx) =>
          jobs.enqueueAll(tx, [
            { name: 'tidy', payload: { n: 'last' }, priority: 5 },
            { name: 'tidy', payload: { n: 'first' }, priority: -1 },
          ]),
        )
        await jobs.idle()
        assert.deepEqual(
          seen.filter((n) => n !== 'mail'),
          ['first', 'last'],
        )
        assert.ok(seen.includes('mail'))
      } finally {
        held.resolve()
        await jobs.close()
        await db.close()
      }
    }))
})

test('the queue is spoken to by its functions and its view: its own tables may be others in the next release', async () => {
  const root = join(import.meta.dirname, '..', '..')
  const found: string[] = []
  for await (const file of glob('{src,migrations}/**/*.{ts,sql}', { cwd: root })) {
    if ((await readFile(join(root, file), 'utf8')).includes('graphile_worker._private')) found.push(file)
  }
  assert.deepEqual(found, [])
})
