import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { trustedProxies } from '../../../src/platform/http/trusted-proxies.ts'
import { firstAnswer, type RawRequest, sendRaw, statusOf } from '../../support/raw.ts'
import { startService, type TestService } from '../../support/service.ts'
import { until } from '../../support/until.ts'

const greedy = '127.0.0.2'
const other = '127.0.0.3'
const path = '/api/v1/settings'

/** Connections of one address; those that were closed by the service are counted. */
function connectionsFrom(address: string, port: number) {
  const open = new Set<Socket>()
  return {
    open,
    async add(): Promise<Socket> {
      const socket = connect({ port, host: '127.0.0.1', localAddress: address })
      open.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => open.delete(socket))
      await once(socket, 'connect')
      return socket
    },
    end: () => [...open].forEach((socket) => void socket.destroy()),
  }
}

const portOf = async (svc: TestService) => Number(new URL(await svc.listen()).port)

const serverConnections = (svc: TestService): Promise<number> =>
  new Promise((resolve, reject) => {
    svc.app.http.server.getConnections((error, count) => (error ? reject(error) : resolve(count)))
  })

const ask = async (port: number, from: string): Promise<number> =>
  statusOf(await sendRaw({ port, from, method: 'GET', path, headers: { connection: 'close' } }).answer)

/** A request whose body never comes. */
function hanging(port: number, from: string, token: string, more: Record<string, string> = {}): RawRequest {
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    'content-length': 1000,
    ...more,
  }
  return sendRaw({ port, from, path: '/api/v1/event', headers, body: '{' })
}

test('an address has a share of the connections: others are served', async () => {
  await using svc = await startService({ trustedProxies: [], maxConnections: 40 })
  const port = await portOf(svc)
  const silent = connectionsFrom(greedy, port)
  for (let n = 0; n < 60; n++) await silent.add()
  // Those that send nothing make room for further ones.
  await until(() => silent.open.size === 10)
  assert.equal(await ask(port, other), 200)
  assert.equal(await ask(port, greedy), 200)
  silent.end()
  await until(async () => (await serverConnections(svc)) === 0)
  const token = await svc.as('root').token()
  const busy = Array.from({ length: 10 }, () => hanging(port, greedy, token, { expect: '100-continue' }))
  // Only a connection whose request has begun is kept: an idle one would make room for the next.
  for (const begun of await Promise.all(busy.map(firstAnswer))) assert.match(begun, /^HTTP\/1\.1 100 /)
  assert.equal(await sendRaw({ port, from: greedy, method: 'GET', path }).answer, '')
  assert.equal(await ask(port, other), 200)
  for (const { socket } of busy) socket.destroy()
})

test('when it becomes crowded, idle connections of whoever has most of them go first', async () => {
  await using svc = await startService({ trustedProxies: [], maxConnections: 40, quotaConnections: 100 })
  const port = await portOf(svc)
  const few = connectionsFrom(other, port)
  for (let n = 0; n < 3; n++) await few.add()
  const many = connectionsFrom(greedy, port)
  for (let n = 0; n < 60; n++) await many.add()
  await until(() => many.open.size === 33)
  assert.equal(few.open.size, 3)
  for (let n = 0; n < 10; n++) await few.add()
  await until(() => many.open.size === 23)
  assert.equal(few.open.size, 13)
  many.end()
  few.end()
})

test('the connections of a proxy are not cut, a client behind it has a share of requests', async () => {
  await using svc = await startService({ trustedProxies: [greedy], maxConnections: 40 })
  const port = await portOf(svc)
  const token = await svc.as('root').token()
  const client = (address: string) => ({ 'x-forwarded-for': address })
  const busy = Array.from({ length: 10 }, () => hanging(port, greedy, token, client('192.0.2.1')))
  busy.push(hanging(port, greedy, token, client('192.0.2.2')))
  await until(async () => {
    const more = hanging(port, greedy, token, client('192.0.2.1'))
    const answer = await Promise.race([firstAnswer(more), new Promise<null>((done) => setTimeout(done, 200, null))])
    if (answer === null) {
      more.socket.destroy()
      return false
    }
    assert.equal(statusOf(answer), 429)
    assert.match(answer, /retry-after: 1\r\n/i)
    assert.match(answer, /"code":"QuotaExceeded".*"parameters":\{"quota":"svc.quotas.connections","most":10,/)
    return true
  })
  const quick = sendRaw({
    port,
    from: greedy,
    method: 'GET',
    path,
    headers: { connection: 'close', ...client('192.0.2.2') },
  })
  assert.equal(statusOf(await quick.answer), 200)
  for (const { socket } of busy) socket.destroy()
})

test('proxies are named by addresses, networks, masks and names', () => {
  const isProxy = trustedProxies(['loopback', '10.0.0.0/8', '192.0.2.7', '198.51.100.0/255.255.255.0', '2001:db8::/32'])
  for (const address of ['127.0.0.9', '::1', '10.2.3.4', '::ffff:10.2.3.4', '192.0.2.7', '198.51.100.9', '2001:db8::1'])
    assert.equal(isProxy(address), true, address)
  for (const address of ['11.0.0.1', '192.0.2.8', '198.51.101.1', '2001:db9::1', '', 'x'])
    assert.equal(isProxy(address), false, address)
  assert.equal(trustedProxies([])('127.0.0.1'), false)
})
