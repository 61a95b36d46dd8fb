import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type People, seedPeople, toUser, wireGrant } from '../rights/people.ts'
import type { Client, Json } from '../support/client.ts'
import { attachService, type TestService } from '../support/service.ts'
import { link, type Scene, startScene } from './read-scene.ts'

/**
 * Answers to reads of one object, and hits of searches, are kept in memory. Whatever changes, the next read must be what a
 * list says at the same moment, which is never kept; on the node where it changed and on another one.
 */
let scene: Scene
let people: People
let other: TestService
let work: number
let creator: number
before(async () => {
  scene = await startScene()
  people = await seedPeople(scene.svc)
  other = await attachService(scene.svc.dsn)
  const reading = wireGrant(toUser(people.ids.reader), 'read')
  const pool = await poolBlock()
  await saved('/pool', [{ pool: { _id: pool._id, _version: pool._version }, _acl: [reading] }])
  await grantOn('person', [reading])
  await saved('/tags', [
    {
      _basetype: 'taggroup',
      taggroup: { displayname: { 'en-US': 'State' }, type: 'checkbox' },
      _tags: [{ displayname: { 'en-US': 'Seen' }, enabled: true }],
    },
  ])
  creator = await scene.add('person', { name: 'Turner' })
  work = await scene.add(
    'work',
    { title: { 'en-US': 'Storm' }, creator: link('person', creator) },
    { _tags: [{ _id: (await tag())._id }], _owner: toUser(people.ids.editor) },
  )
  await scene.svc.drain()
})
after(async () => {
  await other[Symbol.asyncDispose]()
  await scene[Symbol.asyncDispose]()
})

async function saved(path: string, body: object): Promise<Json> {
  const answer = await people.root.post(path, body)
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body
}

const poolBlock = async (): Promise<Json> =>
  (await people.root.get('/pool')).body.find((entry: Json) => entry.pool._id === scene.pool).pool

const tags = async (): Promise<Json> => (await people.root.get('/tags')).body

const tag = async (): Promise<Json> => (await tags())[0]._tags[0]

async function grantOn(objecttype: string, acl: object[]): Promise<void> {
  const types = (await people.root.get('/objecttype')).body
  const { _id, _version } = types.find((entry: Json) => entry.objecttype.name === objecttype).objecttype
  await saved('/objecttype', [{ _basetype: 'objecttype', objecttype: { _id, _version: _version + 1 }, _acl: acl }])
}

async function changeObject(objecttype: string, id: number, change: (object: Json) => Json): Promise<void> {
  const object = await scene.read(objecttype, id, { format: 'long' })
  await scene.save(objecttype, [change(object)])
}

type Seen = readonly [byId: Json, fromList: Json]

/** The work for one caller: by its id, and in the list of all. */
async function seen(client: Client, format: string): Promise<Seen> {
  const byId = await client.get(`/db/work/work__standard/system_object_id/${work}`, { format })
  assert.equal(byId.status, 200)
  return [byId.body[0] ?? null, await listed(client, 'work__standard', format)]
}

async function listed(client: Client, mask: string, format: string): Promise<Json> {
  const list = await client.get(`/db/work/${mask}/list`, { format })
  assert.equal(list.status, 200)
  return list.body.find((object: Json) => object._system_object_id === work) ?? null
}

/** The same as a hit, with the best mask of the caller, on a page with what it links to. */
async function seenAsHit(client: Client, format: string): Promise<Seen> {
  const search = [{ type: 'in', fields: ['_system_object_id'], in: [work, creator] }]
  const { status, body } = await client.post('/search', { search, format })
  assert.equal(status, 200, JSON.stringify(body))
  const hit = body.objects.find((object: Json) => object._system_object_id === work)
  if (!hit) return [null, await listed(client, 'work__standard', format)]
  const { _sort, ...shown } = hit
  assert.deepEqual(_sort, [work])
  return [shown, await listed(client, hit._mask, format)]
}

async function everywhere(): Promise<Json[]> {
  const found: Json[] = []
  for (const svc of [scene.svc, other]) {
    for (const login of ['root', 'reader']) {
      // The first look after a change is that of a hit: reads of one object would bring it into memory anew.
      for (const format of ['standard', 'short', 'standard_extended', 'long']) {
        for (const look of [seenAsHit, seen]) {
          const [one, fromList] = await look(svc.as(login), format)
          const where = `${svc === other ? 'other node' : 'this node'}, ${login}, ${format}, ${look.name}`
          assert.deepEqual(one, fromList, where)
          found.push(one)
        }
      }
    }
  }
  return found
}

const changes: readonly (readonly [what: string, change: () => Promise<unknown>])[] = [
  [
    'the object',
    () => changeObject('work', work, (object) => ({ ...object, work: { ...object.work, title: { 'en-US': 'Sea' } } })),
  ],
  [
    'what it links to',
    () => changeObject('person', creator, (object) => ({ ...object, person: { ...object.person, name: 'Constable' } })),
  ],
  [
    'the name of its pool',
    async () => {
      const pool = await poolBlock()
      await saved('/pool', [{ pool: { ...pool, name: { 'en-US': 'Vault' } } }])
    },
  ],
  [
    'the name of its tag',
    async () => {
      const [group] = await tags()
      group._tags[0].displayname = { 'en-US': 'Noticed' }
      await saved('/tags', [group])
    },
  ],
  [
    'the name of its owner',
    async () => {
      const [record] = (await people.root.get(`/user/${people.ids.editor}`)).body
      await saved('/user', [{ user: { ...record.user, first_name: 'Ed', last_name: 'Itor' } }])
    },
  ],
  ['something below it', () => scene.add('loan', { borrower: 'Paris', work: link('work', work) })],
  ['the rights on what it links to', () => grantOn('person', [])],
  ['the name of its type', renameType],
  [
    'the rights on its pool',
    async () => {
      const { _id, _version } = await poolBlock()
      await saved('/pool', [{ pool: { _id, _version }, _acl: [] }])
    },
  ],
]

async function renameType(): Promise<void> {
  const l10n = (await people.root.get('/l10n/user/HEAD')).body
  await saved('/l10n/user/HEAD', { ...l10n, 'schema.work.name': { 'en-US': 'Painting' } })
  await saved('/schema/commit', {})
}

for (const [what, change] of changes) {
  test(`a read is never out of date: ${what}`, async () => {
    await everywhere()
    const before = await everywhere()
    await change()
    await scene.svc.drain()
    // Other nodes hear of what they keep in memory a moment later.
    const deadline = Date.now() + 60_000
    for (;;) {
      try {
        const now = await everywhere()
        assert.notDeepEqual(now, before)
        return
      } catch (error) {
        if (Date.now() > deadline) throw error
        await sleep(20)
      }
    }
  })
}

test('a read is never out of date: a grant that ends', async () => {
  await grantOn('loan', [wireGrant(toUser(people.ids.stranger), 'read')])
  const ends = Date.now() + 3000
  const when = { to: new Date(ends).toISOString() }
  const lent = await scene.add(
    'work',
    { title: { 'en-US': 'Lent' } },
    { _acl: [wireGrant(toUser(people.ids.stranger), 'read', { when })] },
  )
  const loan = await scene.add('loan', { borrower: 'Rome', work: link('work', lent) })
  const linked = async (): Promise<Json> => {
    const path = `/db/loan/loan__standard/system_object_id/${loan}`
    const { body } = await scene.svc.as('stranger').get(path, { format: 'standard' })
    return body[0].loan.work
  }
  assert.equal((await linked())._not_allowed, undefined)
  assert.equal((await linked())._not_allowed, undefined)
  await sleep(ends - Date.now() + 50)
  assert.equal((await linked())._not_allowed, true)
})

test('what is kept is whole each time that it is sent, and memory that was given back is nobody else’s', async () => {
  const works = Array.from({ length: 12 }, (_, index) => ({
    _objecttype: 'work',
    _mask: '_all_fields',
    work: { _pool: { pool: { _id: scene.pool } }, title: { 'en-US': `${index} ${'Wide sea – '.repeat(4000)}` } },
  }))
  const stored = await scene.save('work', works)
  const ids = stored.map((object: Json) => object._system_object_id)
  await scene.svc.drain()
  const root = scene.svc.as('root')
  const page = async (): Promise<Json> => {
    const search = [{ type: 'in', fields: ['_system_object_id'], in: ids }]
    const { status, body } = await root.post('/search', { search, format: 'standard', limit: 100 })
    assert.equal(status, 200)
    return body.objects.map((object: Json) => object.work.title['en-US'])
  }
  const one = async (index: number): Promise<Json> =>
    (await scene.read('work', ids[index], { format: 'standard' }, 'work__standard')).work.title['en-US']
  const titles = works.map(({ work }) => work.title['en-US'])
  for (let round = 0; round < 4; round++) {
    const [first, second, third, fourth] = await Promise.all([page(), one(7), page(), one(7)])
    assert.deepEqual(first.toSorted(), titles.toSorted())
    assert.deepEqual(third, first)
    assert.deepEqual([second, fourth], [titles[7], titles[7]])
  }
})
