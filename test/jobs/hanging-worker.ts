/** A process that takes a job, says so, and never ends it: for the test that kills it. Argument: the database. */
import { pino } from 'pino'
import { createJobs } from '../../src/jobs/service.ts'
import { openDb } from '../../src/platform/db.ts'

const db = openDb({
  connectionString: process.argv[2] ?? '',
  maxConnections: 5,
  applicationName: 'hanging',
  lockTimeout: 2000,
  onError: () => {},
})
const jobs = createJobs({ db, log: pino({ level: 'silent' }) })
jobs.register('hang', async () => {
  process.stdout.write('taken\n')
  await new Promise(() => {})
})
await jobs.start()
await db.transaction((tx) => jobs.enqueue(tx, 'hang', {}))
