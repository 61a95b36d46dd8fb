import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import type { SaveCallback } from '../../src/objects/service.ts'
import { createUsers } from '../signin/support.ts'
import type { Client, Json } from '../support/client.ts'
import { type MailServer, startMailServer } from '../support/mail-server.ts'
import { type Museum, payload, startMuseum } from '../support/seed/museum.ts'
import { attachService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { events, latest, logOf, now, ok, ran, titled, works } from './support.ts'

let museum: Museum
let root: Client
let mails: MailServer
let tag: number

/** While it is set, changes wait for it before they are written. */
let gate: { readonly reached: () => void; readonly opened: Promise<unknown> } | null = null
const saveCallbacks: SaveCallback[] = [
  {
    name: 'gate',
    kinds: ['save', 'remove'],
    async call() {
      gate?.reached()
      await gate?.opened
      return []
    },
  },
]

before(async () => {
  museum = await startMuseum({ saveCallbacks: () => (gate ? saveCallbacks : []) })
  root = museum.svc.as('root')
  mails = await startMailServer()
  const email = { from: 'archive@museum.test' }
  await ok(
    root.post('/config', { system: { config: { email, email_server: { server_addr: mails.address, type: 'off' } } } }),
  )
  const [group] = await ok(
    root.post('/tags', [
      {
        taggroup: { displayname: { 'en-US': 'States' }, type: 'checkbox' },
        _tags: [{ tag: { displayname: { 'en-US': 'seen' } } }],
      },
    ]),
  )
  tag = group._tags[0].tag._id
})
after(async () => {
  await museum[Symbol.asyncDispose]()
  await mails[Symbol.asyncDispose]()
})
beforeEach(() => {
  gate = null
})

const tagging = (title: string, more: object = {}) => ({
  task_module: 'set_unset_tags',
  task_params: { search: titled(title), set_tags: [tag] },
  ...more,
})

/** Begins a task whose first batch waits until `open` is called. */
async function held(task: object): Promise<{ task: Json; open: () => void }> {
  const reached = Promise.withResolvers<void>()
  const opened = Promise.withResolvers<void>()
  gate = { reached: () => reached.resolve(), opened: opened.promise }
  const answer = await ok(root.post('/task', { task: { next_run_at: now, ...task } }, { confirm: 'yes' }))
  await reached.promise
  gate = null
  return { task: answer.task, open: () => opened.resolve() }
}

/** Gives the job of a run back to the queue, as for a process that is taken for dead: it may go on all the same. */
async function givenBack(id: number): Promise<void> {
  const { rowCount } = await museum.svc.db.query(
    'update graphile_worker._private_jobs set locked_at = null, locked_by = null where key = $1',
    [`task.run:${id}`],
  )
  assert.equal(rowCount, 1)
}

const read = async (id: number): Promise<Json> => (await ok(root.get(`/task/${id}`))).task

test('a canceled run ends at once, and the batch in its hands is rolled back', async () => {
  const saved = await works(museum, 'Canceled', 3)
  const { task, open } = await held(tagging('Canceled'))
  const running = await read(task._id)
  assert.deepEqual([running.status, running.state.total, running.run_finished_at], ['running', 3, null])
  assert.notEqual(running.run_started_at, null)
  assert.equal((await root.patch(`/task/${task._id}`, { task: { _version: 1 } })).status, 400)
  assert.equal((await root.delete(`/task/${task._id}`)).status, 400)
  await ok(root.post(`/task/${task._id}/cancel`, {}))
  const canceled = await read(task._id)
  assert.deepEqual([canceled.status, canceled.status_msg], ['canceled', 'Canceled by Root.'])
  assert.notEqual(canceled.run_canceled_at, null)
  const [told] = (await events(museum, 'TASK_ERROR')).filter((event) => event.object_id === task._id)
  assert.deepEqual([told?.info.status, told?.info.error], ['CANCELED', 'Canceled by Root.'])
  assert.equal((await root.post(`/task/${task._id}/cancel`, {})).status, 400)
  open()
  await museum.svc.drain()
  for (const object of await latest(museum, saved)) assert.equal(object.work._version, 1)
  assert.equal((await read(task._id)).status, 'canceled')
})

test('another process takes a run over, and each object is changed once', async () => {
  const saved = await works(museum, 'Taken over', 5)
  const { task, open } = await held(tagging('Taken over'))
  await using other = await attachService(museum.svc.dsn)
  await givenBack(task._id)
  await until(async () => (await read(task._id)).status === 'done')
  open()
  await other.drain()
  const done = await read(task._id)
  assert.deepEqual([done.status, done.state.changed, done.state.failed ?? 0], ['done', 5, 0])
  for (const object of await latest(museum, saved)) {
    assert.deepEqual([object.work._version, object._tags.map(({ _id }: Json) => _id)], [2, [tag]])
  }
})

test('objects that cannot be changed are told in the log, and do not stop the others', async () => {
  const saved = await works(museum, 'Linked', 4)
  await createUsers(museum.svc, { user: { login: 'ina', _version: 1 }, _system_rights: { 'system.task': {} } })
  const who = (await ok(root.get('/user', { limit: 1000 }))).find((one: Json) => one.user.login === 'ina').user._id
  const grant = (rights: object) => [{ who: { _basetype: 'user', user: { _id: who } }, rights }]
  const all = { read: {}, write: {}, delete: {}, mask: {} }
  const [readable, writable] = [
    payload('work', { _id: saved[0].work._id, _version: 1 }, { _acl: grant({ read: {} }) }),
    payload('work', { _id: saved[2].work._id, _version: 1 }, { _acl: grant(all) }),
  ]
  await ok(root.patch('/db/work', [readable, writable]))
  await museum.svc.drain()
  const done = await ran(museum, museum.svc.as('ina'), tagging('Linked'))
  assert.deepEqual([done.status, done.state.done, done.state.changed, done.state.failed], ['done', 2, 1, 1])
  const log = await logOf(museum.svc.as('ina'), done)
  assert.match(log.join('\n'), new RegExp(`work ${saved[0]._system_object_id}: `))
  assert.equal(log.at(-1), '2 objects found, 1 changed, 1 failed.')
})

test('whom it concerns hears how a run ended, and of problems only where that is wanted', async () => {
  const recipients = [{ email: 'all@museum.test' }, { email: 'problems@museum.test', problems_only: true }]
  const done = await ran(museum, root, {
    task_module: 'search',
    task_params: { search: { search: [] } },
    description: 'Weekly count',
    email: { recipients },
  })
  const about = () => mails.mails.filter(({ data }) => data.includes('Weekly count'))
  assert.deepEqual(
    about().flatMap(({ to }) => to),
    ['all@museum.test'],
  )
  assert.ok(about()[0]?.data.includes(done.status_msg))
  await works(museum, 'Watched', 1)
  const { task, open } = await held(tagging('Watched', { description: 'Weekly count', email: { recipients } }))
  await ok(root.post(`/task/${task._id}/cancel`, {}))
  open()
  await museum.svc.drain()
  const addressed = about().flatMap(({ to }) => to)
  assert.deepEqual(addressed.toSorted(), ['all@museum.test', 'all@museum.test', 'problems@museum.test'])
})

test('a run that takes longer than it may ends with an error, and its schedule goes on', async () => {
  await works(museum, 'Long', 2)
  const schedules = [{ hours: [3] }]
  const { task, open } = await held(tagging('Long', { task_timeout_sec: 1, schedules }))
  await museum.svc.db.query(`update task set run_started_at = now() - interval '1 hour' where id = $1`, [task._id])
  await using other = await attachService(museum.svc.dsn)
  await givenBack(task._id)
  await until(async () => (await read(task._id)).status === 'error')
  open()
  await other.drain()
  const ended = await read(task._id)
  assert.match(ended.status_msg, /longer than 1 seconds/)
  assert.equal(new Date(ended.next_run_at).getUTCHours(), 3)
})
