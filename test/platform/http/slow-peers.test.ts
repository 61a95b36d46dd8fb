import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, before, suite, test } from 'node:test'
import { firstAnswer, type RawRequest, sendRaw, statusOf } from '../../support/raw.ts'
import { inPool, payload, startMuseum } from '../../support/seed/museum.ts'
import { startService, type TestService } from '../../support/service.ts'
import { until } from '../../support/until.ts'

const limits = { slowGrace: 1, leastRate: 10_000, maxConnections: 40, answerLimit: 2_000_000 }

suite('slow peers', () => {
  let svc: TestService
  let port: number
  let root: string
  before(async () => {
    svc = await startService(limits)
    port = Number(new URL(await svc.listen()).port)
    root = await svc.as('root').token()
  })
  after(() => svc[Symbol.asyncDispose]())

  const headers = () => ({ authorization: `Bearer ${root}`, 'content-type': 'application/json' })

  const connections = (): Promise<number> =>
    new Promise((resolve, reject) => {
      svc.app.http.server.getConnections((error, count) => (error ? reject(error) : resolve(count)))
    })

  function post(body: string, more: Record<string, string | number>): RawRequest {
    return sendRaw({ port, path: '/api/v1/event', headers: { ...headers(), ...more }, body })
  }

  async function isHealthy(): Promise<void> {
    const body = JSON.stringify({ event: { type: 'SEARCH' } })
    const answer = await post(body, { 'content-length': body.length, connection: 'close' }).answer
    assert.equal(statusOf(answer), 200)
  }

  test('a body that does not come is answered 408, and the connection is closed', async () => {
    const silent = post('{', { 'content-length': 1000 })
    await isHealthy()
    const answer = await silent.answer
    assert.equal(statusOf(answer), 408)
    assert.match(answer, /"code":"RequestTimeout"/)
  })

  test('a body that trickles is too slow, with and without a length', async () => {
    for (const [more, drop] of [
      [{ 'content-length': 1000 }, ' '],
      [{ 'transfer-encoding': 'chunked' }, '1\r\n \r\n'],
    ] as [Record<string, string | number>, string][]) {
      const trickler = post('', more)
      const timer = setInterval(() => trickler.socket.write(drop), 100)
      await isHealthy()
      const status = statusOf(await trickler.answer)
      clearInterval(timer)
      assert.equal(status, 408)
    }
  })

  test('a body that comes fast enough may take longer than that', async () => {
    const body = JSON.stringify({ event: { type: 'SEARCH', info: { text: 'x'.repeat(100_000) } } })
    const steady = post('', { 'content-length': body.length, connection: 'close' })
    for (let at = 0; at < body.length; at += 10_000) {
      steady.socket.write(body.slice(at, at + 10_000))
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
    assert.equal(statusOf(await steady.answer), 200)
  })

  test('answers that nobody takes end their connection; others go on', async () => {
    // More than the system keeps for a connection.
    const event = { type: 'SEARCH', info: { text: 'x'.repeat(900_000) } }
    for (let n = 0; n < 6; n++) assert.equal((await svc.as('root').post('/event', { event })).status, 200)
    const request = `GET /api/v1/event/list HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${root}\r\n\r\n`
    const before = await connections()
    const takers = Array.from({ length: 3 }, () =>
      connect(port, '127.0.0.1')
        .pause()
        .on('error', () => {}),
    )
    for (const taker of takers) taker.write(request.repeat(8))
    await until(async () => (await connections()) >= before + takers.length)
    await until(async () => (await connections()) <= before)
    await isHealthy()
    for (const taker of takers) taker.destroy()
  })

  test('one connection cannot hold more than so many requests open', async () => {
    const socket = connect(port, '127.0.0.1')
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk
    })
    socket.write(`GET /api/v1/settings HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(200))
    socket.write('GET /api/v1/settings HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    await once(socket, 'close')
    const statuses = text.match(/HTTP\/1.1 \d+/g) ?? []
    assert.equal(statuses.length, 201)
    assert.ok(statuses.filter((line) => line.endsWith('200')).length >= 32)
    assert.ok(statuses.every((line) => /(200|503)$/.test(line)))
  })

  test('idle connections make room for new ones, and too many busy ones are refused', async () => {
    const idle = Array.from({ length: 35 }, () => sendRaw({ port, method: 'GET', path: '/api/v1/settings' }))
    for (const one of idle) assert.equal(statusOf(await firstAnswer(one)), 200)
    for (let n = 0; n < 10; n++) await isHealthy()
    const busy = Array.from({ length: 60 }, () => post('{', { 'content-length': 1000 }))
    const answers = await Promise.all(busy.map(({ answer }) => answer))
    assert.ok(answers.includes(''), 'some are closed without a word')
    assert.ok(answers.every((answer) => answer === '' || statusOf(answer) === 408))
    for (const { socket } of idle) socket.destroy()
    await isHealthy()
  })
})

test('a head that does not come to its end is answered 408', async () => {
  await using svc = await startService({ requestTimeout: 1 })
  const port = Number(new URL(await svc.listen()).port)
  const silent = connect(port, '127.0.0.1')
  const begun = connect(port, '127.0.0.1')
  begun.write('GET /api/v1/settings HTTP/1.1\r\nHost: x\r\nX-Slow: ')
  for (const socket of [silent, begun]) {
    const [answer] = (await once(socket, 'data')) as [Buffer]
    assert.equal(statusOf(String(answer)), 408)
    socket.destroy()
  }
})

test('finished answers that nobody takes are given up when they are too many bytes, however slow a client may be', async () => {
  await using museum = await startMuseum({ answerLimit: 4_000_000, slowGrace: 600 })
  const { svc, pool } = museum
  const port = Number(new URL(await svc.listen()).port)
  const works = Array.from({ length: 800 }, (_, index) =>
    payload('work', { ...inPool(pool), title: { 'en-US': `Work ${index}` }, note: 'x'.repeat(2000) }),
  )
  const saved = await svc.as('root').post('/db/work', works, { format: 'short' })
  assert.equal(saved.status, 200)
  const token = await svc.as('root').token()
  const connections = (): Promise<number> =>
    new Promise((resolve, reject) => {
      svc.app.http.server.getConnections((error, count) => (error ? reject(error) : resolve(count)))
    })
  const whole = await svc.as('root').get('/db/work/_all_fields/list', { format: 'full', limit: 800 })
  assert.equal(whole.body.objects?.length ?? whole.body.length, 800)
  const request = `GET /api/v1/db/work/_all_fields/list?format=full&limit=800 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`
  const takers = Array.from({ length: 2 }, () =>
    connect(port, '127.0.0.1')
      .pause()
      .on('error', () => {}),
  )
  for (const taker of takers) taker.write(request.repeat(8))
  await until(async () => (await connections()) === 2)
  const small = async (): Promise<number> => {
    const { answer } = sendRaw({ port, method: 'GET', path: '/api/v1/settings', headers: { connection: 'close' } })
    return statusOf(await answer)
  }
  const statuses = new Set<number>()
  await until(async () => {
    statuses.add(await small())
    return (await connections()) === 0
  })
  assert.deepEqual(
    [...statuses].filter((status) => status !== 200 && status !== 503),
    [],
  )
  assert.equal(await small(), 200)
  for (const taker of takers) taker.destroy()
})

test('an answer that is taken slower than it must be is cut off', async () => {
  await using svc = await startService({ slowGrace: 1, leastRate: 100_000 })
  const port = Number(new URL(await svc.listen()).port)
  const event = { type: 'SEARCH', info: { text: 'x'.repeat(900_000) } }
  for (let n = 0; n < 12; n++) assert.equal((await svc.as('root').post('/event', { event })).status, 200)
  const token = await svc.as('root').token()
  const slow = connect(port, '127.0.0.1').pause()
  slow.write(`GET /api/v1/event/list HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`.repeat(4))
  let taken = 0
  slow.on('error', () => {})
  const timer = setInterval(() => {
    taken += slow.read(1000)?.length ?? slow.read()?.length ?? 0
  }, 100)
  const connections = (): Promise<number> =>
    new Promise((resolve, reject) => {
      svc.app.http.server.getConnections((error, count) => (error ? reject(error) : resolve(count)))
    })
  await until(async () => (await connections()) === 1)
  await until(async () => (await connections()) === 0)
  clearInterval(timer)
  assert.ok(taken < 40_000_000)
  slow.destroy()
})
