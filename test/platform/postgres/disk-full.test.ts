import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdir, readFile, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { postgresSettings } from '../../../src/platform/postgres/settings.ts'
import { isAlive } from '../../../src/platform/process/processes.ts'
import { mountSmallDisk } from '../../../torture/disk.ts'
import { createHttpClient, password } from '../../../torture/http.ts'
import { setScene } from '../../../torture/scene.ts'
import { spawnService } from '../../support/process.ts'
import { payload } from '../../support/seed/museum.ts'
import { until } from '../../support/until.ts'

const MB = 1024 * 1024

test('WAL has a bound by the size of the disk', () => {
  const bounds = (megabytes: number) => {
    const machine = { memory: 16_384 * MB, cpus: 4, sharedMemory: null, disk: megabytes * MB }
    const settings = postgresSettings(machine, { durable: true, connections: 30 })
    return [settings.min_wal_size, settings.max_wal_size]
  }
  assert.deepEqual(bounds(400), ['32MB', '64MB'])
  assert.deepEqual(bounds(10_240), ['128MB', '512MB'])
  assert.deepEqual(bounds(1_000_000), ['256MB', '2048MB'])
})

/** Milliseconds: five attempts to start the server take minutes beside other work. */
const slow = { timeout: 600_000 }

test('a full disk: writes are refused, the reason is told, and with space all is as before', slow, async (t) => {
  const disk = await mountSmallDisk(400)
  if (typeof disk === 'string') return t.skip(disk)
  await using _ = disk
  const dataDir = join(disk.path, 'data')
  await using service = await spawnService(dataDir, { SVC_ROOT_PASSWORD: password })
  const client = createHttpClient(service.url)
  const { pool } = await setScene(client)
  const save = (n: number) => {
    const block = {
      mark: `book ${n} ${randomBytes(6000).toString('base64')}`,
      code: `c${n}`,
      _pool: { pool: { _id: pool } },
    }
    return client.post('db/book', [payload('book', block)])
  }
  assert.equal((await save(0)).status, 200)

  await disk.fill()
  let refused = 0
  const statuses = new Set<number>()
  for (let n = 1; refused < 5 && n < 3000; n++) {
    const { status } = await save(n)
    statuses.add(status)
    if (status !== 200) refused++
    await disk.fill()
  }
  assert.ok(refused >= 5, 'the disk is full')
  assert.deepEqual(
    [...statuses].filter((status) => status !== 200 && status !== 503),
    [],
  )

  const trouble = /PostgreSQL does not start: .*/g
  let killed = 0
  await until(async () => {
    await disk.fill()
    // Now and then the space that it gave up itself is enough for it to come back: then it is ended once more.
    if (performance.now() - killed > 10_000) {
      await killPostgres(dataDir)
      killed = performance.now()
    }
    return trouble.test(service.output.stdout)
    // It is told after five attempts in vain, each of which takes seconds beside other work.
  }, 300).catch(async (cause: Error) => {
    const log = join(dataDir, 'postgres', 'data', 'log')
    const lines = await Promise.all((await readdir(log)).map((name) => readFile(join(log, name), 'utf8')))
    throw new Error(`${service.output.stdout}\n${lines.join('').slice(-3000)}`, { cause })
  })
  for (const line of service.output.stdout.match(trouble) ?? []) {
    assert.match(line, /the disk is full \(\d+ MB free|No space left on device/)
    assert.doesNotMatch(line, /HINT|directory "log"/)
  }

  await disk.empty()
  await until(async () => (await save(10_000)).status === 200)
  await until(async () => {
    const { body } = await client.get('system/status')
    return body.total_not_indexed === 0
  }, 20)
  const { body: status } = await client.get('system/status')
  const books = status.objecttypes.find((type: { type_name: string }) => type.type_name === 'book')
  assert.deepEqual([books.indexed_count, books.error_count], [books.total_count, 0])
})

/** The server of this folder, and what it has started: on a full disk the file with its number may be empty. */
async function killPostgres(dataDir: string): Promise<void> {
  const folder = join(dataDir, 'postgres', 'data')
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const cwd = await readlink(`/proc/${name}/cwd`).catch(() => '')
    if (cwd === folder && isAlive(Number(name))) process.kill(Number(name), 'SIGKILL')
  }
}
