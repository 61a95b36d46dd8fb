import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { hash } from 'bcryptjs'
import fc from 'fast-check'
import { createLimiter } from '../../src/platform/limits/limiter.ts'
import { attachService, startService, type TestService } from '../support/service.ts'
import { TestVisitor } from './sign-in-browser.ts'
import { createUsers, type Reachable, requestToken } from './support.ts'

let svc: TestService
before(async () => {
  const secret = await hash('s3cret', 8)
  const client = { secret, redirectURIs: [], scopes: null, pkce: 'optional' as const }
  svc = await startService({
    trustedProxies: ['loopback'],
    oauthClients: [
      ...['machine', 'other', 'third'].map((id) => ({ ...client, id })),
      { ...client, id: 'fourth', secret: await hash('s3cret', 8) },
    ],
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

/** Guesses from a hundred networks: three of them, and the counter of all of these as if there had been so many. */
async function fromAHundred(guess: (address: string) => Promise<unknown>): Promise<void> {
  for (const n of [1, 2]) await guess(`198.51.${n}.1`)
  const { rowCount } = await svc.db.query('update sign_in_failure set failures = 99 where failures = 2')
  assert.equal(rowCount, 1)
  await guess('198.51.3.1')
}

test('strangers who guess a login from very many networks keep out no browser in which its user has signed in', async () => {
  await strict(1)
  await svc.db.query('delete from known_source')
  const form = { grant_type: 'password', client_id: 'web-client', username: 'anna', password: 'anna' }
  const first = await requestToken(svc, form, from('192.0.2.40'))
  const cookie = String(first.headers['set-cookie']).split(';', 1)[0] ?? ''
  const page = new TestVisitor(svc)
  assert.equal((await page.signIn('anna', 'anna')).status, 303)
  await fromAHundred((address) => requestToken(svc, { ...form, password: 'wrong' }, from(address)))
  await requestToken(svc, { ...form, password: 'wrong' }, from('192.0.2.41'))
  assert.equal((await requestToken(svc, form, from('203.0.113.1'))).status, 429, 'blocked wherever nobody knows it')
  for (const address of ['203.0.113.1', '192.0.2.41', '198.51.1.1']) {
    const known = await requestToken(svc, form, { ...from(address), cookie })
    assert.equal(known.status, 200, `the known browser, from ${address}`)
    const again = new TestVisitor(svc)
    for (const [name, value] of page.cookies) again.cookies.set(name, value)
    const shown = await again.authorize()
    const done = await again.submit(shown, { login: 'anna', password: 'anna' }, from(address))
    assert.equal(done.status, 303, 'and the one that has signed in on the page')
  }
})

test('strangers who guess a secret from very many networks keep out no client from where it was right, in no process', async () => {
  await strict(1)
  await svc.db.query('delete from known_client_source')
  await using fresh = await attachService(svc.dsn, {
    trustedProxies: ['loopback'],
    oauthClients: svc.config.oauthClients,
  })
  const at = (service: Reachable, secret: string, address: string) => {
    const form = { grant_type: 'none', client_id: 'fourth', client_secret: secret }
    return requestToken(service, form, from(address))
  }
  assert.equal((await at(svc, 's3cret', '192.0.2.50')).body.error, 'unsupported_grant_type')
  await fromAHundred((address) => at(svc, 'wrong', address))
  assert.equal((await at(svc, 's3cret', '203.0.113.2')).body.error, 'unsupported_grant_type', 'it was right before')
  assert.equal((await at(fresh, 's3cret', '203.0.113.2')).status, 429, 'a process that has not seen it, from elsewhere')
  assert.equal((await at(fresh, 's3cret', '192.0.2.50')).body.error, 'unsupported_grant_type', 'from where it comes')
  assert.equal((await at(fresh, 'wrong', '192.0.2.50')).status, 400)
  assert.equal((await at(fresh, 'wrong', '192.0.2.50')).status, 429, 'guesses from there count as before')
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
  const limiter = createLimiter({ concurrency: 1, maxWaiting: 10, maxWaitingOfShare: 3 })
  const order: string[] = []
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  const first = limiter.run(() => held, 'loud')
  const work = (name: string) => async () => void order.push(name)
  const waiting = ['a', 'b', 'c'].map((name) => limiter.run(work(`loud ${name}`), 'loud'))
  await assert.rejects(limiter.run(work('loud d'), 'loud'), { code: 'TooManyAttempts' })
  waiting.push(limiter.run(work('quiet'), 'quiet'))
  release()
  await Promise.all([first, ...waiting])
  // Who has just had a place is the last one to have another.
  assert.deepEqual(order, ['quiet', 'loud a', 'loud b', 'loud c'])
})
