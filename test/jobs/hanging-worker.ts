/**
 * A process that takes a job, says so, and never ends it: for the test that kills it. Arguments: the database; `here`: the job
 * is one that it runs by itself, `once`: it has a record, a key and one attempt.
 */
import { pino } from 'pino'
import { createJobs } from '../../src/jobs/service.ts'
import { openDb } from '../../src/platform/postgres/db.ts'

const db = openDb({
  connectionString: process.argv[2] ?? '',
  maxConnections: 5,
  applicationName: 'hanging',
  lockTimeout: 2000,
  onError: () => {},
})
const jobs = createJobs({ db, log: pino({ level: 'silent' }) })
const run = async () => {
  process.stdout.write('taken\n')
  await new Promise(() => {})
}
jobs.register('hang', run)
jobs.register('recorded', run, 'quick', { attempts: 1, end: async () => {} })
await jobs.start()
await db.transaction(async (tx) => {
  if (process.argv[3] === 'once') await jobs.enqueue(tx, 'recorded', { n: 1 }, { key: 'recorded', maxAttempts: 1 })
  else if (process.argv[3] !== 'here') await jobs.enqueue(tx, 'hang', {})
  else await jobs.runLocally(tx, [{ name: 'hang', payload: {}, priority: 0, maxAttempts: 5, run }])
})
