import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createPool } from '../pools/support.ts'
import { type People, seedPeople, toGroup, wireGrant } from '../rights/people.ts'
import type { Answer, Client, Json } from '../support/client.ts'
import { inPool, type Museum, payload, startMuseum } from '../support/seed/museum.ts'
import { attachService, type TestService } from '../support/service.ts'
import { until } from '../support/until.ts'

/** More than two stored parts have. */
const many = 2100

let museum: Museum
let people: People
let root: Client
let second: TestService
let pool: Json
let shown: number
/** By title, which is the other way round than by id. */
let works: number[] = []

const title = (text: string) => ({ title: { 'en-US': text } })
const byTitle = () => ({
  objecttypes: ['work'],
  search: [{ type: 'in', fields: ['_pool'], in: [pool._id] }],
  sort: [{ field: 'work.title' }],
  format: 'short',
})

async function save(blocks: readonly object[], rest: object = {}): Promise<number[]> {
  const body = blocks.map((block) => payload('work', { ...inPool(pool._id), ...block }, rest))
  const answer = await root.post('/db/work', body, { format: 'short' })
  assert.equal(answer.status, 200, JSON.stringify(answer.body).slice(0, 300))
  return answer.body.map((object: Json) => object._system_object_id)
}

async function remove(ids: readonly number[]): Promise<void> {
  const found = await root.post('/search', {
    search: [{ type: 'in', fields: ['_system_object_id'], in: ids }],
    format: 'short',
  })
  const body = found.body.objects.map(({ work }: Json) => [work._id, work._version, null])
  assert.equal((await root.delete('/db/work', body, { delete_policy: 'remove' })).status, 200)
}

const idsOf = ({ status, body }: Answer): number[] => {
  assert.equal(status, 200, JSON.stringify(body))
  return body.objects.map((object: Json) => object._system_object_id)
}

async function ends(client: Client, ...pit_id: string[]): Promise<void> {
  const answer = await client.delete('/search/point_in_time', { pit_id })
  assert.deepEqual([answer.status, answer.body], [200, { status: { acknowledged: 'ok' } }])
}

async function opened(client: Client, request: object, point: object = {}): Promise<Answer> {
  const answer = await client.post('/search', { ...request, point_in_time: point })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer
}

before(async () => {
  museum = await startMuseum()
  second = await attachService(museum.svc.dsn)
  people = await seedPeople(museum.svc)
  root = people.root
  const tags = await root.post('/tags', [{ taggroup: {}, _tags: [{ reference: 'shown' }] }])
  shown = tags.body[0]._tags[0]._id
  const grant = wireGrant(toGroup(people.ids.staff), 'bag_read read', { tagfilter: { any: [shown] } })
  pool = await createPool(root, { name: { 'en-US': 'Pages' } }, { _acl: [grant] })
  for (let start = 0; start < many; start += 700) {
    const numbers = Array.from({ length: 700 }, (_, n) => many - start - n)
    const tagged = { _tags: [{ _id: shown }] }
    works.push(
      ...(await save(
        numbers.map((n) => ({ ...title(`Page ${n}`), inventory: `P${n}` })),
        tagged,
      )),
    )
  }
  works = works.reverse()
  await museum.svc.drain()
})
after(async () => {
  await second[Symbol.asyncDispose]()
  await museum[Symbol.asyncDispose]()
})

test('SR-017 a point in time {id, keep_alive} keeps pages as they were, for all processes, while others write', async () => {
  const clients = [root, second.as('root')]
  const request = { ...byTitle(), limit: 150 }
  const first = await opened(root, request, { keep_alive: '5m' })
  const { id } = first.body.point_in_time
  assert.deepEqual(first.body.point_in_time, { id, keep_alive: '5m' })
  const pages = [idsOf(first)]
  const gone: number[] = []
  for (let offset = 150; offset < many; offset += 150) {
    // Before the page that is next come new ones, one of it goes, and one of the last page is renamed to the front.
    const [added] = await save([title(`Page 0 ${offset}`)])
    gone.push(works[offset + 3] as number)
    await remove(gone.slice(-1))
    await museum.svc.drain()
    const client = clients[(offset / 150) % 2] as Client
    const page = await client.post('/search', { ...request, offset, point_in_time: { id } })
    assert.deepEqual([page.body.count, page.body.point_in_time], [many, { id, keep_alive: '5m' }])
    pages.push(idsOf(page))
    await remove([added as number])
  }
  assert.deepEqual(
    pages.flat(),
    works.filter((each) => !gone.includes(each)),
  )
  // Where a page begins behind a hit its place then counts, whatever it has become.
  const [last] = (await root.post('/search', { ...request, offset: 1000, limit: 1, point_in_time: { id } })).body
    .objects
  const behind = { ...request, limit: 5, search_after: last._sort, point_in_time: { id } }
  assert.deepEqual(idsOf(await second.as('root').post('/search', behind)), works.slice(1001, 1006))
  const across = await root.post('/search', { ...request, offset: 995, limit: 10, point_in_time: { id } })
  assert.deepEqual(idsOf(across), works.slice(995, 1005))
  assert.deepEqual(idsOf(await root.post('/search', { ...request, offset: many, point_in_time: { id } })), [])
  assert.deepEqual(idsOf(await root.post('/search', { ...request, offset: 2 ** 52, point_in_time: { id } })), [])
  const nowhere = await root.post('/search', {
    ...request,
    search_after: [...last._sort.slice(0, -1), 2 ** 50],
    point_in_time: { id },
  })
  assert.deepEqual([nowhere.status, nowhere.body.parameters.name], [400, 'search_after'])
  // Between requests nothing of it is open in the database: what is, is work in the background, and ends.
  await until(async () => {
    const { rows } = await museum.svc.db.query(
      `select from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'`,
    )
    return rows.length === 0
  }, 10)
  await ends(root, id)
  works = works.filter((each) => !gone.includes(each))
})

test('a hit is shown as it is when its page is asked for, and left out where the caller lost it', async () => {
  const request = { ...byTitle(), limit: 4 }
  const { body } = await opened(people.reader, { ...request, limit: 0 })
  const { id } = body.point_in_time
  assert.equal(body.count, works.length)
  const page = { ...request, point_in_time: { id } }
  const before = await people.reader.post('/search', page)
  assert.deepEqual(idsOf(before), works.slice(0, 4))
  const [, lost, renamed] = before.body.objects
  const untagged = { _objecttype: 'work', _mask: '_all_fields', _tags: [], work: lost.work }
  const shownAs = { ...renamed.work, _version: renamed.work._version, ...title('Zzz') }
  const stored = (await root.get(`/db/work/_all_fields/${renamed.work._id}`)).body[0]
  const change = await root.post('/db/work', [
    { ...untagged, work: { _id: lost.work._id, _version: lost.work._version }, '_tags:group_mode': 'tag_replace' },
    { _objecttype: 'work', _mask: '_all_fields', work: { ...stored.work, ...shownAs } },
  ])
  assert.equal(change.status, 200, JSON.stringify(change.body))
  await museum.svc.drain()
  const since = await people.reader.post('/search', { ...page, format: 'long' })
  assert.deepEqual(idsOf(since), [works[0], works[2], works[3]])
  assert.equal(since.body.count, works.length)
  assert.deepEqual(since.body.objects[1].work.title, title('Zzz').title)
  await ends(people.reader, id)
})

test('hits by relevance carry their scores; aggregations come with the request that opens', async () => {
  const request = { objecttypes: ['work'], search: [{ type: 'text', string: 'page' }], limit: 2, format: 'short' }
  const aggregations = { types: { type: 'term', field: '_objecttype' } }
  const first = await opened(root, { ...request, aggregations })
  const { id } = first.body.point_in_time
  assert.equal(first.body.aggregations.types.terms[0].count, first.body.count)
  const next = await root.post('/search', { ...request, offset: 2, point_in_time: { id } })
  assert.equal(idsOf(next).length, 2)
  for (const { _score } of next.body.objects) assert.ok(_score > 0)
  const refused = await root.post('/search', { ...request, aggregations, point_in_time: { id } })
  assert.deepEqual([refused.status, refused.body.parameters.name], [400, 'aggregations'])
  await ends(root, id)
})

test('SEARCH-012 SEARCH-013 a point ends with its id in the body of DELETE, or after its keep_alive', async () => {
  const request = { ...byTitle(), limit: 1 }
  const point = async (keep_alive?: string): Promise<string> =>
    (await opened(root, request, { keep_alive })).body.point_in_time.id
  const use = (id: string, more: object = {}) => root.post('/search', { ...request, point_in_time: { id, ...more } })
  const [one, two, kept, brief] = [await point(), await point(), await point('1h'), await point('1s')]
  // Of others, and unknown ones, nothing is said.
  await ends(people.stranger, one)
  assert.equal((await use(one)).status, 200)
  await ends(root, one, two, 'nonsense', '00000000-0000-0000-0000-000000000000', `${kept}'`, `{${kept}}`)
  const left = async () =>
    (await museum.svc.db.query<{ id: string }>('select id from search_point where ends_at > now()')).rows.map(
      ({ id }) => id,
    )
  while ((await left()).includes(brief)) await sleep(50)
  for (const id of [one, two, brief]) {
    const answer = await use(id)
    assert.deepEqual(
      [answer.status, answer.body.code, answer.body.parameters],
      [400, 'ServerGeneric', { name: 'point_in_time.id', id }],
    )
  }
  assert.deepEqual((await use(kept)).body.point_in_time, { id: kept, keep_alive: '1h' })
  for (const body of [{}, { pit_id: kept }, { pit_id: [1, {}] }, [kept], { pit_id: Array(1001).fill(kept) }]) {
    assert.equal((await root.delete('/search/point_in_time', body)).status, 400, JSON.stringify(body).slice(0, 50))
  }
  assert.deepEqual(await left(), [kept])
  await museum.svc.app.tidy(new Date())
  assert.deepEqual((await museum.svc.db.query('select id from search_point')).rows, [{ id: kept }])
  assert.equal((await museum.svc.db.query('select from search_point_part where point_id <> $1', [kept])).rowCount, 0)
  await ends(root, kept)
})

test('each use begins the life of a point anew; nothing said is a minute, an hour is the most', async () => {
  const request = { ...byTitle(), limit: 1 }
  const seconds = async (id: string): Promise<number> => {
    const { rows } = await museum.svc.db.query<{ left: number }>(
      'select round(extract(epoch from ends_at - now()) / 20)::int * 20 as left from search_point where id = $1',
      [id],
    )
    return rows[0]?.left ?? 0
  }
  const first = await root.post('/search', { ...request, point_in_time: { id: '' } })
  const { id } = first.body.point_in_time
  assert.equal(first.body.point_in_time.keep_alive, '1m')
  assert.equal(await seconds(id), 60)
  const use = (keep_alive?: string | null) => root.post('/search', { ...request, point_in_time: { id, keep_alive } })
  assert.equal((await use('20m')).body.point_in_time.keep_alive, '20m')
  assert.equal(await seconds(id), 1200)
  await museum.svc.db.query(`update search_point set ends_at = now() + interval '40 seconds'`)
  for (const unsaid of [undefined, null, '']) assert.equal((await use(unsaid)).body.point_in_time.keep_alive, '20m')
  assert.equal(await seconds(id), 1200)
  for (const wrong of ['61m', '2h', '3601s', '0s', '-1m', '1', 'm', '1d', '1.5m', '١m', '99999h', '1m ', 5, [], true]) {
    for (const point of [{ id, keep_alive: wrong }, { keep_alive: wrong }]) {
      const answer = await root.post('/search', { ...request, point_in_time: point })
      assert.deepEqual([answer.status, answer.body.code], [400, 'ServerGeneric'], JSON.stringify(point))
    }
  }
  assert.equal(await seconds(id), 1200)
  await ends(root, id)
})

test('a point is of one user and one search; of a wrong request nothing is kept', async () => {
  const request = { ...byTitle(), limit: 1 }
  const { id } = (await opened(root, request)).body.point_in_time
  const refused = async (client: Client, sent: object, name: string): Promise<void> => {
    const answer = await client.post('/search', sent)
    assert.deepEqual([answer.status, answer.body.code], [400, 'ServerGeneric'], JSON.stringify(answer.body))
    assert.equal(answer.body.parameters.name, name)
  }
  const point_in_time = { id }
  await refused(people.reader, { ...request, point_in_time }, 'point_in_time.id')
  const others = [
    { search: [] },
    { objecttypes: ['person'] },
    { sort: [{ field: 'work.title', order: 'desc' }] },
    { languages: ['de-DE'] },
    { timezone: 'Europe/Berlin' },
    { include_deleted: true },
  ]
  for (const other of others) await refused(root, { ...request, ...other, point_in_time }, 'point_in_time.id')
  for (const wrong of ['x', `${id}0`, "' or true", '\u0000', 'ä'.repeat(5000)]) {
    await refused(root, { ...request, point_in_time: { id: wrong } }, 'point_in_time.id')
  }
  await refused(root, { ...request, point_in_time: { keep_aliv: '1m' } }, 'point_in_time.keep_aliv')
  for (const wrong of [{ id: 5 }, 'x', [], 5]) {
    assert.equal((await root.post('/search', { ...request, point_in_time: wrong })).status, 400, JSON.stringify(wrong))
  }
  // How hits are shown may differ from page to page.
  const more = { limit: 7, offset: 2, format: 'long', generate_rights: true, timezone: '', include_deleted: false }
  assert.deepEqual(idsOf(await root.post('/search', { ...request, ...more, point_in_time })).length, 7)
  assert.equal((await root.post('/search', { ...request, point_in_time: null })).body.point_in_time, undefined)
  await ends(root, id)
  assert.equal((await museum.svc.db.query('select from search_point where ends_at > now()')).rowCount, 0)
  const failing = await root.post('/search', {
    search: [{ type: 'in', fields: ['no.such'], in: [1] }],
    point_in_time: {},
  })
  assert.equal(failing.status, 400)
  assert.equal((await museum.svc.db.query('select from search_point where ends_at > now()')).rowCount, 0)
})

test('a user has so many points over all processes, all together so many, and each so many hits', async () => {
  const quotas = { quotaPointsInTime: 3, quotaAllPointsInTime: 5, quotaPointInTimeHits: 1000 }
  await using one = await attachService(museum.svc.dsn, quotas)
  await using other = await attachService(museum.svc.dsn, quotas)
  const few = { objecttypes: ['work'], search: [{ type: 'text', string: 'Page 7', phrase: true }], limit: 1 }
  const open = (svc: TestService, login: string) =>
    svc.as(login).post('/search', { ...few, point_in_time: { keep_alive: '1h' } })
  const large = await one.as('root').post('/search', { ...byTitle(), point_in_time: {} })
  assert.deepEqual(
    [large.status, large.body.code, large.body.parameters],
    [400, 'SearchTooCostly', { name: 'point_in_time', most: 1000 }],
  )
  const all = await Promise.all(Array.from({ length: 8 }, (_, n) => open(n % 2 === 0 ? one : other, 'root')))
  assert.equal(all.filter(({ status }) => status === 200).length, 3)
  const refused = all.filter(({ status }) => status === 429)
  assert.equal(refused.length, 5)
  const { quota, most, retry_after } = refused[0]?.body.parameters ?? {}
  assert.deepEqual([refused[0]?.body.code, quota, most], ['QuotaExceeded', 'svc.quotas.pointsInTime', 3])
  assert.equal(refused[0]?.headers['retry-after'], String(retry_after))
  const readers = [await open(one, 'reader'), await open(other, 'reader'), await open(one, 'reader')]
  assert.deepEqual(
    readers.map(({ status }) => status),
    [200, 200, 429],
  )
  assert.equal(readers[2]?.body.parameters.quota, 'svc.quotas.allPointsInTime')
  await ends(root, ...all.flatMap(({ body }) => body.point_in_time?.id ?? []))
  assert.equal((await open(one, 'root')).status, 200)
  // Those that have ended count no more, and go when the next one is opened.
  await museum.svc.db.query(`update search_point set ends_at = now() - interval '1 second'`)
  assert.equal((await open(other, 'root')).status, 200)
  assert.equal((await museum.svc.db.query('select from search_point')).rowCount, 1)
  await museum.svc.db.query('delete from search_point')
})

test('what a process has opened is served when that has ended', async () => {
  const request = { ...byTitle(), limit: 3 }
  const short = await attachService(museum.svc.dsn)
  const { id } = (await opened(short.as('root'), request)).body.point_in_time
  await short[Symbol.asyncDispose]()
  const hits = idsOf(await root.post('/search', { ...request, offset: 1000, point_in_time: { id } }))
  assert.equal(hits.length, 3)
  await ends(root, id)
})
