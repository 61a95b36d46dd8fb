import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { startMailServer } from '../support/mail-server.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { temporaryFolder } from '../support/process.ts'
import { attachService } from '../support/service.ts'
import { until } from '../support/until.ts'

test('a backup whose attempts were all killed has failed: its record, the event and a mail to administrators say so', async () => {
  await using folder = await temporaryFolder()
  await using resources = new AsyncDisposableStack()
  const database = await createTestDatabase()
  resources.defer(database.drop)
  const mails = resources.use(await startMailServer())
  const dataDir = join(folder.path, 'data')
  const begun = join(folder.path, 'begun')
  const program = join(folder.path, 'pg_dump')
  const lines = ['#!/bin/sh', '[ "$1" = --version ] && { echo "pg_dump (PostgreSQL) 99"; exit 0; }']
  await writeFile(program, [...lines, `echo begun >>${begun}`, 'exec sleep 600', ''].join('\n'))
  await chmod(program, 0o755)
  const attempts = async (): Promise<number> => (await readFile(begun, 'utf8').catch(() => '')).split('\n').length - 1
  for (const attempt of [1, 2, 3]) {
    const args = [join(import.meta.dirname, 'backup-process.ts'), database.dsn, dataDir, program]
    const more = attempt === 1 ? ['begin', mails.address] : []
    const child = spawn(process.execPath, [...args, ...more], { stdio: 'inherit' })
    await until(async () => (await attempts()) === attempt)
    child.kill('SIGKILL')
    await once(child, 'exit')
  }

  const svc = resources.use(await attachService(database.dsn, { dataDir, pgDump: program }))
  const root = svc.as('root')
  const read = async () => (await root.get('/system/backup/list')).body
  await until(async () => (await read())[0].status !== 'running')
  const [backup, ...others] = await read()
  const word = 'The service was ended in each of the 3 attempts.'
  assert.deepEqual([backup.status, backup.log.at(-1).msg, others, await attempts()], ['error', word, [], 3])
  const { body: events } = await root.get('/event/list', { type: 'BACKUP_FAILED' })
  const told = events.objects.map(({ event }: { event: { object_id: number; info: { Error: string } } }) => event)
  assert.deepEqual(
    told.map(({ object_id, info }: { object_id: number; info: { Error: string } }) => [object_id, info.Error]),
    [[backup.id, word]],
  )
  await until(() => mails.mails.length > 0)
  assert.deepEqual(
    mails.mails.map(({ to, data }) => [
      to,
      data.includes('A backup has failed'),
      data.includes('in each of the 3 attempts'),
    ]),
    [[['admin@museum.test'], true, true]],
  )
  const { rows: left } = await svc.db.query(`select from graphile_worker.jobs where task_identifier = 'backup.make'`)
  assert.deepEqual(left, [])
  // Another one can be made.
  assert.equal((await root.put('/system/backup/new', { format: 'native' })).status, 200)
  await svc.drain()
  assert.equal((await read())[0].status, 'done')
})

test('a backup without a job, as an older release could leave it, has failed when the service starts', async () => {
  await using folder = await temporaryFolder()
  await using resources = new AsyncDisposableStack()
  const database = await createTestDatabase()
  resources.defer(database.drop)
  const dataDir = join(folder.path, 'data')
  const first = await attachService(database.dsn, { dataDir })
  await first.db.query(`insert into backup (format, include_events) values ('native', true)`)
  await first[Symbol.asyncDispose]()
  const svc = resources.use(await attachService(database.dsn, { dataDir }))
  const { body } = await svc.as('root').get('/system/backup/list')
  assert.deepEqual(
    body.map(({ status }: { status: string }) => status),
    ['error'],
  )
})
