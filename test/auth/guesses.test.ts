import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { hash } from 'bcryptjs'
import fc from 'fast-check'
import { createLimiter } from '../../src/auth/limiter.ts'
import { startService, type TestService } from '../support/service.ts'
import { createUsers, requestToken } from './support.ts'

let svc: TestService
before(async () => {
  const secret = await hash('s3cret', 8)
  const client = { secret, redirectURIs: [], scopes: null, pkce: 'optional' as const }
  svc = await startService({
    trustedProxies: ['loopback'],
    oauthClients: ['machine', 'other', 'third'].map((id) => ({ ...client, id })),
  })
  await createUsers(svc, { user: { login: 'anna', email: 'anna.a@example.org' } })
})
after(() => svc[Symbol.asyncDispose]())

async function strict(attempts: number): Promise<void> {
  const path = '/config/system/config/password/blockclient'
  assert.equal((await svc.as('root').post(path, { attempts, minutes: 5 })).status, 200)
  await svc.db.query('delete from sign_in_failure')
}

const from = (address: string) => ({ 'x-forwarded-for': address })

/** What the server says to a secret of a client: the grant itself is refused with 400 `unsupported_grant_type`. */
async function guess(path: 'token' | 'introspect' | 'revoke', client: string, secret: string, address: string) {
  const form = { grant_type: 'none', token: 'none', client_id: client, client_secret: secret }
  const { status, body, headers } = await requestToken(svc, form, from(address), `/api/oauth2/${path}`)
  return { status, headers, error: body?.error ?? null }
}

test('wrong secrets of a client are counted at every endpoint that takes one, and refused with Retry-After', async () => {
  await strict(3)
  for (const path of ['token', 'introspect', 'revoke'] as const) {
    assert.equal((await guess(path, 'machine', 'wrong', '192.0.2.1')).error, 'invalid_client')
  }
  for (const path of ['token', 'introspect', 'revoke'] as const) {
    const refused = await guess(path, 'machine', 's3cret', '192.0.2.1')
    assert.deepEqual([refused.status, refused.error], [429, 'invalid_client'], path)
    assert.ok(Number(refused.headers['retry-after']) > 200)
  }
  assert.equal((await guess('token', 'machine', 's3cret', '192.0.2.2')).error, 'unsupported_grant_type', 'elsewhere')
  assert.equal((await guess('token', 'other', 's3cret', '192.0.2.1')).error, 'unsupported_grant_type', 'another client')
  assert.equal((await guess('token', 'machine', 's3cret', '192.0.2.1')).error, 'unsupported_grant_type', 'known by now')
})

test('sixty guesses at once at the secret of one client: another is served, and few are computed', async () => {
  await strict(3)
  const guesses = Array.from({ length: 60 }, (_, n) => guess('token', 'other', `wrong ${n}`, '192.0.2.9'))
  const served = guess('token', 'third', 's3cret', '192.0.2.10')
  const beside = guess('token', 'machine', 's3cret', '192.0.2.9')
  const answers = await Promise.all(guesses)
  assert.deepEqual([(await served).error, (await beside).error], ['unsupported_grant_type', 'unsupported_grant_type'])
  assert.deepEqual(
    answers.filter(({ status }) => status !== 429).map(({ status }) => status),
    [400, 400, 400],
  )
})

test('no spelling of a login or an address gives further attempts', async () => {
  const spelling = fc
    .constantFrom('anna', 'anna.a@example.org')
    .chain((name) => fc.tuple(...[...name].map((letter) => fc.constantFrom(...spellingsOf(letter)))))
    .map((letters) => letters.join(''))
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(spelling, { minLength: 6, maxLength: 6 }), async (names) => {
      await strict(3)
      const statuses: number[] = []
      for (const username of names) {
        const form = { grant_type: 'password', client_id: 'web-client', username, password: 'wrong' }
        statuses.push((await requestToken(svc, form, from('192.0.2.20'))).status)
      }
      assert.deepEqual(statuses, [400, 400, 400, 429, 429, 429], names.join(' '))
    }),
    { numRuns: 8 },
  )
})

function spellingsOf(letter: string): string[] {
  if (!/[a-z]/.test(letter)) return [letter]
  return [letter, letter.toUpperCase(), String.fromCharCode(letter.charCodeAt(0) + 0xfee0)]
}

test('no login of a stranger meets the counters of another: none of many thousands blocks the victim', async () => {
  await strict(1)
  await svc.db.query(`insert into sign_in_failure (counter, failures, blocked_until, forget_at)
    select sha256(convert_to(n::text, 'UTF8')), 9, now() + interval '1 hour', now() + interval '1 hour'
    from generate_series(1, 20000) as n`)
  const form = { grant_type: 'password', client_id: 'web-client', username: 'anna', password: 'anna' }
  assert.equal((await requestToken(svc, form, from('192.0.2.30'))).status, 200)
  await svc.db.query('delete from sign_in_failure')
  await requestToken(svc, { ...form, password: 'wrong' }, from('192.0.2.30'))
  const before = await names()
  await svc.db.query('delete from sign_in_failure')
  await requestToken(svc, { ...form, username: 'anna2', password: 'wrong' }, from('192.0.2.31'))
  assert.ok((await names()).every((name) => !before.includes(name)))
})

async function names(): Promise<string[]> {
  const { rows } = await svc.db.query<{ name: string }>(`select encode(counter, 'hex') as name from sign_in_failure`)
  return rows.map(({ name }) => name)
}

test('those who wait take turns by their share', async () => {
  const limiter = createLimiter({ places: 1, maxWaiting: 10, maxWaitingOfShare: 3 })
  const order: string[] = []
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  const first = limiter.run(() => held, 'loud')
  const work = (name: string) => async () => void order.push(name)
  const waiting = ['a', 'b', 'c'].map((name) => limiter.run(work(`loud ${name}`), 'loud'))
  await assert.rejects(limiter.run(work('loud d'), 'loud'), { code: 'TooManyAttempts' })
  waiting.push(limiter.run(work('quiet'), 'quiet'))
  release()
  await Promise.all([first, ...waiting])
  assert.deepEqual(order, ['loud a', 'quiet', 'loud b', 'loud c'])
})
