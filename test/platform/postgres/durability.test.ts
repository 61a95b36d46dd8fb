import assert from 'node:assert/strict'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { preparedFolder } from '../../support/prepared-folder.ts'
import { type ServiceProcess, spawnService } from '../../support/process.ts'
import { until } from '../../support/until.ts'

const env = { SVC_ROOT_PASSWORD: 'root-test-password', SVC_BACKEND_PORT: '0' }

async function signIn({ url }: ServiceProcess): Promise<{ authorization: string }> {
  const body = new URLSearchParams({
    grant_type: 'password',
    client_id: 'svc-web-frontend',
    username: 'root',
    password: env.SVC_ROOT_PASSWORD,
  })
  const response = await fetch(`${url}/api/oauth2/token`, { method: 'POST', body })
  const { access_token } = (await response.json()) as { access_token: string }
  return { authorization: `Bearer ${access_token}` }
}

const writeEvent = (url: string, headers: Record<string, string>): Promise<Response> =>
  fetch(`${url}/api/v1/event`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ event: { type: 'SEARCH', info: { text: 'x'.repeat(200) } } }),
  })

interface Writers {
  /** Ids of the events whose writing was acknowledged. */
  readonly acknowledged: number[]
  readonly refused: number[]
  stop(): Promise<void>
}

/** Writes events over several connections for as long as it may; a broken connection is not an acknowledgement. */
function startWriters(url: string, headers: Record<string, string>): Writers {
  const acknowledged: number[] = []
  const refused: number[] = []
  let stopped = false
  const work = async (): Promise<void> => {
    while (!stopped) {
      try {
        const response = await writeEvent(url, headers)
        const body = (await response.json()) as { event: { _id: number } }
        if (response.status === 200) acknowledged.push(body.event._id)
        else refused.push(response.status)
      } catch {
        await sleep(20)
      }
    }
  }
  const workers = Array.from({ length: 8 }, work)
  return {
    acknowledged,
    refused,
    stop: async () => {
      stopped = true
      await Promise.all(workers)
    },
  }
}

async function storedIds({ url }: ServiceProcess, headers: Record<string, string>): Promise<Set<number>> {
  const response = await fetch(`${url}/api/v1/event/list?type=SEARCH&limit=0`, { headers })
  const { objects } = (await response.json()) as { objects: { event: { _id: number } }[] }
  return new Set(objects.map(({ event }) => event._id))
}

test('kill -9 of the service in the middle of writes: everything that was acknowledged is stored', async () => {
  await using folder = await preparedFolder()
  const killed = await spawnService(folder.path, env)
  const headers = await signIn(killed)
  const writers = startWriters(killed.url, headers)
  await until(() => writers.acknowledged.length >= 300)
  killed.child.kill('SIGKILL')
  await killed.exited
  await writers.stop()

  await using next = await spawnService(folder.path, env)
  const stored = await storedIds(next, headers)
  assert.deepEqual(
    writers.acknowledged.filter((id) => !stored.has(id)),
    [],
  )
  assert.equal((await writeEvent(next.url, headers)).status, 200)
})

test('kill -9 of PostgreSQL in the middle of writes: nothing acknowledged is lost, writing goes on, no 500', async () => {
  await using folder = await preparedFolder()
  await using service = await spawnService(folder.path, env)
  const headers = await signIn(service)
  const writers = startWriters(service.url, headers)
  await until(() => writers.acknowledged.length >= 300)
  const postmaster = await readFile(join(folder.path, 'postgres', 'data', 'postmaster.pid'), 'utf8')
  process.kill(Number.parseInt(postmaster, 10), 'SIGKILL')
  await until(() => service.output.stdout.includes('PostgreSQL is back'))
  const before = writers.acknowledged.length
  await until(() => writers.acknowledged.length >= before + 300)
  await writers.stop()

  const stored = await storedIds(service, headers)
  assert.deepEqual(
    writers.acknowledged.filter((id) => !stored.has(id)),
    [],
  )
  assert.deepEqual(
    writers.refused.filter((status) => status !== 503),
    [],
  )
})

test('a graceful stop finishes requests in flight and answers new ones 503', async () => {
  await using folder = await preparedFolder()
  await using service = await spawnService(folder.path, env)
  const headers = await signIn(service)
  const dsn = `postgresql://strongroom@/strongroom?host=${encodeURIComponent(join(folder.path, 'postgres', 'run'))}`
  const client = new pg.Client({ connectionString: dsn })
  await client.connect()
  await client.query('begin')
  await client.query('lock table event in exclusive mode')
  const inFlight = writeEvent(service.url, headers)
  const waiting = async (): Promise<boolean> =>
    (await client.query(`select from pg_stat_activity where wait_event_type = 'Lock'`)).rowCount !== 0
  while (!(await waiting())) await sleep(10)

  service.child.kill('SIGTERM')
  await until(() => service.output.stdout.includes('stopping on SIGTERM'))
  const refused = await fetch(`${service.url}/api/v1/settings`)
  assert.equal(refused.status, 503)
  assert.equal(refused.headers.get('connection'), 'close')
  assert.equal(((await refused.json()) as { code: string }).code, 'ServiceUnavailable')
  const metrics = /metrics at (\S+)\/metrics/.exec(service.output.stdout)?.[1]
  assert.equal((await fetch(`${metrics}/ready`)).status, 503)

  await client.query('commit')
  await client.end()
  assert.equal((await inFlight).status, 200)
  assert.equal(await service.exited, 0)
})

test('a second signal does not wait for requests, and leaves no PostgreSQL behind', async () => {
  await using folder = await preparedFolder()
  await using service = await spawnService(folder.path, { ...env, SVC_STOP_TIMEOUT: '600' })
  const headers = await signIn(service)
  const dsn = `postgresql://strongroom@/strongroom?host=${encodeURIComponent(join(folder.path, 'postgres', 'run'))}`
  const client = new pg.Client({ connectionString: dsn })
  client.on('error', () => {})
  await client.connect()
  await client.query('begin')
  await client.query('lock table event in exclusive mode')
  const inFlight = writeEvent(service.url, headers).catch(() => null)
  const waiting = async (): Promise<boolean> =>
    (await client.query(`select from pg_stat_activity where wait_event_type = 'Lock'`)).rowCount !== 0
  while (!(await waiting())) await sleep(10)

  service.child.kill('SIGTERM')
  await until(() => service.output.stdout.includes('stopping on SIGTERM'))
  service.child.kill('SIGTERM')
  await sleep(1100)
  assert.equal(service.child.exitCode, null, 'what comes twice at once is one signal')
  assert.ok(!service.output.stdout.includes('stopping at once'))
  service.child.kill('SIGTERM')
  assert.equal(await service.exited, 1)
  await inFlight
  await assert.rejects(stat(join(folder.path, 'postgres', 'data', 'postmaster.pid')), { code: 'ENOENT' })
})

test('signals right behind each other are one, and leave no PostgreSQL behind', async () => {
  await using folder = await preparedFolder()
  // A moment without a listener is met by chance: each time by a sixth of the starts.
  for (let start = 0; start < 3; start++) {
    await using service = await spawnService(folder.path, env)
    for (let sent = 0; sent < 40; sent++) {
      service.child.kill('SIGTERM')
      const until = performance.now() + 0.1 * (start + 1)
      while (performance.now() < until);
    }
    assert.equal(await service.exited, 0)
    await assert.rejects(stat(join(folder.path, 'postgres', 'data', 'postmaster.pid')), { code: 'ENOENT' })
  }
})
