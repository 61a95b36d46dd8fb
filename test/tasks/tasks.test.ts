import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createPool } from '../pools/support.ts'
import { toUser, wireGrant } from '../rights/people.ts'
import { createUsers } from '../signin/support.ts'
import type { Client, Json } from '../support/client.ts'
import { pageText } from '../support/documented.ts'
import { inPool, link, type Museum, payload, startMuseum } from '../support/seed/museum.ts'
import { events, latest, logOf, now, ok, ran, titled, works } from './support.ts'

let museum: Museum
let root: Client

before(async () => {
  museum = await startMuseum()
  root = museum.svc.as('root')
  await createUsers(
    museum.svc,
    { user: { login: 'tia', _version: 1 }, _system_rights: { 'system.task': {} } },
    { user: { login: 'tom', _version: 1 }, _system_rights: { 'system.task': {} } },
    { user: { login: 'ned', _version: 1 } },
  )
  await ok(root.post('/config/system/config/user/user_in_event_group', ['TASK']))
})
after(() => museum[Symbol.asyncDispose]())

const counting = { task_module: 'search', task_params: { search: { search: [] } } }

async function tagGroup(): Promise<Json[]> {
  const [group] = await ok(
    root.post('/tags', [
      {
        taggroup: { displayname: { 'en-US': 'States' }, type: 'checkbox' },
        _tags: ['open', 'checked'].map((name) => ({ tag: { displayname: { 'en-US': name } } })),
      },
    ]),
  )
  return group._tags.map(({ tag }: Json) => tag)
}

test('the record of a task has its members, as sent or with their defaults', async () => {
  const { task, _user, ...record } = await ok(root.post('/task', { task: counting }))
  assert.deepEqual(Object.keys(record), ['_basetype', 'created_at', 'updated_at'])
  const { _id, ...rest } = task
  assert.deepEqual(rest, {
    _version: 1,
    ...counting,
    task_timeout_sec: 0,
    description: '',
    next_run_at: null,
    frontend_prefs: {},
    email: { recipients: [] },
    schedules: [],
    state: {},
    status: 'new',
    status_percent: null,
    status_msg: '',
    run_started_at: null,
    run_canceled_at: null,
    run_finished_at: null,
  })
  assert.equal(_user._generated_displayname, 'Root')
  const sent = {
    _version: 1,
    task_timeout_sec: 60,
    description: 'Each Monday',
    next_run_at: '2099-01-05T08:00:00.000Z',
    frontend_prefs: { app: { open: true } },
    email: { recipients: [{ email: 'ada@museum.test', problems_only: true }] },
    schedules: [
      { weekdays: ['mon', 'friday'], hours: [8, 7], minutes: [30], days_of_month: [], timezone: 'Europe/Berlin' },
    ],
  }
  const changed = await ok(root.patch(`/task/${_id}`, { task: sent }))
  const { schedules, ...shown } = sent
  assert.partialDeepStrictEqual(changed.task, { ...shown, _version: 2 })
  assert.deepEqual(changed.task.schedules, [{ ...schedules[0], weekdays: ['monday', 'friday'], hours: [7, 8] }])
  // What is absent stays.
  const again = await ok(root.patch(`/task/${_id}`, { task: { _version: 2, description: 'Other' } }))
  assert.partialDeepStrictEqual(again.task, { ...shown, _version: 3, description: 'Other' })
  assert.equal((await root.patch(`/task/${_id}`, { task: { _version: 4 } })).body.code, 'VersionMismatch')
  assert.equal((await root.patch(`/task/${_id}`, { task: { _version: 3, task_module: 'metadata' } })).status, 400)
})

test('without a moment of its own a task with schedules runs when they say', async () => {
  const schedules = [{ days_of_month: [31], hours: [4], timezone: 'UTC' }]
  const { task } = await ok(root.post('/task', { task: { ...counting, schedules } }))
  const next = new Date(task.next_run_at)
  assert.deepEqual([next.getUTCDate(), next.getUTCHours(), next.getUTCMinutes()], [31, 4, 0])
  const never = { task: { ...counting, schedules: [{ days_of_month: [] }] } }
  assert.equal((await root.post('/task', never)).status, 400)
  const nowhere = { task: { ...counting, schedules: [{ hours: [1], timezone: 'Nowhere/At_All' }] } }
  assert.equal((await root.post('/task', nowhere)).status, 400)
})

test('tasks need system.task; users have their own, and root all', async () => {
  const [tia, tom, ned] = ['tia', 'tom', 'ned'].map((login) => museum.svc.as(login)) as [Client, Client, Client]
  const { task } = await ok(tia.post('/task', { task: counting }))
  for (const request of [ned.get('/task'), ned.get('/task/modules'), ned.post('/task', { task: counting })]) {
    assert.equal((await request).body.code, 'SystemRightRequired')
  }
  assert.equal((await museum.svc.as(null).get('/task')).body.code, 'UserRequired')
  assert.deepEqual((await ok(tom.get('/task'))).objects, [])
  const own = await ok(tia.get('/task'))
  assert.deepEqual([own.count, own.objects.map((one: Json) => one.task._id)], [1, [task._id]])
  const all = await ok(root.get('/task', { limit: 2, offset: 0 }))
  assert.deepEqual([all.limit, all.offset, all.objects.length], [2, 0, 2])
  assert.ok(all.count >= 3)
  assert.equal((await tom.get(`/task/${task._id}`)).body.code, 'ResourceNotFound')
  const foreign = [
    tom.get(`/task/${task._id}/log`),
    tom.post(`/task/${task._id}/cancel`, {}),
    tom.patch(`/task/${task._id}`, { task: { _version: 2 } }),
    tom.delete(`/task/${task._id}`),
  ]
  for (const answer of await Promise.all(foreign)) assert.equal(answer.body.code, 'InsufficientRights')
  for (const path of ['/task/999999/log', '/task/999999']) {
    assert.equal((await root.get(path)).status, 404)
  }
  assert.equal((await root.delete('/task/999999')).body.code, 'ObjectNotFound')
  await ok(root.delete(`/task/${task._id}`))
  assert.equal((await tia.get(`/task/${task._id}`)).status, 404)
})

test('modules are described, and what they do not know is refused', async () => {
  const { modules } = await ok(root.get('/task/modules'))
  const names = ['consolidate_objects', 'delete_objects', 'metadata', 'search', 'set_unset_tags']
  assert.deepEqual(
    modules.map(({ name }: Json) => name),
    names,
  )
  assert.equal(modules[1].params[0].parameters.delete_policy.default, 'setnull')
  const wrong = [
    { task_module: 'sleep', task_params: {} },
    { task_module: 'search', task_params: {} },
    { task_module: 'search', task_params: { search: { search: [] }, nonsense: 1 } },
    { task_module: 'search', task_params: { search: { search: [{ type: 'nonsense' }] } } },
    { task_module: 'search', task_params: { search: { search: [] } }, next_run_at: 'soon' },
    { task_module: 'search', task_params: { search: { search: [] } }, next_run_at: '2099-02-30T00:00:00Z' },
    { task_module: 'search', task_params: { search: { search: [] } }, email: { recipients: [{ email: 'nobody' }] } },
    { task_module: 'delete_objects', task_params: { search: { search: [] }, delete_policy: 'create_collection' } },
    { task_module: 'set_unset_tags', task_params: { search: { search: [] } } },
    { task_module: 'set_unset_tags', task_params: { search: { search: [] }, set_tags: [99_999] } },
    { task_module: 'metadata', task_params: { search: { search: [] }, mapping: 99_999 } },
    { task_module: 'consolidate_objects', task_params: { source_objects: [], target_object: 1 } },
    { task_module: 'consolidate_objects', task_params: { source_objects: [1, 1], target_object: 2 } },
  ]
  const before = (await ok(root.get('/task'))).count
  for (const task of wrong) {
    const answer = await root.post('/task', { task }, { confirm: 'yes' })
    assert.equal(answer.status, 400, `${JSON.stringify(task)} ${JSON.stringify(answer.body)}`)
  }
  assert.equal((await root.post('/task', { task: { task_module: 'sleep' } })).body.code, 'ModuleUnknown')
  assert.equal((await root.post('/task', { task: counting }, { confirm: 'no' })).status, 400)
  assert.equal((await ok(root.get('/task'))).count, before)
})

test('a preview says what would change, and neither stores nor changes anything', async () => {
  const saved = await works(museum, 'Previewed', 3)
  const before = (await ok(root.get('/task'))).count
  const task = { task_module: 'delete_objects', next_run_at: now, task_params: { search: titled('Previewed') } }
  const preview = await root.put('/task', { task })
  assert.equal(preview.status, 202)
  const [question] = preview.body.tasks
  assert.deepEqual(question.data, { count: 3, delete_policy: 'setnull' })
  assert.deepEqual(question.buttons[0], { text: 'Continue', name: 'confirm', value: 'yes' })
  await museum.svc.drain()
  assert.equal((await ok(root.get('/task'))).count, before)
  assert.equal((await latest(museum, saved)).length, 3)
  const dry = await ran(museum, root, { ...task, task_params: { ...task.task_params, dry_run: true } })
  assert.deepEqual(
    [dry.status, dry.state.changed, dry.status_msg],
    ['done', 3, '3 objects found, 3 would be changed, 0 failed.'],
  )
  for (const object of await latest(museum, saved)) assert.equal(object.work._version, 1)
  const done = await ran(museum, root, task)
  assert.deepEqual([done.status, done.status_percent, done.state.changed], ['done', 100, 3])
  assert.equal((await root.post('/search', { ...titled('Previewed'), limit: 0 })).body.count, 0)
})

test('objects go to the trash, come back, and are purged', async () => {
  await works(museum, 'Trashed', 5)
  const run = (delete_policy: string) =>
    ran(museum, root, { task_module: 'delete_objects', task_params: { search: titled('Trashed'), delete_policy } })
  const counted = async () => (await root.post('/search', { ...titled('Trashed'), limit: 0 })).body.count
  for (const [policy, left] of [
    ['remove', 0],
    ['undelete', 5],
    ['setnull', 0],
  ] as const) {
    assert.equal((await run(policy)).state.changed, 5, policy)
    await museum.svc.drain()
    assert.equal(await counted(), left, policy)
  }
  const purged = await run('purge')
  assert.deepEqual([purged.status, purged.state.changed], ['done', 5])
  assert.deepEqual(await logOf(root, purged), [purged.status_msg])
  assert.equal((await root.post('/search', { ...titled('Trashed'), include_deleted: true, limit: 0 })).body.count, 0)
})

test('tags are set and taken off, and an object that has them so gets no new version', async () => {
  const [open, checked] = (await tagGroup()) as [Json, Json]
  const saved = await works(museum, 'Tagged', 4, { _tags: [{ _id: open._id }] })
  const params = { search: titled('Tagged'), set_tags: [checked._id], unset_tags: [{ _id: open._id }] }
  const first = await ran(museum, root, { task_module: 'set_unset_tags', task_params: params })
  assert.equal(first.state.changed, 4)
  for (const object of await latest(museum, saved)) {
    assert.deepEqual([object._tags.map(({ _id }: Json) => _id), object.work._version], [[checked._id], 2])
    assert.equal(object._comment, `Task ${first._id}: set_unset_tags`)
  }
  const both = [{ _id: checked._id, set: true }]
  const again = await ran(museum, root, {
    task_module: 'set_unset_tags',
    task_params: { search: { ...titled('Tagged'), incremental: false }, set_unset_tags: { tags: both } },
  })
  assert.deepEqual([again.state.done, again.state.changed ?? 0], [4, 0])
})

test('a search is counted; an incremental one counts what has changed since the last run', async () => {
  const saved = await works(museum, 'Counted', 3)
  const plain = await ran(museum, root, { task_module: 'search', task_params: { search: titled('Counted') } })
  assert.equal(plain.status_msg, '3 objects found.')
  const task = await ran(museum, root, {
    task_module: 'search',
    task_params: { search: titled('Counted'), incremental: true },
  })
  assert.equal(task.status_msg, '3 objects found that have changed.')
  const again = async (version: number): Promise<string> => {
    await ok(root.patch(`/task/${task._id}`, { task: { _version: version, next_run_at: now } }))
    await museum.svc.drain()
    return (await ok(root.get(`/task/${task._id}`))).task.status_msg
  }
  assert.equal(await again(1), '0 objects found that have changed.')
  await ok(root.patch('/db/work', [payload('work', { _id: saved[0].work._id, _version: 1, note: 'new' })]))
  await museum.svc.drain()
  assert.equal(await again(2), '1 objects found that have changed.')
})

test('what links to the sources links to the target, and the sources go', async () => {
  const names = ['Doe', 'Do', 'Dough']
  const people = await ok(
    root.post(
      '/db/person',
      names.map((name) => payload('person', { name })),
    ),
  )
  const [target, one, two] = people.map((person: Json) => person._system_object_id)
  const supplier = (id: number) => ({ person: link('person', id) })
  const block = {
    ...inPool(museum.pool),
    creator: link('person', one),
    '_nested:work__material': [
      { name: 'wood', '_nested:work__material__supplier': [supplier(target), supplier(one), supplier(two)] },
      { name: 'iron', '_nested:work__material__supplier': [{ ...supplier(two), since: { value: '1999' } }] },
    ],
  }
  const [work] = await ok(root.post('/db/work', [payload('work', block)]))
  await museum.svc.drain()
  const params = { source_objects: [one, two], target_object: target }
  const preview = await root.post('/task', {
    task: { task_module: 'consolidate_objects', task_params: { source_objects: [one, two] } },
  })
  assert.deepEqual(
    [preview.status, preview.body.tasks[0].data],
    [202, { references: 1, relink: 1, denied: 0, capped: false }],
  )
  const dry = await ran(museum, root, { task_module: 'consolidate_objects', task_params: params })
  assert.match(dry.status_msg, /1 would be changed.*2 sources would be deleted/)
  assert.equal((await latest(museum, [work]))[0].work._version, 1)
  const done = await ran(museum, root, {
    task_module: 'consolidate_objects',
    task_params: { ...params, dry_run: false },
  })
  assert.match(done.status_msg, /1 changed.*2 sources deleted/)
  const [after] = await latest(museum, [work])
  const targetOf = (row: Json): number => row.person._system_object_id
  assert.equal(after.work.creator._system_object_id, target)
  const [wood, iron] = after.work['_nested:work__material']
  assert.deepEqual(wood['_nested:work__material__supplier'].map(targetOf), [target])
  assert.deepEqual(iron['_nested:work__material__supplier'].map(targetOf), [target])
  assert.equal(iron['_nested:work__material__supplier'][0].since.value, '1999')
  const [source] = await ok(root.get(`/db/person/_all_fields/${people[1].person._id}`))
  assert.equal(source._changelog[0].operation, 'DELETE')
})

test('a source with objects below it stays until these have another parent', async () => {
  const place = (name: string, parent?: number): Json =>
    payload('place', { name: { 'en-US': name }, code: name, ...(parent ? { _id_parent: parent } : {}) })
  const [target, empty, full] = await ok(
    root.post(
      '/db/place',
      ['T', 'E', 'F'].map((name) => place(name)),
    ),
  )
  const [child] = await ok(root.post('/db/place', [place('C', full.place._id)]))
  const ids = [empty, full].map((one: Json) => one._system_object_id)
  const task_params = { source_objects: ids, target_object: target._system_object_id }
  const dry = await ran(museum, root, { task_module: 'consolidate_objects', task_params })
  assert.match(dry.status_msg, / 1 sources would be deleted\.$/)
  const task = { task_module: 'consolidate_objects', task_params: { ...task_params, dry_run: false } }
  const done = await ran(museum, root, task)
  assert.match(done.status_msg, / 1 sources deleted\.$/)
  assert.ok((await logOf(root, done)).includes(`source ${full._system_object_id} stays: other objects stand below it`))
  const read = async ({ place: { _id } }: Json) => (await ok(root.get(`/db/place/_all_fields/${_id}`)))[0]
  assert.equal((await read(child)).place._id_parent, full.place._id)
  const below = { name: { 'en-US': 'C' }, code: 'C', _id: child.place._id, _version: 1, _id_parent: target.place._id }
  await ok(root.post('/db/place', [payload('place', below)]))
  const rest = { ...task, task_params: { ...task.task_params, source_objects: [full._system_object_id] } }
  assert.match((await ran(museum, root, rest)).status_msg, / 1 sources deleted\.$/)
})

test('sources that the creator may not delete are refused at once, and at a run before anything is relinked', async () => {
  const { body: users } = await root.get('/user', { limit: 1000 })
  const tia = users.find(({ user }: Json) => user.login === 'tia').user._id
  const grants = (rights: string) => ({ _acl: [wireGrant(toUser(tia), rights)] })
  const pool = await createPool(root, {}, grants('read write delete mask'))
  const [target, source] = await ok(
    root.post(
      '/db/work',
      ['Target', 'Source'].map((title) => payload('work', { title: { 'en-US': title }, ...inPool(pool._id) })),
    ),
  )
  await museum.svc.drain()
  const task_params = {
    source_objects: [source._system_object_id],
    target_object: target._system_object_id,
    dry_run: false,
  }
  const task = { task_module: 'consolidate_objects', task_params }
  const client = museum.svc.as('tia')
  const planned = { task: { ...task, next_run_at: '2099-01-01T00:00:00Z' } }
  const { task: later } = await ok(client.post('/task', planned, { confirm: 'yes' }))
  await ok(root.post('/pool', [{ pool: { ...pool, _version: pool._version }, ...grants('read write mask') }]))
  for (const query of [{}, { confirm: 'yes' }]) {
    const { status, body } = await client.post('/task', { task }, query)
    assert.deepEqual([status, body.code, body.parameters.right], [403, 'ObjectInsufficientRights', 'delete'])
  }
  const kept = { task: { ...task, task_params: { ...task_params, delete_sources: false } } }
  assert.equal((await client.post('/task', kept)).status, 202)
  await ok(root.patch(`/task/${later._id}`, { task: { _version: 1, next_run_at: now } }))
  await museum.svc.drain()
  const ended = (await ok(root.get(`/task/${later._id}`))).task
  assert.equal(ended.status, 'error')
  assert.match(ended.status_msg, /right delete/)
  for (const object of await latest(museum, [target, source])) assert.equal(object.work._version, 1)
})

test('a target that links to a source is refused', async () => {
  const [one] = await ok(root.post('/db/person', [payload('person', { name: 'One' })]))
  const influence = [{ person: link('person', one._system_object_id), note: 'x' }]
  const [two] = await ok(
    root.post('/db/person', [payload('person', { name: 'Two', '_nested:person__influence': influence })]),
  )
  const task_params = {
    source_system_object_ids: [one._system_object_id],
    target_system_object_id: two._system_object_id,
  }
  const answer = await root.post(
    '/task',
    { task: { task_module: 'consolidate_objects', task_params } },
    { confirm: 'yes' },
  )
  assert.equal(answer.body.code, 'ConsolidateTargetLinksSources')
})

test('a task has the rights of its creator at that moment, and ends with them', async () => {
  const saved = await works(museum, 'Foreign', 2)
  const tia = museum.svc.as('tia')
  const task = { task_module: 'delete_objects', task_params: { search: { ...titled('Foreign') } } }
  const seen = await ran(museum, tia, task)
  assert.deepEqual([seen.status, seen.state.changed ?? 0], ['done', 0])
  assert.equal((await latest(museum, saved)).length, 2)
  const later = await ok(
    tia.post('/task', { task: { ...task, next_run_at: '2099-01-01T00:00:00Z' } }, { confirm: 'yes' }),
  )
  const { body: users } = await root.get('/user', { limit: 1000 })
  const { user } = users.find((one: Json) => one.user.login === 'tia')
  await ok(root.post('/user', [{ user: { _id: user._id, _version: user._version }, _system_rights: {} }]))
  await ok(root.patch(`/task/${later.task._id}`, { task: { _version: 1, next_run_at: now } }))
  await museum.svc.drain()
  const ended = (await ok(root.get(`/task/${later.task._id}`))).task
  assert.equal(ended.status, 'error')
  assert.match(ended.status_msg, /system\.task/)
})

test('EVENT-057 tasks are told by events of their own group', async () => {
  const documented = [...pageText('events.md').matchAll(/^\| TASK \| `(\w+)` \|/gm)].map(([, type]) => type)
  assert.deepEqual(documented.sort(), ['TASK', 'TASK_DELETE', 'TASK_ERROR', 'TASK_INSERT', 'TASK_UPDATE'])
  const done = await ran(museum, root, { ...counting, description: 'Logged' })
  await ok(root.patch(`/task/${done._id}`, { task: { _version: 1, description: 'Changed' } }))
  await ok(root.delete(`/task/${done._id}`))
  const own = async (type: string) => (await events(museum, type)).filter((event) => event.object_id === done._id)
  for (const [type, info] of [
    ['TASK_INSERT', { module: 'search', description: 'Logged' }],
    ['TASK_UPDATE', { module: 'search', description: 'Changed' }],
    ['TASK', { task_module: 'search', params: counting.task_params, status: 'DONE', status_msg: done.status_msg }],
    ['TASK_DELETE', {}],
  ] as const) {
    const [event, ...more] = await own(type)
    assert.equal(more.length, 0, type)
    assert.equal(event?.basetype, 'task')
    assert.partialDeepStrictEqual(event?.info ?? {}, info, type)
  }
  // Of the run whose creator had lost the right; the run of a consolidation has failed as well.
  const failed = await events(museum, 'TASK_ERROR')
  assert.ok(failed.every(({ info }) => info.status === 'ERROR'))
  const errors = failed.map(({ info }) => info.error)
  assert.ok(
    errors.some((error) => /system\.task/.test(error)),
    `${errors}`,
  )
})
