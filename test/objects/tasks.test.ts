import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { type People, seedPeople, toUser, wireGrant } from '../rights/people.ts'
import type { Answer, Client, Json, Query } from '../support/client.ts'
import { commitModel, defineModel, standardPool } from '../support/seed/model.ts'
import { inPool, payload } from '../support/seed/museum.ts'
import { startService, type TestService } from '../support/service.ts'
import { steady } from './read-scene.ts'

/** Every question that saves and deletes of objects can ask, and how it is answered. */
let svc: TestService
let people: People
let root: Client
let here: number
let there: number
before(async () => {
  svc = await startService()
  await commitModel(
    svc,
    defineModel({
      record: { columns: { title: 'text_oneline' }, flags: { pool_link: true, has_tags: true, acl_table: true } },
      page: {
        columns: { text: 'text_oneline', record: { type: 'link:record', reverse_edit: true, on_delete: 'cascade' } },
        flags: { pool_link: true },
      },
    }),
  )
  people = await seedPeople(svc)
  root = people.root
  here = await standardPool(svc)
  const pool = { name: { 'en-US': 'There' }, _id_parent: 1 }
  there = (await ok(root.post('/pool', [{ _basetype: 'pool', pool }])))[0].pool._id
})
after(() => svc[Symbol.asyncDispose]())
beforeEach(() => ask())

async function ok(request: Promise<Answer>): Promise<Json> {
  const { status, body } = await request
  assert.equal(status, 200, JSON.stringify(body))
  return body
}

/** Lets the operations ask these questions. */
const ask = (operations: string[] = [], ...questions: string[]) =>
  ok(
    root.post(
      '/transitions',
      questions.map((text) => ({ type: 'process', operations, confirm: { 'en-US': text }, actions: [] })),
    ),
  )

const record = (block: object, rest: object = {}) =>
  payload('record', { ...inPool(here), title: 'R', ...block }, { _mask: 'record__standard', ...rest })

/** A request that asks: sends itself with further parameters. */
type Request = (query?: Query) => Promise<Answer>

/** A record of the stranger's, by a grant that a save by the stranger takes away. */
async function losing(): Promise<Request> {
  const _acl = [wireGrant(toUser(people.ids.stranger), 'read write acl mask')]
  const [created] = await ok(root.post('/db/record', [record({}, { _acl })], { confirmTransition: 'ALL' }))
  const body = [record({ _id: created.record._id, _version: 1 }, { _acl: [] })]
  return (query) => people.stranger.post('/db/record', body, query)
}

/** A record with a page, and the save that moves the record to the other pool. */
async function moving(): Promise<Request> {
  const page = (block: object) => ({
    '_reverse_nested:page:record': [payload('page', { text: 'one', ...block }, { _mask: 'page__standard' })],
  })
  const [created] = await ok(root.post('/db/record', [record(page({}))]))
  const { _id } = created.record['_reverse_nested:page:record'][0].page
  const block = { _id: created.record._id, _version: 1, ...inPool(there), ...page({ _id, _version: 1 }) }
  return (query) => root.post('/db/record', [record(block)], query)
}

async function deleting(query: Query = {}): Promise<Request> {
  const [created] = await ok(root.post('/db/record', [record({})]))
  return (more) => root.delete('/db/record', [[created.record._id, 1, null]], { ...query, ...more })
}

const saving = (): Request => (query) => root.post('/db/record', [record({})], query)

/** Each question, in a request of its own. */
const scenes: Record<string, () => Promise<Request>> = {
  'own access is lost': losing,
  'a pool changes': moving,
  'a delete without policy': () => deleting(),
  'a transition': async () => {
    await ask(['INSERT'], 'Really?')
    return saving()
  },
  'several transitions': async () => {
    await ask(['INSERT'], 'Really?', 'Sure?')
    return saving()
  },
  'a transition of deletes': async () => {
    const request = await deleting({ delete_policy: 'remove' })
    await ask(['DELETE'], 'Away with it?')
    return request
  },
  'access and a transition': async () => {
    const request = await losing()
    await ask(['UPDATE'], 'Publish?')
    return request
  },
}

/** What objects there are, with versions, grants and pools. */
async function stored(): Promise<unknown> {
  const { rows } = await svc.db.query(
    `(select object::text as row from object order by system_object_id)
     union all (select collection::text from collection order by id)`,
  )
  return rows
}

function assertTask(task: Json): void {
  assert.ok(typeof task.title === 'string' && task.title !== '')
  assert.ok(typeof task.message === 'string' && task.message !== '')
  assert.deepEqual(
    Object.keys(task).filter((key) => !['title', 'message', 'form', 'buttons'].includes(key)),
    [],
  )
  for (const field of task.form ?? []) {
    assert.ok(typeof field.name === 'string' && typeof field.label === 'string' && field.options.length > 0)
    for (const option of field.options) assert.ok(typeof option.text === 'string' && typeof option.value === 'string')
  }
  for (const button of task.buttons ?? []) {
    assert.ok(typeof button.text === 'string')
    assert.equal(typeof button.name, typeof button.value, 'a parameter has a name and a value, or there is none')
  }
}

/** The parameters that buttons and open options stand for. */
const choices = (tasks: Json[]): (readonly [name: string, value: string])[] =>
  tasks.flatMap(({ form = [], buttons = [] }) => [
    ...form.flatMap((field: Json) =>
      field.options.filter((option: Json) => !option.disabled).map((option: Json) => [field.name, option.value]),
    ),
    ...buttons.filter((button: Json) => button.name).map((button: Json) => [button.name, button.value]),
  ])

test('DB-050 ERR-026 a 202 is a list of tasks with title, message, form and buttons, no error, and nothing is written', async () => {
  const forms = new Set<boolean>()
  for (const [name, scene] of Object.entries(scenes)) {
    const request = await scene()
    const before = await stored()
    const { status, body } = await request()
    assert.equal(status, 202, `${name}: ${JSON.stringify(body)}`)
    assert.deepEqual(Object.keys(body), ['tasks'], 'no code: it is no error')
    assert.ok(body.tasks.length > 0)
    for (const task of body.tasks) assertTask(task)
    for (const task of body.tasks) forms.add('form' in task)
    assert.ok(body.tasks.some((task: Json) => task.buttons.length > 0))
    assert.deepEqual(await stored(), before, name)
    await ask()
  }
  assert.deepEqual([...forms].sort(), [false, true])
})

test('DB-051 name and value of a button or option are the parameter that the same request is sent again with', async () => {
  const seen = new Set<string>()
  for (const [name, scene] of Object.entries(scenes)) {
    const { tasks } = (await (await scene())()).body
    for (let index = 0; index < choices(tasks).length; index++) {
      await ask()
      // A token belongs to its request, so each choice is made in one of its own.
      const request = await scene()
      const offered = choices((await request()).body.tasks)
      const before = await stored()
      const choice = offered[index]
      assert.ok(choice)
      // The chosen value of its parameter, beside what the other tasks offer.
      const query = Object.fromEntries([...offered, choice])
      const { status, body } = await request(query)
      assert.equal(status, 200, `${name} ${JSON.stringify(query)} ${JSON.stringify(body)}`)
      assert.notDeepEqual(await stored(), before, name)
      seen.add(choice[0])
      if (choice[0] === 'delete_policy') assert.equal(body.policy, choice[1])
    }
    await ask()
  }
  assert.deepEqual([...seen].sort(), ['confirmTransition', 'delete_policy', 'reverse_pool_changed_mode', 'revoke'])
})

test('DB-009 a transition that asks answers 202; the same request with its confirmTransition is carried out', async () => {
  await ask(['INSERT'], 'Create it?')
  const request = saving()
  const before = await stored()
  const asked = await request()
  assert.deepEqual([asked.status, asked.body.tasks[0].message], [202, 'Create it?'])
  assert.deepEqual(await stored(), before)
  const [button] = asked.body.tasks[0].buttons
  assert.equal(button.name, 'confirmTransition')
  assert.equal((await request({ confirmTransition: 'another' })).status, 202)
  const [created] = await ok(request({ confirmTransition: button.value }))
  assert.equal((await ok(root.get(`/db/record/_all_fields/${created.record._id}`))).length, 1)
})

test('DB-010 revoke=yes:<value of confirmTransition> gives both confirmations, neither is enough', async () => {
  const request = await losing()
  await ask(['UPDATE'], 'Publish?')
  const before = await stored()
  const first = await request()
  assert.deepEqual([first.status, first.body.tasks.length], [202, 2], JSON.stringify(first.body))
  const revoked = await request({ revoke: 'yes' })
  assert.equal(revoked.status, 202)
  const [button] = revoked.body.tasks[0].buttons
  assert.equal(button.name, 'confirmTransition')
  const confirmed = await request({ confirmTransition: button.value })
  assert.deepEqual([confirmed.status, confirmed.body.tasks[0].buttons[0].name], [202, 'revoke'])
  assert.equal((await request({ revoke: 'yes:another' })).status, 202)
  assert.deepEqual(await stored(), before)
  const [saved] = await ok(request({ revoke: `yes:${button.value}` }))
  assert.equal((await ok(root.get(`/db/record/_all_fields/${saved.record._id}`)))[0].record._version, 2)
  assert.deepEqual(await ok(people.stranger.get(`/db/record/record__standard/${saved.record._id}`)), [])
})

test('DB-037 a delete whose transition asks is confirmed by confirmTransition, with the policy chosen before', async () => {
  for (const policy of ['remove', 'setnull']) {
    const request = await deleting()
    await ask(['DELETE'], 'Away with it?')
    const before = await stored()
    const choice = await request()
    assert.deepEqual([choice.status, choice.body.tasks[0].form[0].name], [202, 'delete_policy'])
    const asked = await request({ delete_policy: policy })
    assert.deepEqual([asked.status, asked.body.tasks[0].message], [202, 'Away with it?'])
    assert.deepEqual(await stored(), before)
    const carried = Object.fromEntries(choices(asked.body.tasks))
    assert.deepEqual(
      [Object.keys(carried).sort(), carried.delete_policy],
      [['confirmTransition', 'delete_policy'], policy],
    )
    assert.equal((await request({ ...carried, confirmTransition: 'another' })).status, 202)
    assert.equal((await ok(request(carried))).policy, policy)
    const { body } = await request(carried)
    assert.equal(body.code, 'ObjectNotFound', 'it is gone')
    await ask()
  }
})

test('TRASH-004 the one thing that is seen of a workflow is the 202 and its confirmTransition', async () => {
  const answer = (objects: Json[]) =>
    objects.map((object) => {
      const { _system_object_id, _global_object_id, record, ...rest } = steady(object)
      const { _id, ...block } = record
      return { ...rest, record: block }
    })
  const request = saving()
  const without = await ok(request())
  await ask(['INSERT'], 'Create it?')
  const { status, body } = await request()
  assert.equal(status, 202)
  assert.deepEqual(Object.keys(body), ['tasks'])
  const confirmed = await ok(request(Object.fromEntries(choices(body.tasks))))
  assert.deepEqual(answer(confirmed), answer(without))
  const read = async (objects: Json[]) =>
    ok(root.get(`/db/record/_all_fields/${objects[0].record._id}`, { format: 'full' }))
  assert.deepEqual(answer(await read(confirmed)), answer(await read(without)))
})
