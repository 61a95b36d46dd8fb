import assert from 'node:assert/strict'
import { request } from 'node:http'
import { test } from 'node:test'
import { createStreamShares } from '../../src/events/stream/shares.ts'
import type { AppError } from '../../src/platform/errors.ts'
import { startService, type TestService } from '../support/service.ts'
import { openStream, type StreamClient } from '../support/stream.ts'
import { until } from '../support/until.ts'

const streamPath = '/api/v1/event/stream'

async function people(svc: TestService, logins: readonly string[]): Promise<string[]> {
  const users = logins.map((login) => ({ user: { login, reference: login }, _password: login }))
  const saved = await svc.as('root').post('/user', users, { confirm: 'ignore_password_requirements' })
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
  return Promise.all(logins.map((login) => svc.as(login).token()))
}

/** What a stream is refused with. */
async function refusal(
  base: string,
  token: string,
): Promise<{ status: number; retryAfter: string | null; body: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{
    status: number
    retryAfter: string | null
    body: string
  }>()
  const headers = {
    authorization: `Bearer ${token}`,
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
  }
  const sent = request(`${base}${streamPath}`, { headers }, (answer) => {
    let body = ''
    answer.setEncoding('utf8').on('data', (chunk) => {
      body += chunk
    })
    answer.on('end', () =>
      resolve({ status: answer.statusCode ?? 0, retryAfter: answer.headers['retry-after'] ?? null, body }),
    )
  })
  sent.on('error', reject)
  sent.on('upgrade', (_answer, socket) => {
    socket.destroy()
    reject(new Error('the stream is open'))
  })
  sent.end()
  return promise
}

test('a user has a share of the streams, and is told so; others have theirs', async () => {
  await using svc = await startService({ quotaStreams: 3 })
  const [greedy = '', other = ''] = await people(svc, ['greedy', 'other'])
  const base = await svc.listen()
  const open: StreamClient[] = []
  for (let n = 0; n < 3; n++) open.push(await openStream(base, { token: greedy }))
  const { status, retryAfter, body } = await refusal(base, greedy)
  assert.equal(status, 429)
  assert.equal(retryAfter, '30')
  const { code, parameters } = JSON.parse(body)
  assert.equal(code, 'QuotaExceeded')
  assert.deepEqual(parameters, { quota: 'svc.quotas.streams', most: 3, retry_after: 30 })
  open.push(await openStream(base, { token: other }))
  // A stream that ends gives its place back.
  await open.shift()?.close()
  await until(async () => {
    const again = await openStream(base, { token: greedy }).catch(() => null)
    if (again) open.push(again)
    return again !== null
  })
  await Promise.all(open.map((stream) => stream.close()))
})

test('when all streams are taken, whoever has most of them gives one to whoever has fewer', async () => {
  await using svc = await startService({ quotaStreams: 100, maxConnections: 20 })
  const [greedy = '', other = ''] = await people(svc, ['greedy', 'other'])
  const base = await svc.listen()
  const all: StreamClient[] = []
  for (let n = 0; n < 10; n++) all.push(await openStream(base, { token: greedy }))
  assert.equal((await refusal(base, greedy)).status, 503, 'nobody takes their own')
  const root = await openStream(base, { token: await svc.as('root').token() })
  assert.deepEqual(await all[9]?.ended, { code: 1013, reason: 'TooManyStreams' })
  const second = await openStream(base, { token: other })
  assert.equal((await all[8]?.ended)?.code, 1013)
  const event = { _basetype: 'event', event: { type: 'INDEX_SWITCH', info: {} } }
  const sent = await svc.as('root').post('/event', event, { skip_constraints: true })
  await until(() => [root, second, ...all.slice(0, 8)].every(({ ids }) => ids().includes(sent.body.event._id)))
  await Promise.all([root, second, ...all].map((stream) => stream.close()))
})

test('any order of arrivals and departures: no caller beyond the share, and a place for each newcomer', () => {
  const shares = createStreamShares({ most: 12, mostOfCaller: 5 })
  const open = new Set<{ who: string; end(): void }>()
  let seed = 7
  const draw = (below: number): number => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed % below
  }
  const countOf = (who: string) => [...open].filter((one) => one.who === who).length
  for (let step = 0; step < 5000; step++) {
    if (draw(4) === 0) {
      const gone = [...open][draw(Math.max(1, open.size))]
      if (gone) shares.remove(gone)
      if (gone) open.delete(gone)
      continue
    }
    const who = `user ${draw(6)}`
    const stream = { who, end: () => void open.delete(stream) }
    const before = countOf(who)
    let refused: unknown = null
    try {
      shares.roomFor(who)
    } catch (error) {
      refused = error
    }
    const added = shares.add(stream)
    assert.equal(added, refused === null)
    if (added) open.add(stream)
    else if (before < 5) {
      assert.equal((refused as AppError).code, 'ServiceUnavailable')
      assert.ok(before > 0, 'six callers and twelve places')
    }
    assert.ok(open.size <= 12 && countOf(who) <= 5)
  }
})
