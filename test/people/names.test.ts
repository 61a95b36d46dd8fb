import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import pg from 'pg'
import { migrate } from '../../src/platform/postgres/migrate.ts'
import { createUsers, requestToken, signIn } from '../signin/support.ts'
import type { Json } from '../support/client.ts'
import { startService, type TestService } from '../support/service.ts'

let svc: TestService
const root = () => svc.as('root')

before(async () => {
  svc = await startService()
})
after(() => svc[Symbol.asyncDispose]())

const save = (...users: Json[]) =>
  root().post(
    '/user',
    users.map((user) => ({ _basetype: 'user', user })),
  )

const remove = (id: number) => root().delete(`/user/${id}`, undefined, { delete_policy: 'delete' })

async function subjectOf(login: string, password = login): Promise<string> {
  const tokens = await signIn(svc, login, password)
  assert.equal(tokens.status, 200, JSON.stringify(tokens.body))
  const response = await svc.inject({
    method: 'GET',
    url: '/api/oauth2/userinfo',
    headers: { authorization: `Bearer ${tokens.body.access_token}` },
  })
  const { sub } = response.json()
  const headers = { authorization: `Bearer ${tokens.body.access_token}` }
  const known = await requestToken(svc, { token: tokens.body.access_token }, headers, '/api/oauth2/introspect')
  assert.equal(known.body.sub, sub, JSON.stringify(known.body))
  return sub
}

test('a login is no address of another and an address no login, in any spelling, by whichever request', async () => {
  const [ada, ben] = await createUsers(
    svc,
    { user: { login: 'ada', email: 'ada@example.org' } },
    { user: { login: 'ben@example.org' } },
  )
  const [adaId, benId] = [ada?.user._id, ben?.user._id]
  const taken: [users: Json[], code: string][] = [
    [[{ login: 'ada@example.org' }], 'UserDuplicateLogin'],
    [[{ login: 'ADA@Example.ORG' }], 'UserDuplicateLogin'],
    [[{ login: ' ａda@example.org ' }], 'UserDuplicateLogin'],
    [[{ email: 'ben@example.org' }], 'UserDuplicateEmail'],
    [[{ login: 'new', email: 'Ben@Example.org' }], 'UserDuplicateEmail'],
    [[{ _id: benId, _version: 1, email: 'ada@example.org' }], 'UserDuplicateEmail'],
    [[{ _id: adaId, _version: 1, login: 'BEN@example.org' }], 'UserDuplicateLogin'],
    // Both in one request, either way round, beside one that could be saved.
    [[{ login: 'fine' }, { login: 'both@example.org' }, { email: 'both@example.org' }], 'UserDuplicateEmail'],
    [[{ email: 'both@example.org' }, { login: 'Both@example.org' }], 'UserDuplicateEmail'],
  ]
  for (const [users, code] of taken) {
    const { status, body } = await save(...users)
    assert.deepEqual([status, body.code], [409, code], JSON.stringify(users))
  }
  const list = await root().get('/user', { limit: 1000 })
  assert.ok(!list.body.some(({ user }: Json) => ['fine', 'new', 'both@example.org'].includes(user.login)))
  // One's own name may be both, and what was given up is free.
  assert.equal((await save({ _id: benId, _version: 1, email: 'ben@example.org' })).status, 200)
  assert.equal((await save({ _id: adaId, _version: 1, email: 'ada2@example.org' })).status, 200)
  assert.equal((await save({ login: 'ada@example.org' })).status, 200)
})

test('of many who want one name at the same moment, as login or as address, one gets it', async () => {
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, index) => save({ [index % 2 === 0 ? 'login' : 'email']: 'race@example.org' })),
  )
  assert.equal(answers.filter(({ status }) => status === 200).length, 1)
  assert.equal(answers.filter(({ status }) => status === 409).length, 7)
})

test('names change hands within one request, and batches that cross wait for each other without a deadlock', async () => {
  const names = Array.from({ length: 6 }, (_, index) => `cross-${index}`)
  const users = await createUsers(svc, ...names.map((login) => ({ user: { login } })))
  const asAddress = (from: Json[], name: string, version: number) =>
    from.map(({ user }, index) => ({ _id: user._id, _version: version, email: `${name}-${index}@example.org` }))
  const [left, right] = [users.slice(0, 3), users.slice(3)]
  // Several times: which row of a batch PostgreSQL writes first differs.
  for (let round = 0; round < 8; round++) {
    const answers = await Promise.all([
      save(...asAddress(left, `same${round}`, round + 1)),
      save(...asAddress(right, `same${round}`, round + 1).reverse()),
    ])
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409])
    const lost = answers[0].status === 200 ? right : left
    assert.equal((await save(...asAddress(lost, `other${round}`, round + 1))).status, 200)
  }
})

test('a sub is never given twice: not to who takes a name later, not to a number that is the id of another', async () => {
  const [first] = await createUsers(svc, { user: { login: 'carla' } })
  assert.equal(await subjectOf('carla'), 'carla')
  assert.equal((await remove(first?.user._id)).status, 200)
  const [second] = await createUsers(svc, { user: { login: 'Carla' } })
  assert.equal(await subjectOf('Carla'), String(second?.user._id))
  const [third] = await createUsers(svc, { user: { login: 'dora', email: 'dora@example.org' } })
  assert.equal((await save({ _id: third?.user._id, _version: 1, login: 'dora-2' })).status, 200)
  assert.equal(await subjectOf('dora-2', 'dora'), 'dora-2')
  await createUsers(svc, { user: { login: 'dora', email: 'other@example.org' } })
  assert.equal(await subjectOf('dora'), 'other@example.org')
  // Whoever is called by the id already keeps it.
  await createUsers(svc, { user: { login: String(second?.user._id) } })
  const digits = await subjectOf(String(second?.user._id))
  assert.notEqual(digits, String(second?.user._id))
  assert.equal(await subjectOf('Carla'), String(second?.user._id))
  // A number that nobody is called by is a login like others.
  await createUsers(svc, { user: { login: '987654321' } })
  assert.equal(await subjectOf('987654321'), '987654321')
})

test('spellings of one identity: whichever way in is asked, all name one user, or are refused', async () => {
  const spell = fc
    .record({
      form: fc.constantFrom('NFC', 'NFD', 'NFKC', 'NFKD'),
      upper: fc.boolean(),
      wide: fc.boolean(),
      space: fc.constantFrom('', ' ', '\t', '\u00a0', '\u3000'),
    })
    .map((how) => (name: string): string => {
      const cased = how.upper ? name.toUpperCase() : name
      const formed = cased.normalize(how.form)
      const wide = how.wide
        ? formed.replaceAll(/[a-z]/gi, (one) => String.fromCodePoint(one.charCodeAt(0) + 0xfee0))
        : formed
      return how.space + wide + how.space
    })
  const [zoe] = await createUsers(svc, { user: { login: 'zoé', email: 'zoe@example.org' }, _password: 'pw-of-zoe' })
  const id = zoe?.user._id
  await fc.assert(
    fc.asyncProperty(spell, fc.constantFrom('zoé', 'zoe@example.org'), async (as, name) => {
      const typed = as(name)
      const tokens = await signIn(svc, typed, 'pw-of-zoe')
      assert.equal(tokens.status, 200, typed)
      assert.equal((await save({ login: typed })).status, 409, typed)
      const asEmail = await save({ email: typed })
      assert.ok([400, 409].includes(asEmail.status), `${typed} ${JSON.stringify(asEmail.body)}`)
    }),
    { numRuns: 25 },
  )
  const list = await root().get('/user', { limit: 1000 })
  assert.deepEqual(
    list.body.filter(({ user }: Json) => /zo|ｚ/i.test(user.login ?? '')).map(({ user }: Json) => user._id),
    [id],
  )
})

test('names that two have from before keep naming who had them as login; the rest goes on, and both are told', async () => {
  await using old = await startService()
  const [owner, shadowed] = await createUsers(
    old,
    { user: { login: 'owner' } },
    { user: { login: 'shadowed', email: 'x@example.org' } },
  )
  const client = new pg.Client({ connectionString: old.dsn })
  await client.connect()
  try {
    // As a database of the release before has it.
    const text = await readFile(join(import.meta.dirname, '..', '..', 'migrations', '0570_user_names.sql'), 'utf8')
    const functions = [...text.matchAll(/create function (\w+)/g)].map(([, name]) => name)
    await client.query('drop table user_name, user_subject cascade')
    for (const name of functions) await client.query(`drop function ${name} cascade`)
    await client.query(`delete from migration where name >= '0570' and name < '0571'`)
    await client.query(`update "user" set login = 'X@example.org', login_key = 'x@example.org' where id = $1`, [
      owner?.user._id,
    ])
    assert.equal((await migrate(old.dsn)).length, 1)
    const { rows } = await client.query(`select user_id::int as id from user_name where key = 'x@example.org'`)
    assert.deepEqual(rows, [{ id: owner?.user._id }])
  } finally {
    await client.end()
  }
  const change = (user: Json) => old.as('root').post('/user', [{ _basetype: 'user', user }])
  const asOf = async (id: number) => (await old.as('root').get(`/user/${id}`)).body[0].user
  // Neither is kept from other changes.
  for (const user of [owner?.user, shadowed?.user]) {
    const { _version } = await asOf(user._id)
    const { status, body } = await change({ _id: user._id, _version, first_name: 'Anew' })
    assert.equal(status, 200, JSON.stringify(body))
  }
  assert.equal((await signIn(old, 'x@example.org', 'owner')).status, 200)
  assert.equal((await signIn(old, 'shadowed', 'shadowed')).status, 200)
  assert.equal((await signIn(old, 'x@example.org', 'shadowed')).status, 400)
  // Given up by the first one it is that of the other, and of nobody else.
  const { _version } = await asOf(owner?.user._id)
  assert.equal((await change({ _id: owner?.user._id, _version, login: 'owner' })).status, 200)
  assert.equal((await change({ login: 'x@example.org' })).status, 409)
  assert.equal((await signIn(old, 'x@example.org', 'shadowed')).status, 200)
})
