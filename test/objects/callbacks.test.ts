import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import type { PendingChange, PendingObject, Replacement, SaveCallback } from '../../src/objects/service.ts'
import { AppError } from '../../src/platform/errors.ts'
import { createPool } from '../pools/support.ts'
import { type People, seedPeople, toGroup, wireGrant } from '../rights/people.ts'
import type { Client, Json, Query } from '../support/client.ts'
import { inPool, link, type Museum, payload, startMuseum } from '../support/seed/museum.ts'
import { statementsOf } from '../support/statements.ts'
import { until } from '../support/until.ts'

type Call = (change: PendingChange) => Promise<readonly Replacement[]> | readonly Replacement[]

/** What the two callbacks of the service do, and what they were asked. */
let first: Call = () => []
let second: Call = () => []
let asked: { name: string; change: PendingChange }[] = []

const every: SaveCallback['kinds'] = ['save', 'remove', 'undelete', 'purge', 'transition']
const all: SaveCallback[] = [
  {
    name: 'first',
    kinds: every,
    async call(change) {
      asked.push({ name: 'first', change })
      return first(change)
    },
  },
  {
    name: 'second',
    kinds: ['save'],
    objecttypes: ['work', 'topic'],
    async call(change) {
      asked.push({ name: 'second', change })
      return second(change)
    },
  },
]

/** Those that are on. */
let saveCallbacks = all

let museum: Museum
let people: People
let root: Client
let pool: number
before(async () => {
  museum = await startMuseum({ saveCallbacks: () => saveCallbacks })
  people = await seedPeople(museum.svc)
  root = people.root
  const everything = wireGrant(toGroup(people.ids.staff), 'bag_read read create write delete', {})
  pool = (await createPool(root, { name: { 'en-US': 'Workshop' } }, { _acl: [everything] }))._id
})
after(() => museum[Symbol.asyncDispose]())
beforeEach(() => {
  first = () => []
  second = () => []
  asked = []
  saveCallbacks = all
})

let number = 0
const work = (block: object = {}, rest: object = {}): Json =>
  payload('work', { ...inPool(pool), title: { 'en-US': `Work ${++number}` }, ...block }, rest)

async function create(body: Json, query: Query = {}): Promise<Json> {
  const answer = await root.post(`/db/${body._objecttype}`, [body], { skip_plugins: 1, ...query })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body[0]
}

const stored = async (object: Json): Promise<Json> =>
  (await root.get(`/db/${object._objecttype}/_all_fields/system_object_id/${object._system_object_id}`)).body[0]

/** All of one type that are given, with a change of the block and of what stands beside it. */
const each =
  (
    objecttype: string,
    block: (object: PendingObject) => object,
    rest: (object: PendingObject) => object = () => ({}),
  ): Call =>
  ({ objects }) =>
    objects
      .filter((object) => object.objecttype === objecttype && object.replaceable)
      .map((object) => ({
        key: object.key,
        object: {
          ...object.object,
          ...rest(object),
          [objecttype]: { ...(object.object[objecttype] as object), ...block(object) },
        },
      }))

const operations = ({ objects }: PendingChange) =>
  objects.map(({ objecttype, operation }) => `${operation} ${objecttype}`)

async function countOf(table: string): Promise<number> {
  const { rows } = await museum.svc.db.query<{ n: number }>(`select count(*)::int as n from ${table}`)
  return rows[0]?.n ?? -1
}

test('callbacks are turned on and off while the service runs', async () => {
  const namesAsked = async (): Promise<string[]> => {
    asked = []
    await create(work(), { skip_plugins: 0 })
    return asked.map(({ name }) => name)
  }
  assert.deepEqual(await namesAsked(), ['first', 'second'])
  saveCallbacks = all.slice(1)
  assert.deepEqual(await namesAsked(), ['second'])
  saveCallbacks = []
  assert.deepEqual(await namesAsked(), [])
  saveCallbacks = all
  assert.deepEqual(await namesAsked(), ['first', 'second'])
})

test('callbacks see the objects as they would be saved, each what those before it made of them', async () => {
  const [person, topic] = [
    await create(payload('person', { name: 'Ada' })),
    await create(payload('topic', { name: 'Sea' })),
  ]
  const before = await create(work({ note: 'old', price: 1 }))
  first = each('work', () => ({ note: 'from the first', creator: link('person', person._system_object_id) }))
  second = each('work', ({ object }) => ({ inventory: 'B1', note: `${(object.work as Json).note} and the second` }))
  const body = [
    work({
      _id: before.work._id,
      _version: 1,
      '_nested:work__topic': [{ topic: link('topic', topic._system_object_id) }],
      '_reverse_nested:loan:work': [payload('loan', { borrower: 'Museum' })],
    }),
  ]
  const answer = await root.post('/db/work', body, { format: 'long' })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  const now = (await stored(before)).work
  assert.deepEqual(
    [now.note, now.inventory, now.creator._system_object_id, now.price, now._version],
    ['from the first and the second', 'B1', person._system_object_id, null, 2],
  )
  assert.equal(now['_nested:work__topic'][0].topic._system_object_id, topic._system_object_id)
  assert.equal(now['_reverse_nested:loan:work'][0].loan.borrower, 'Museum')
  assert.equal(answer.body[0].work.note, now.note, 'the answer is what is stored')

  assert.deepEqual(
    asked.map(({ name, change }) => [name, change.kind, change.actor.login, change.dryRun, operations(change)]),
    [
      ['first', 'save', 'root', false, ['update work', 'create loan']],
      ['second', 'save', 'root', false, ['update work']],
    ],
  )
  const [updated, created] = asked[0]?.change.objects ?? []
  const [sent, was] = [updated?.object.work as Json, updated?.current?.work as Json]
  assert.deepEqual([sent.title, sent.note, sent.price], [body[0].work.title, null, null], 'with its empty fields')
  assert.deepEqual([was.note, was.price, was._version], ['old', 1, 1])
  assert.equal(updated?.object._mask, '_all_fields')
  const loan = created?.object.loan as Json
  assert.equal(created?.current, null)
  assert.deepEqual(
    [created?.object._uuid, created?.object._system_object_id, created?.object._global_object_id, loan._id],
    [undefined, undefined, undefined, undefined],
  )
})

test('what a callback returns as it was shown stays as the client has sent it', async () => {
  const object = await create(work({ price: 3, note: 'kept', width: 5 }, { _comment: 'one' }))
  first = each('work', () => ({}))
  const answer = await root.patch('/db/work', [payload('work', { _id: object.work._id, price: 4 })])
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  const now = (await stored(object)).work
  assert.deepEqual([now.price, now.note, now.width], [4, 'kept', 5])
  // What the mask of the caller cannot write, a callback can.
  first = each('work', () => ({ note: 'hidden from the mask' }))
  const narrow = { ...work({ _id: object.work._id, _version: 2 }), _mask: 'work__title_only' }
  assert.equal((await people.editor.post('/db/work', [narrow])).body[0].work.note, undefined)
  const then = (await stored(object)).work
  assert.deepEqual([then.note, then.price, then._version], ['hidden from the mask', 4, 3])
  // A replacement stands for the whole object.
  first = ({ objects }) =>
    objects.map((entry) => ({
      key: entry.key,
      object: { ...entry.object, work: { title: { 'en-US': 'Only this' } } },
    }))
  const replaced = await root.post('/db/work', [work({ _id: object.work._id, _version: 3 })])
  assert.equal(replaced.status, 200, JSON.stringify(replaced.body))
  const last = (await stored(object)).work
  assert.deepEqual([last.title, last.note, last.price], [{ 'en-US': 'Only this' }, null, null])
  assert.equal(last._pool.pool._id, pool, 'system fields stay when nothing is said of them')
})

test('OBJ-010 callbacks set comments, tags, pools, grants, owners and the unique identifiers of new objects', async () => {
  const tags = (await root.post('/tags', [{ taggroup: {}, _tags: [{ reference: 'by-callback' }] }])).body[0]._tags
  const other = (await createPool(root, { name: { 'en-US': 'Other' } }))._id
  const grant = wireGrant(toGroup(people.ids.staff), 'read', {})
  first = each(
    'work',
    () => ({}),
    () => ({
      _comment: 'by a callback',
      _tags: [{ _id: tags[0]._id }],
      _pool: { pool: { _id: other } },
      _acl: [grant],
      _private_acl: true,
      _owner: { _basetype: 'user', user: { _id: people.ids.editor } },
      _uuid: 'chosen-by-a-callback',
    }),
  )
  const answer = await root.post('/db/work', [work()], { format: 'long' })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  for (const object of [answer.body[0], await stored(answer.body[0])]) {
    assert.deepEqual(
      [object._comment, object._tags.map((tag: Json) => tag._id), object._pool.pool._id, object._uuid],
      ['by a callback', [tags[0]._id], other, 'chosen-by-a-callback'],
    )
    assert.deepEqual(
      object._acl.map((each: Json) => [each.who.group._id, Object.keys(each.rights)]),
      [[people.ids.staff, ['read']]],
    )
    assert.deepEqual([object._private_acl, object._owner.user._id], [true, people.ids.editor])
  }
})

test('links among new objects hold, whatever a callback makes of these', async () => {
  first = each(
    'topic',
    () => ({}),
    () => ({ _uuid: `renamed-${crypto.randomUUID()}` }),
  )
  second = each('topic', ({ object }) => ({ name: `${(object.topic as Json).name}!` }))
  const uuid = crypto.randomUUID()
  const body = [
    payload('topic', { name: 'Above' }, { _uuid: uuid }),
    payload('topic', { name: 'Below', _parents: [{ _objecttype: 'topic', _uuid: uuid }] }),
  ]
  const answer = await root.post('/db/topic', body)
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  const [above, below] = answer.body
  assert.deepEqual([above.topic.name, below.topic.name], ['Above!', 'Below!'])
  assert.match(above._uuid, /^renamed-/)
  assert.equal(below.topic._parents[0]._system_object_id, above._system_object_id)
})

test('a callback refuses: its error is the answer, and nothing is stored', async () => {
  const object = await create(work())
  const before = [await countOf('object_version'), await countOf('event'), await countOf('index_queue')]
  first = () => {
    throw new AppError('ConstraintViolation', { name: 'rule of ours' }, { message: 'Not on Sundays.' })
  }
  const answer = await root.post('/db/work', [work({ _id: object.work._id, _version: 1 }), work()])
  assert.deepEqual(
    [answer.status, answer.body.code, answer.body.message],
    [400, 'ConstraintViolation', 'Not on Sundays.'],
  )
  first = () => {
    throw new Error('a bug, with secrets in its text')
  }
  const broken = await root.post('/db/work', [work()])
  assert.deepEqual(
    [broken.status, broken.body.code, broken.body.parameters.callback],
    [400, 'DbPreSaveFailed', 'first'],
  )
  assert.doesNotMatch(JSON.stringify(broken.body), /secrets/)
  const wrong: Record<string, Call> = {
    'not given': () => [{ key: 'x', object: {} }],
    twice: ({ objects }) => [...objects, ...objects].map(({ key, object }) => ({ key, object })),
    'no object': ({ objects }) => objects.map(({ key }) => ({ key, object: {} })),
    'another mask': each(
      'work',
      () => ({}),
      () => ({ _mask: 'work__title_only' }),
    ),
    'another object': each('work', () => ({ _id: object.work._id })),
    'no value of the field': each('work', () => ({ price: 'dear' })),
    'a list below': each('work', () => ({ '_reverse_nested:loan:work': [] })),
  }
  for (const [what, call] of Object.entries(wrong)) {
    first = call
    const { status, body } = await root.post('/db/work', [work()])
    assert.deepEqual([status, body.code, body.parameters?.callback], [400, 'DbPreSaveFailed', 'first'], what)
  }
  await museum.svc.drain()
  assert.deepEqual(
    [await countOf('object_version'), await countOf('event'), await countOf('index_queue')],
    [before[0], before[1], 0],
  )
})

test('what a callback makes of objects passes all that comes behind it', async () => {
  const tries: [string, Call][] = [
    ['ConstraintViolation', each('work', () => ({ inventory: 'no number' }))],
    ['LookupNotFound', each('work', () => ({ creator: link('person', 99_999_999) }))],
    [
      'PoolNotFound',
      each(
        'work',
        () => ({}),
        () => ({ _pool: { pool: { _id: 99_999 } } }),
      ),
    ],
  ]
  for (const [code, call] of tries) {
    first = call
    const { status, body } = await root.post('/db/work', [work()])
    assert.deepEqual([status, body.code], [400, code])
  }
  // The caller's rights, not somebody else's: into a pool that the caller may not fill.
  const closed = (await createPool(root, { name: { 'en-US': 'Closed' } }))._id
  first = each(
    'work',
    () => ({}),
    () => ({ _pool: { pool: { _id: closed } } }),
  )
  const refused = await people.editor.post('/db/work', [work({}, { _mask: 'work__standard' })])
  assert.equal(refused.status, 400, JSON.stringify(refused.body))
  assert.ok(['PoolNotFound', 'ObjectInsufficientRights'].includes(refused.body.code), refused.body.code)
  // Who may not change the object is told so before anybody is asked.
  const object = await create(payload('person', { name: 'Not theirs' }))
  asked = []
  const mine = payload('person', { _id: object.person._id, _version: 1, name: 'x' })
  assert.ok((await people.stranger.post('/db/person', [mine])).status >= 400)
  assert.deepEqual(asked, [])
})

/** Begins a request whose callback waits, and does something else meanwhile. */
async function meanwhile(request: () => Promise<Json>, act: () => Promise<unknown>): Promise<Json> {
  const { promise: reached, resolve: reach } = Promise.withResolvers<void>()
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  first = async () => {
    reach()
    await released
    return []
  }
  const answer = request()
  await Promise.race([reached, answer])
  try {
    await act()
  } finally {
    release()
  }
  return answer
}

test('what another save changes while a callback works ends the change with VersionMismatch', async () => {
  const objects = [await create(work()), await create(work())]
  const ids = objects.map((object) => object.work._id)
  const change = (entry: Json) =>
    root.patch('/db/work', [payload('work', { _id: entry.work._id, price: 7 })], { skip_plugins: 1 })
  const requests: Record<string, () => Promise<Json>> = {
    POST: async () =>
      root.post('/db/work', [work({ _id: ids[0], _version: (await stored(objects[0])).work._version })]),
    'PATCH without a version': () => root.patch('/db/work', [payload('work', { _id: ids[0], note: 'lost' })]),
    'a group': () => root.post('/db/work', [payload('work', { _id: ids, note: 'lost' })]),
  }
  for (const [what, request] of Object.entries(requests)) {
    const answer = await meanwhile(request, () => change(objects[0]))
    const { work: now } = await stored(objects[0])
    assert.deepEqual([answer.status, answer.body.code], [400, 'VersionMismatch'], what)
    assert.equal(answer.body.parameters.expected, now._version, what)
    assert.equal(now.note, null, what)
    assert.equal((await stored(objects[1])).work._version, 1, what)
  }
  // An object that would be changed with it, and one that came to it meanwhile.
  const master = await create(work({ '_reverse_nested:loan:work': [payload('loan', { borrower: 'A' })] }))
  const loan = (await stored(master)).work['_reverse_nested:loan:work'][0]
  const without = async () =>
    root.post('/db/work', [work({ _id: master.work._id, _version: 1, '_reverse_nested:loan:work': [] })])
  const edited = await meanwhile(without, () =>
    root.patch('/db/loan', [payload('loan', { _id: loan.loan._id, borrower: 'B' })], { skip_plugins: 1 }),
  )
  assert.deepEqual([edited.status, edited.body.code], [400, 'VersionMismatch'])
  const added = await meanwhile(without, () =>
    create(payload('loan', { borrower: 'C', work: link('work', master._system_object_id) })),
  )
  assert.deepEqual([added.status, added.body.code], [400, 'VersionMismatch'])
  assert.deepEqual(
    (await stored(master)).work['_reverse_nested:loan:work'].map((entry: Json) => entry.loan.borrower),
    ['B', 'C'],
  )
  // Nothing was changed: then it is as if nobody had been asked.
  const quiet = await meanwhile(without, async () => {})
  assert.equal(quiet.status, 200, JSON.stringify(quiet.body))
})

test('a callback that works for long holds neither a connection nor a lock', async () => {
  const object = await create(work())
  await museum.svc.drain()
  // Processes show by advisory locks that they live; those of transactions count with these.
  const held = async (): Promise<number> => {
    const { rows } = await museum.svc.db.query<{ n: number }>(
      `select (select count(*) from pg_stat_activity
           where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null)
         + (select count(*) from pg_locks l join pg_stat_activity a using (pid)
            where a.datname = current_database() and l.pid <> pg_backend_pid() and l.locktype <> 'advisory') as n`,
    )
    return rows[0]?.n ?? -1
  }
  const answer = await meanwhile(
    () => root.post('/db/work', [work({ _id: object.work._id, _version: 1, price: 9 }), work()]),
    async () => {
      // What runs by timers of its own comes and goes; whatever the save held would stay.
      await until(async () => (await held()) === 0)
      const client = await museum.svc.db.connect()
      try {
        await client.query('begin')
        await client.query('select from object where system_object_id = $1 for update nowait', [
          object._system_object_id,
        ])
        await client.query('rollback')
      } finally {
        client.release()
      }
    },
  )
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  assert.equal((await stored(object)).work.price, 9)
})

test('dry_run asks, and shows what would be stored', async () => {
  const before = await countOf('object_version')
  first = each('work', () => ({ note: 'tried' }))
  const { status, body } = await root.post('/db/work', [work()], { dry_run: 1 })
  assert.deepEqual([status, body[0].work.note, body[0].work._id], [200, 'tried', undefined])
  assert.deepEqual(
    asked.map(({ name, change }) => [name, change.dryRun]),
    [
      ['first', true],
      ['second', true],
    ],
  )
  assert.equal(await countOf('object_version'), before)
})

test('skip_plugins asks nobody', async () => {
  first = () => {
    throw new Error('never asked')
  }
  await create(work())
  assert.deepEqual(asked, [])
})

test('deletions and transitions that somebody runs ask as well; deletions take no changes', async () => {
  const seen = () => asked.map(({ change }) => [change.kind, ...operations(change)])
  const master = await create(work({ '_reverse_nested:loan:work': [payload('loan', { borrower: 'A' })] }))
  const remove = (policy: string | undefined, version: number, query: Query = {}) =>
    root.delete('/db/work', [[master.work._id, version, null]], {
      ...(policy ? { delete_policy: policy } : {}),
      ...query,
    })
  assert.equal((await remove(undefined, 1)).status, 202)
  assert.deepEqual(seen(), [], 'a question is no change')

  const [transition] = (
    await root.post('/transitions', [
      { type: 'process', trigger: 'manual', actions: [], displayname: { 'en-US': 'Run' } },
    ])
  ).body
  const run = () => root.post(`/transitions/${transition._id}/run`, [{ _system_object_id: master._system_object_id }])
  const steps: [string, () => Promise<Json>, string[]][] = [
    ['transition', run, ['update work']],
    ['remove', () => remove('remove', 1), ['delete work', 'delete loan']],
    ['undelete', () => remove('undelete', 2), ['undelete work']],
    ['remove', () => remove('setnull', 3), ['delete work']],
    ['purge', () => remove('purge', 4), ['delete work']],
  ]
  const versionOf = async () =>
    (await museum.svc.db.query('select version from object where system_object_id = $1', [master._system_object_id]))
      .rows
  for (const [kind, request, changes] of steps) {
    const before = await versionOf()
    first = () => {
      throw new AppError('ConstraintViolation', { rule: 'ours' })
    }
    asked = []
    const refused = await request()
    assert.deepEqual([refused.status, refused.body.code], [400, 'ConstraintViolation'], kind)
    assert.deepEqual(seen(), [[kind, ...changes]])
    first = ({ objects }) => objects.map(({ key, object }) => ({ key, object }))
    const same = await request()
    assert.equal(same.body.code, kind === 'transition' ? undefined : 'DbPreSaveFailed', kind)
    assert.deepEqual(await versionOf(), before, kind)
    first = () => []
    const done = await request()
    assert.equal(done.status, 200, `${kind} ${JSON.stringify(done.body)}`)
  }
  // What changes in between.
  const other = await create(work())
  const change = () => root.patch('/db/work', [payload('work', { _id: other.work._id, price: 1 })], { skip_plugins: 1 })
  const target = [{ _system_object_id: other._system_object_id }]
  for (const request of [
    () => root.post(`/transitions/${transition._id}/run`, target),
    async () =>
      root.delete('/db/work', [[other.work._id, (await stored(other)).work._version, null]], {
        delete_policy: 'remove',
      }),
  ]) {
    const answer = await meanwhile(request, change)
    assert.deepEqual([answer.status, answer.body.code], [400, 'VersionMismatch'])
  }
  await root.post('/transitions', [])
})

test('a callback costs a constant number of statements', async () => {
  first = each('work', ({ object }) => ({ note: `seen ${(object.work as Json).title['en-US']}` }))
  const person = await create(payload('person', { name: 'Of all' }))
  const statements = (size: number, enough = 0): Promise<number> => {
    const save = async () => {
      const body = Array.from({ length: size }, () =>
        work({
          creator: link('person', person._system_object_id),
          '_reverse_nested:loan:work': [payload('loan', { borrower: 'A' })],
        }),
      )
      const answer = await root.post('/db/work', body, { skip_index: 1, format: 'short' })
      assert.equal(answer.status, 200, JSON.stringify(answer.body).slice(0, 500))
      assert.equal(asked.at(-1)?.change.objects.length, size)
    }
    return statementsOf(museum.svc, save, { enough })
  }
  const few = await statements(10)
  assert.equal(await statements(1000, few), few)

  // So does what it makes of the objects of a transition.
  const { body: defined } = await root.post('/transitions', [
    { type: 'process', trigger: 'manual', actions: [], displayname: { 'en-US': 'Run' } },
  ])
  const { body: works } = await root.post(
    '/db/work',
    Array.from({ length: 300 }, () => work({ creator: link('person', person._system_object_id) })),
    { skip_index: 1, format: 'short' },
  )
  let round = 0
  first = each('work', () => ({ note: `round ${round}` }))
  const running = (size: number, enough = 0): Promise<number> =>
    statementsOf(
      museum.svc,
      async () => {
        round++
        const targets = works.slice(0, size).map(({ _system_object_id }: Json) => ({ _system_object_id }))
        const answer = await root.post(`/transitions/${defined[0]._id}/run`, targets)
        assert.equal(answer.status, 200, JSON.stringify(answer.body).slice(0, 500))
      },
      { enough },
    )
  const run = await running(10)
  assert.equal(await running(300, run), run)
  await root.post('/transitions', [])
})

test('callbacks see a promised link by its lookup while it has no id, and send it back', async () => {
  first = each('work', () => ({ note: 'seen' }))
  const lookup = { place: { 'lookup:_id': { _uuid: 'a-place-to-come', _allow_defer: true } } }
  const answer = await root.post('/db/work', [work({ place: { _objecttype: 'place', ...lookup } })])
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  const [shown] = (asked[0]?.change.objects ?? []) as Json[]
  assert.deepEqual(shown.object.work.place, { _objecttype: 'place', _purged_or_deferred: true, ...lookup })
  const made = answer.body[0].work
  assert.deepEqual([made.note, made.place._purged_or_deferred], ['seen', true])
  first = each('work', () => ({ note: 'seen again' }))
  const again = await root.post('/db/work', [work({ _id: made._id, _version: 1, place: made.place })])
  assert.deepEqual([again.body[0]?.work.note, again.body[0]?.work.place], ['seen again', made.place])
  const [place] = [await create(payload('place', { name: { 'en-US': 'There' } }, { _uuid: 'a-place-to-come' }))]
  assert.equal((await stored(answer.body[0])).work.place._system_object_id, place._system_object_id)
})
