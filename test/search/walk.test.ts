import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Actor } from '../../src/platform/actor.ts'
import { onStatement } from '../../src/platform/postgres/statements.ts'
import type { WalkRequest } from '../../src/search/walk.ts'
import { createPool } from '../pools/support.ts'
import { type People, seedPeople, toGroup, wireGrant } from '../rights/people.ts'
import type { Client, Json } from '../support/client.ts'
import { inPool, link, type Museum, payload, startMuseum } from '../support/seed/museum.ts'
import { attachService } from '../support/service.ts'

/** More than one statement of a walk brings. */
const many = 12_000

let museum: Museum
let people: People
let root: Client
let tag: number
let spare: number
/** Objects with a tag are for the staff. */
let pool: Json
/** Full of objects that the staff may read. */
let large: Json
let ids: number[] = []

const asActor = (userId: number, login: string, groupIds: number[], isRoot = false): Actor => ({
  userId,
  login,
  displayname: login,
  reference: null,
  groupIds,
  isRoot,
  systemRights: new Map(),
  remoteAddr: '',
  languages: ['en-US'],
  session: null,
})
const all = () => asActor(1, 'root', [], true)
const reader = () => asActor(people.ids.reader, 'reader', [people.ids.staff])
const walks = () => museum.svc.app.search

before(async () => {
  museum = await startMuseum()
  people = await seedPeople(museum.svc)
  root = people.root
  const { body } = await root.post('/tags', [{ taggroup: {}, _tags: [{ reference: 'shown' }, { reference: 'also' }] }])
  ;[tag, spare] = body[0]._tags.map((entry: Json) => entry._id)
  const grant = (more: object) => wireGrant(toGroup(people.ids.staff), 'bag_read read', more)
  pool = await createPool(root, { name: { 'en-US': 'By tag' } }, { _acl: [grant({ tagfilter: { any: [tag] } })] })
  large = await createPool(root, { name: { 'en-US': 'Large' } }, { _acl: [grant({})] })
  for (let start = 0; start < many; start += 1000) {
    const answer = await root.post(
      '/db/work',
      Array.from({ length: 1000 }, (_, n) =>
        payload('work', { ...inPool(large._id), title: { 'en-US': `Many ${many - start - n}` } }),
      ),
      { format: 'short' },
    )
    assert.equal(answer.status, 200, JSON.stringify(answer.body).slice(0, 300))
    ids.push(...answer.body.map((object: Json) => object._system_object_id))
  }
  await museum.svc.drain()
  ids = ids.sort((a, b) => a - b)
})
after(() => museum[Symbol.asyncDispose]())

const inLarge = () => ({ objecttypes: ['work'], search: [{ type: 'in', fields: ['_pool'], in: [large._id] }] })

async function collected(walk: AsyncIterable<readonly number[]>): Promise<number[]> {
  const found: number[] = []
  for await (const batch of walk) found.push(...batch)
  return found
}

test('a walk brings all that a search finds, in order and in batches, with few statements', async () => {
  let statements = 0
  const stop = onStatement((text) => {
    if (/from search_document/.test(text)) statements++
  })
  const sizes = new Set<number>()
  const found: number[] = []
  try {
    for await (const batch of walks().walk(all(), inLarge(), { batch: 700 })) {
      sizes.add(batch.length)
      found.push(...batch)
    }
  } finally {
    stop()
  }
  assert.deepEqual(found, ids)
  assert.ok([...sizes].every((size) => size <= 700))
  assert.ok(statements <= 4, `${statements} statements`)

  const sort = [{ field: 'work.title', order: 'asc' }]
  const sorted = await collected(walks().walk(all(), { ...inLarge(), sort }))
  assert.deepEqual(sorted, [...ids].reverse(), 'numbers in titles sort as numbers, and the first one has the highest')
})

test('a walk ends with its caller, and with the time of a request', async () => {
  for await (const batch of walks().walk(all(), inLarge(), { batch: 10 })) {
    assert.equal(batch.length, 10)
    break
  }
  const over = new Error('gone')
  const deadline = {
    over: null,
    left: Number.POSITIVE_INFINITY,
    check() {
      throw over
    },
    who: '',
    spend() {},
    onOver: () => () => {},
    stored() {},
  }
  await assert.rejects(collected(walks().walk(all(), inLarge(), { deadline })), over)
})

test('while objects come, change and go, those that stay are brought once each', async () => {
  const touched = ids.slice(-2000)
  const [renamed, trashed] = [touched.slice(0, 500), touched.slice(500, 520)]
  const found: number[] = []
  let created: number[] = []
  let first = true
  for await (const batch of walks().walk(all(), inLarge())) {
    found.push(...batch)
    if (!first) continue
    first = false
    const own = new Map<number, number>()
    const heads = await museum.svc.db.query<{ s: number; id: number }>(
      'select system_object_id as s, id from object where system_object_id = any($1::bigint[])',
      [touched],
    )
    for (const row of heads.rows) own.set(row.s, row.id)
    const work = (block: object) => payload('work', block)
    const results = [
      await root.patch(
        '/db/work',
        renamed.map((id) => work({ _id: own.get(id), note: 'renamed' })),
        { format: 'short' },
      ),
      await root.delete(
        '/db/work',
        trashed.map((id) => [own.get(id), 1, null]),
        { delete_policy: 'remove' },
      ),
      await root.post(
        '/db/work',
        [1, 2, 3].map((n) => work({ ...inPool(large._id), title: { 'en-US': `New ${n}` } })),
        { format: 'short' },
      ),
    ]
    for (const { status, body } of results) assert.equal(status, 200, JSON.stringify(body).slice(0, 300))
    created = results[2]?.body.map((object: Json) => object._system_object_id)
    await museum.svc.drain()
  }
  assert.deepEqual(
    found,
    [...found].sort((a, b) => a - b),
  )
  const gone = new Set(trashed)
  assert.deepEqual(
    found,
    [...ids.filter((id) => !gone.has(id)), ...created].sort((a, b) => a - b),
    'the second statement sees what came and went meanwhile',
  )
  ids = found
})

test('a walk has the rights of its actor, those of the moment', async () => {
  assert.deepEqual(await collected(walks().walk(reader(), inLarge())), ids)
  assert.deepEqual(await collected(walks().walk(asActor(people.ids.stranger, 'stranger', []), inLarge())), [])
  const found: number[] = []
  for await (const batch of walks().walk(reader(), inLarge())) {
    if (found.length === 0) {
      const answer = await root.post('/pool', [{ pool: large, _acl: [] }])
      assert.equal(answer.status, 200, JSON.stringify(answer.body))
    }
    found.push(...batch)
  }
  assert.deepEqual(found, ids.slice(0, 10_000))
})

/** What the reader is told since a moment, and up to when. */
async function told(since: number | null, request: WalkRequest = { objecttypes: ['work'] }, limit = 1000) {
  await museum.svc.drain()
  const objects: [number, boolean][] = []
  let position: { at: number; id: number } | null = null
  let until: number | null = null
  for (;;) {
    const page = await walks().changes(reader(), request, { since, until, after: position, limit })
    objects.push(...page.objects.map(({ id, there }): [number, boolean] => [id, there]))
    until = page.until
    position = page.next
    if (!position) return { objects, until, basis: page.basis }
  }
}

test('changes tell what is found now and what is gone, whatever took it away', async () => {
  const create = async (name: string, tags: number[], block: object = {}): Promise<Json> => {
    const body = payload(
      'work',
      { ...inPool(pool._id), title: { 'en-US': name }, ...block },
      { _tags: tags.map((_id) => ({ _id })) },
    )
    const answer = await root.post('/db/work', [body])
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    return answer.body[0]
  }
  const person = (await root.post('/db/person', [payload('person', { name: 'Ada' })])).body[0]
  const [a, b, linked, hidden] = [
    await create('Apple', [tag]),
    await create('Banana', [tag, spare]),
    await create('Cherry', [tag], { creator: link('person', person._system_object_id) }),
    await create('Dark', []),
  ]
  const id = (object: Json): number => object._system_object_id
  const request: WalkRequest = { objecttypes: ['work'], search: [{ type: 'in', fields: ['_pool'], in: [pool._id] }] }
  const start = await told(null, request)
  assert.deepEqual(start.objects, [
    [id(a), true],
    [id(b), true],
    [id(linked), true],
  ])
  assert.deepEqual((await told(null, request, 1)).objects, start.objects, 'page by page it is the same')

  let since = start.until
  /** What the reader is told of a step; the next one begins where it ends. */
  const step = async (what: string, act: () => Promise<Json>, expected: [number, boolean][], asked = request) => {
    // The moments of a window belong to it at both ends.
    const seen = new Set((await told(since, asked)).objects.map(([each]) => each))
    const { status, body } = await act()
    assert.equal(status, 200, `${what}: ${JSON.stringify(body)}`)
    const { objects, until } = await told(since, asked)
    const wanted = new Set(expected.map(([each]) => each))
    assert.deepEqual(
      objects.filter(([each]) => wanted.has(each) || !seen.has(each)),
      expected,
      what,
    )
    since = until
  }
  const version = async (object: Json): Promise<number> =>
    (
      await museum.svc.db.query<{ v: number }>('select version as v from object where system_object_id = $1', [
        id(object),
      ])
    ).rows[0]?.v ?? 0
  const patch = (object: Json, block: object, rest: object = {}) =>
    root.patch('/db/work', [payload('work', { _id: object.work._id, ...block }, rest)])
  const remove = async (object: Json, policy: string) =>
    root.delete('/db/work', [[object.work._id, await version(object), null]], { delete_policy: policy })

  await step('a change', () => patch(a, { note: 'changed' }), [[id(a), true]])
  await step('one that the reader cannot see', () => patch(hidden, { note: 'x' }), [])
  await step(
    'its title in others',
    () => root.patch('/db/person', [payload('person', { _id: person.person._id, name: 'Eve' })]),
    [[id(linked), true]],
  )
  await step('a tag taken off', () => patch(a, {}, { _tags: [] }), [[id(a), false]])
  await step('and given back', () => patch(a, {}, { _tags: [{ _id: tag }] }), [[id(a), true]])
  await step('the trash', () => remove(a, 'remove'), [[id(a), false]])
  await step('out of it', () => remove(a, 'undelete'), [[id(a), true]])
  await step('for ever', async () => {
    await remove(a, 'remove')
    return remove(a, 'purge')
  }, [[id(a), false]])
  await step('now for the reader', () => patch(hidden, {}, { _tags: [{ _id: tag }] }), [[id(hidden), true]])
  // A tag that is given up changes objects without a version of theirs.
  const spares: WalkRequest = { objecttypes: ['work'], search: [{ type: 'in', fields: ['_tags._id'], in: [spare] }] }
  since = (await told(since, spares)).until
  const removeTag = async () => {
    const groups: Json[] = (await root.get('/tags')).body
    const left = groups.map((group) => ({ ...group, _tags: group._tags.filter((each: Json) => each._id !== spare) }))
    return root.post('/tags', left, { delete_policy: 'remove_tags' })
  }
  await step('the tag itself', removeTag, [[id(b), false]], spares)
  since = (await told(since)).until
  const cherries = { objecttypes: ['work'], search: [{ type: 'match', fields: ['work.title'], string: 'cherry' }] }
  since = (await told(since, cherries)).until
  await step(
    'no longer what is searched',
    () => patch(linked, { title: { 'en-US': 'Damson' } }),
    [[id(linked), false]],
    cherries,
  )

  const { basis } = await told(since)
  assert.equal((await told(since)).basis, basis)
  const answer = await root.post('/pool', [{ pool, _acl: [] }])
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  assert.notEqual((await told(since)).basis, basis, 'other rights on pools: what was seen is to be seen anew')
})

/** Looks into tables of PostgreSQL. */
const inPostgres = { skip: process.env.TEST_SEARCH_INDEX !== undefined }

test('who could see an object is kept as long as somebody has to hear that it is gone', inPostgres, async () => {
  const { db } = museum.svc
  const start = (await told(null)).until
  const last = ids.at(-1) ?? 0
  const move = async (to: number) => {
    const block = { _objecttype: 'work', _mask: '_all_fields', _system_object_id: last, work: inPool(to) }
    const { status, body } = await root.patch('/db/work', [block])
    assert.equal(status, 200, JSON.stringify(body))
    await museum.svc.drain()
    return (await db.query('select from search_tombstone where id = $1', [last])).rowCount
  }
  assert.equal(await move(pool._id), 1)
  for (const to of [large, pool]) {
    assert.equal(await move(to._id), 1, 'it has left the other place, and is back in this one')
  }
  const { until, basis } = await told(start)
  assert.equal((await told(until)).basis, basis)
  const [young, old] = [89, 91].map((days) => `now() - interval '${days} days'`)
  await db.query(`update search_tombstone set until = case when id = $1 then ${young} else ${old} end`, [last])
  // A process that has not looked after it within the hour.
  await using other = await attachService(museum.svc.dsn)
  await other.as('root').post('/db/person', [payload('person', { name: 'New' })])
  await other.drain()
  const { rows } = await db.query<{ id: number }>('select distinct id from search_tombstone')
  assert.deepEqual(rows, [{ id: last }])
  const days = (count: number): number => (Date.now() - count * 86_400_000) * 1000
  assert.equal((await told(days(90))).basis, basis)
  assert.notEqual((await told(days(92))).basis, basis, 'what was seen before is to be seen anew')
  assert.equal((await told(null)).basis, basis)
})
