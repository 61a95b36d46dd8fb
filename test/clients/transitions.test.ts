import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Json, Query } from '../support/client.ts'
import { type Museum, payload, startMuseum } from '../support/seed/museum.ts'

/** Confirmations as front ends and clients without anybody to ask answer them (decisions.md, 32). */

let museum: Museum
let manual: number
before(async () => {
  museum = await startMuseum()
  const ask = (text: string, more: object = {}) => ({
    type: 'process',
    operations: ['INSERT', 'UPDATE', 'DELETE'],
    confirm: { 'en-US': text },
    actions: [],
    ...more,
  })
  const saved = await root().post('/transitions', [
    ask('Is the name right?'),
    ask('Does the registrar know?'),
    ask('Send it round?', { trigger: 'manual', operations: [], displayname: { 'en-US': 'Send' } }),
  ])
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
  manual = saved.body[2]._id
})
after(() => museum[Symbol.asyncDispose]())

const root = () => museum.svc.as('root')
const person = (name: string) => [payload('person', { _version: 1, name })]

/** What a front end adds to the request after all tasks were answered with their first button. */
function answered(tasks: Json[]): Query {
  const chosen = tasks.flatMap(({ buttons }) => buttons.filter((b: Json, i: number) => i === 0 || b.hidden))
  return Object.fromEntries(chosen.flatMap((button) => (button.name ? [[button.name, button.value]] : [])))
}

test('each transition is a task of its own, and the last one carries the token', async () => {
  const asked = await root().post('/db/person', person('Ada'))
  assert.equal(asked.status, 202)
  const { tasks } = asked.body
  assert.deepEqual(
    tasks.map((task: Json) => task.message),
    ['Is the name right?', 'Does the registrar know?'],
  )
  assert.equal(tasks[0].buttons[0].name, undefined)
  assert.equal(tasks[1].buttons[0].name, 'confirmTransition')
  const done = await root().post('/db/person', person('Ada'), answered(tasks))
  assert.equal(done.status, 200, JSON.stringify(done.body))

  const triple = [[done.body[0].person._id, 1, null]]
  const deleting = await root().delete('/db/person', triple, { delete_policy: 'setnull' })
  assert.equal(deleting.body.tasks.length, 2)
  assert.deepEqual(Object.keys(answered(deleting.body.tasks)).sort(), ['confirmTransition', 'delete_policy'])
  assert.equal((await root().delete('/db/person', triple, answered(deleting.body.tasks))).status, 200)
})

test('ALL confirms every transition of a save, a delete and a run by hand', async () => {
  const all = { confirmTransition: 'ALL' }
  const saved = await root().post('/db/person', person('Grace'), all)
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
  const [{ _system_object_id, person: block }] = saved.body
  assert.equal((await root().post('/db/person', person('Grace'), { confirmTransition: 'all' })).status, 202)
  assert.equal((await root().post(`/transitions/${manual}/run`, [{ _system_object_id }])).status, 202)
  assert.equal((await root().post(`/transitions/${manual}/run`, [{ _system_object_id }], all)).status, 200)
  const gone = await root().delete('/db/person', [[block._id, 1]], { ...all, delete_policy: 'remove' })
  assert.deepEqual([gone.status, gone.body.removed], [200, [block._id]])
})

for (const method of ['post', 'patch'] as const) {
  test(`${method} takes the token alone, and both confirmations by either name`, async () => {
    const all = { confirmTransition: 'ALL' }
    const [{ person: stored }] = (await root().post('/db/person', person(`by ${method}`), all)).body
    let { _version } = stored
    for (const name of ['confirmTransition', 'revoke', 'revoke:confirmTransition']) {
      const body = [payload('person', { _id: stored._id, _version, name: `${method} ${name}` })]
      const asked = await root()[method]('/db/person', body)
      assert.equal(asked.status, 202, JSON.stringify(asked.body))
      const token = asked.body.tasks.at(-1).buttons[0].value
      const done = await root()[method]('/db/person', body, {
        [name]: name === 'confirmTransition' ? token : `yes:${token}`,
      })
      assert.equal(done.status, 200, JSON.stringify(done.body))
      _version = done.body[0].person._version
    }
  })
}

test('revoke:confirmTransition is both confirmations in one parameter', async () => {
  const asked = await root().post('/db/person', person('Hedy'))
  const token = asked.body.tasks.at(-1).buttons[0].value
  const wrong = await root().post('/db/person', person('Hedy'), { 'revoke:confirmTransition': token })
  assert.equal(wrong.status, 400)
  const done = await root().post('/db/person', person('Hedy'), { 'revoke:confirmTransition': `yes:${token}` })
  assert.equal(done.status, 200, JSON.stringify(done.body))
})
