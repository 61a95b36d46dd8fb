import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { Json } from '../support/client.ts'
import { startService, type TestService } from '../support/service.ts'
import { createUsers } from './support.ts'

/** Fields of users and groups that are kept for people and front ends: answered as they were sent, changed, taken away. */
suite('profiles', () => {
  let svc: TestService
  before(async () => {
    svc = await startService()
  })
  after(() => svc[Symbol.asyncDispose]())

  const user = {
    first_name: 'Ada',
    last_name: 'King',
    displayname: 'Ada',
    company: 'Museum',
    department: 'Prints',
    phone: '123',
    remarks: 'r',
    address_supplement: 'backyard',
    street: 'Long street',
    house_number: '7b',
    postal_code: '10115',
    town: 'Berlin',
    state: 'BE',
    country: 'DE',
    frontend_language: 'de-DE',
    frontend_prefs: { theme: 'dark' },
    custom_data: { any: [1] },
    mail_schedule: { weekdays: ['mon'], days_of_month: [1, 31], hours: [7], minutes: [30], timezone: 'Europe/Berlin' },
  }
  const group = {
    comment: 'c',
    category_a: 'a',
    category_b: 'b',
    category_c: 'c',
    frontend_prefs: { columns: ['x'] },
  }
  for (const [type, fields, other] of [
    ['user', user, { login: 'ada' }],
    ['group', group, { name: 'editors' }],
  ] as const) {
    test(`every field of a ${type} is answered as it was sent, stays when it is not said, and goes with null`, async () => {
      const root = svc.as('root')
      const write = async (block: object): Promise<Json> => {
        const answer = await root.post(`/${type}`, [{ [type]: block }])
        assert.equal(answer.status, 200, JSON.stringify(answer.body))
        return (await root.get(`/${type}/${answer.body[0][type]._id}`)).body[0][type]
      }
      const made = await write({ ...other, ...fields })
      const shown = (record: Json) => Object.fromEntries(Object.keys(fields).map((name) => [name, record[name]]))
      assert.deepEqual(shown(made), fields)
      const changed = Object.fromEntries(
        Object.entries(fields).map(([name, value]) => [name, typeof value === 'string' ? `${value}!` : value]),
      )
      const { _id } = made
      delete changed.frontend_language
      const second = await write({ _id, _version: 1, ...changed })
      const expected = { ...fields, ...changed }
      assert.deepEqual(shown(second), expected)
      assert.deepEqual(shown(await write({ _id, _version: 2 })), expected)
      const nulls = Object.fromEntries(Object.keys(fields).map((name) => [name, null]))
      assert.deepEqual(
        Object.values(shown(await write({ _id, _version: 3, ...nulls }))).filter((value) => value !== undefined),
        [],
      )
    })
  }

  test('a weak password is a question; confirm answers it, and skip_constraints of root asks none', async () => {
    await createUsers(svc, { user: { login: 'manager' }, _system_rights: { 'system.user': { create: true } } })
    const rules = await svc.as('root').post('/config/system/config/password/check', [{ regexp: '.{8}' }])
    assert.equal(rules.status, 200, JSON.stringify(rules.body))
    let made = 0
    const send = (login: string, method: 'post' | 'put', query: Record<string, string>) =>
      svc.as(login)[method]('/user', [{ user: { login: `weak${made++}` }, _password: 'x' }], query)
    for (const method of ['post', 'put'] as const) {
      assert.equal((await send('root', method, {})).status, 202)
      for (const query of ['confirm=ignore_password_requirements', 'skip_constraints=true']) {
        const answered = await send('root', method, Object.fromEntries(new URLSearchParams(query)))
        assert.equal(answered.status, 200, query)
      }
      assert.equal((await send('manager', method, { confirm: 'ignore_password_requirements' })).status, 200)
      assert.ok((await send('manager', method, { skip_constraints: 'true' })).status >= 400)
    }
  })
})
