import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { startService, type TestService } from '../support/service.ts'
import { challengeOf } from './sign-in-browser.ts'
import { createUsers, eventsOf } from './support.ts'

let svc: TestService
before(async () => {
  svc = await startService({ trustedProxies: ['loopback', '198.51.100.1'] })
  await createUsers(svc, { user: { login: 'anna' } })
})
after(() => svc[Symbol.asyncDispose]())

/** Whatever a client may say of where it comes from and what it has called. */
const claims = {
  'x-forwarded-for': '10.0.0.7',
  'x-forwarded-proto': 'https',
  'x-forwarded-host': 'localhost:9999',
  'x-forwarded-port': '9999',
  'x-forwarded-prefix': '/elsewhere',
  'x-real-ip': '10.0.0.7',
  forwarded: 'for=10.0.0.7;proto=https;host="localhost:9999"',
  'x-original-url': '/elsewhere',
  host: 'localhost:8080',
}

async function signInFrom(remoteAddress: string, headers: Record<string, string>) {
  const form = { grant_type: 'password', client_id: 'web-client', username: 'anna', password: 'anna' }
  const answer = await svc.inject({
    method: 'POST',
    url: '/api/oauth2/token',
    remoteAddress,
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    payload: new URLSearchParams(form).toString(),
  })
  assert.equal(answer.statusCode, 200, answer.body)
  const [event] = (await eventsOf(svc, 'USER_LOGIN')).slice(-1)
  return { address: event?.event.remote_addr, cookies: String(answer.headers['set-cookie']) }
}

/** Whether a browser that says to have called `localhost:9999` is led there. */
async function ledTo(remoteAddress: string, redirect_uri: string): Promise<number> {
  const query = {
    client_id: 'web-client',
    response_type: 'code',
    state: 'state-of-the-test',
    redirect_uri,
    code_challenge: challengeOf('v'.repeat(43)),
    code_challenge_method: 'S256',
  }
  const url = `/api/oauth2/auth?${new URLSearchParams(query)}`
  return (await svc.inject({ method: 'GET', url, remoteAddress, headers: claims })).statusCode
}

test('what a client says of address, protocol and host counts from a trusted proxy alone', async () => {
  const stranger = await signInFrom('203.0.113.9', claims)
  assert.equal(stranger.address, '203.0.113.9')
  assert.doesNotMatch(stranger.cookies, /Secure|__Host-/)
  assert.equal(await ledTo('203.0.113.9', 'https://localhost:9999/callback'), 400)
  assert.equal(await ledTo('203.0.113.9', 'http://localhost:9999/callback'), 400)
  for (const proxy of ['127.0.0.1', '198.51.100.1']) {
    const behind = await signInFrom(proxy, claims)
    assert.equal(behind.address, '10.0.0.7')
    assert.match(behind.cookies, /__Host-svc-device=.*Secure/)
    assert.equal(await ledTo(proxy, 'https://localhost:9999/callback'), 200)
  }
})

test('of a list the last address that is no trusted proxy counts, whatever stands before it', async () => {
  const forwarded = '10.0.0.7, 203.0.113.9, 198.51.100.1'
  assert.equal((await signInFrom('127.0.0.1', { 'x-forwarded-for': forwarded })).address, '203.0.113.9')
  assert.equal((await signInFrom('203.0.113.8', { 'x-forwarded-for': forwarded })).address, '203.0.113.8')
  const protocols = { 'x-forwarded-for': '10.0.0.7', 'x-forwarded-proto': 'https, http' }
  assert.doesNotMatch((await signInFrom('127.0.0.1', protocols)).cookies, /Secure/, 'what the proxy itself has added')
})

test('no address, and one that is none, break nothing', async () => {
  for (const address of ['unknown', '', ',', '10.0.0.7:443', "10.0.0.7'; --", '[::1', 'x'.repeat(2000)]) {
    await signInFrom('127.0.0.1', { 'x-forwarded-for': address })
  }
  await signInFrom('127.0.0.1', { 'x-forwarded-proto': 'javascript', 'x-forwarded-host': '"><x' })
})

test('nobody in the source reads these headers past the one place that knows the proxies', () => {
  const source = join(import.meta.dirname, '../../src')
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
  const reads = /headers[^\n]*(forwarded|x-real-ip|x-original|client-ip)|remoteAddress/i
  const found = files.filter((name) => reads.test(readFileSync(join(source, name), 'utf8')))
  // Connections are counted by the peer itself, before there is a request; what a trusted proxy says comes with its requests.
  assert.deepEqual(found, ['platform/limits/connection-shares.ts'])
})
