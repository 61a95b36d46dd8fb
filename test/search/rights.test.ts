import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { cacheSizes } from '../../src/platform/memory/byte-cache.ts'
import type { Db } from '../../src/platform/postgres/db.ts'
import { expressionNode } from '../../src/search/postgres/query/access/access.ts'
import { tsquery } from '../../src/search/postgres/query/sql/tsquery.ts'
import { createPool } from '../pools/support.ts'
import { type People, seedPeople, seedTag, toGroup, toUser, wireGrant } from '../rights/people.ts'
import type { Client, Json } from '../support/client.ts'
import { otherSearchIndex } from '../support/search-index.ts'
import { inPool, link, type Museum, payload, startMuseum } from '../support/seed/museum.ts'
import { until } from '../support/until.ts'

let museum: Museum
let people: People
let tag: number
before(async () => {
  // One test holds two batches and a job beside each other, and asks what they wait for.
  museum = await startMuseum({ dbMaxConnections: 12 })
  people = await seedPeople(museum.svc)
  tag = await seedTag(people.root)
})
after(() => museum[Symbol.asyncDispose]())

let last = 0

async function work(pool: number, rest: object = {}): Promise<string> {
  const inventory = `R${++last}`
  const answer = await people.root.post('/db/work', [payload('work', { ...inPool(pool), inventory }, rest)], {
    await_index: 20,
  })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return inventory
}

async function found(client: Client, request: object = {}): Promise<string[]> {
  const { status, body } = await client.post('/search', {
    objecttypes: ['work'],
    sort: [{ field: 'work.inventory' }],
    ...request,
  })
  assert.equal(status, 200, JSON.stringify(body))
  assert.equal(body.count, body.objects.length, 'what is counted is what is shown')
  return body.objects.map((object: Json) => object.work.inventory)
}

test('SEARCH-001 callers find what pools, tags, owners and the objects themselves let them read', async () => {
  const open = await createPool(people.root, {}, { _acl: [wireGrant(toGroup(people.ids.staff), 'read')] })
  const inner = await createPool(people.root, { _id_parent: open._id })
  const secret = await createPool(people.root, { _id_parent: open._id }, { _private_acl: true })
  const tagged = await createPool(
    people.root,
    {},
    { _acl: [wireGrant(toUser(people.ids.stranger), 'read', { tagfilter: { all: [tag] } })] },
  )
  const grant = { _acl: [wireGrant(toUser(people.ids.stranger), 'read')] }
  const [a, b] = [await work(open._id), await work(inner._id)]
  const hidden = await work(secret._id)
  const shared = await work(secret._id, grant)
  const marked = await work(tagged._id, { _tags: [{ _id: tag }] })
  const unmarked = await work(tagged._id)
  const own = await work(secret._id, { _owner: toUser(people.ids.reader) })
  assert.deepEqual(await found(people.root), [a, b, hidden, shared, marked, unmarked, own])
  assert.deepEqual(await found(people.reader), [a, b, own])
  assert.deepEqual(await found(people.stranger), [shared, marked])
})

test('facets and numbers count only what the caller may read', async () => {
  const counts = async (client: Client) => {
    const { body } = await client.post('/search', {
      objecttypes: ['work'],
      limit: 0,
      aggregations: {
        pool: { type: 'linked_object', field: '_pool', limit: 100 },
        type: { type: 'term', field: '_objecttype' },
      },
    })
    return [body.count, body.aggregations.type.terms[0]?.count ?? 0]
  }
  assert.deepEqual(await counts(people.root), [7, 7])
  assert.deepEqual(await counts(people.reader), [3, 3])
  assert.deepEqual(await counts(people.stranger), [2, 2])
})

test('callers find the same before their sets are known, when they are, and when sets are new or not known', async () => {
  const { db } = museum.svc
  const pool = await createPool(people.root, {}, { _acl: [wireGrant(toGroup(people.ids.staff), 'read')] })
  const closed = await createPool(people.root, {})
  // Whose rights nobody has asked for yet.
  const [seen, hidden] = [await work(pool._id), await work(closed._id)]
  const among = async (list: string[], request: object = {}) =>
    (await found(people.reader, request)).filter((each) => list.includes(each))
  assert.deepEqual(await among([seen, hidden]), [seen])
  await museum.svc.drain()
  assert.deepEqual(await among([seen, hidden], { limit: 500 }), [seen])
  const sets = async () =>
    (
      await db.query<{ set: number }>('select unnest(array[access_set, people_set]) as set from search_document')
    ).rows.map(({ set }) => set)
  assert.ok(!(await sets()).includes(0), 'each document has a number')
  // Sets that came later than what is known.
  const [fresh, freshHidden] = [
    await work(pool._id, { _tags: [{ _id: tag }] }),
    await work(closed._id, { _tags: [{ _id: tag }] }),
  ]
  assert.deepEqual(await among([seen, hidden, fresh, freshHidden], { limit: 501 }), [seen, fresh])
  await db.query('update search_document set access_set = 0, people_set = 0')
  assert.deepEqual(await among([seen, hidden, fresh, freshHidden], { limit: 502 }), [seen, fresh])
  const { rows } = await db.query<{ same: boolean }>(
    `select bool_and(exists (select from search_access_set s, search_people_set p
         where array_to_tsvector(array(select l from unnest(tsvector_to_array(s.access)) l where l not like '\\_f%')) || p.access = d.access
       )) as same
     from search_document d`,
  )
  assert.deepEqual(rows, [{ same: true }])
})

test('documents that a former release has left are found by those who may read them, by whom they name too', async () => {
  const { db } = museum.svc
  const closed = await createPool(people.root, {})
  const owner = { user: { _id: people.ids.stranger } }
  const granted = await work(closed._id, { _acl: [wireGrant(owner, 'read')] })
  const owned = await work(closed._id, { _owner: owner })
  const callers = [people.reader, people.stranger]
  const expected = await Promise.all(callers.map((caller) => found(caller, { limit: 505 })))
  for (const id of [granted, owned]) {
    assert.ok(expected[1]?.includes(id))
    assert.ok(!expected[0]?.includes(id))
  }
  const { rows: sets } = await db.query<{ shared: number; people: number }>(
    `select count(distinct access_set)::int as shared, count(distinct people_set)::int as people
     from search_document where access @@ $1::tsquery`,
    [`'_p${closed._id}'`],
  )
  assert.deepEqual(sets, [{ shared: 1, people: 2 }], 'whom objects name makes no more sets of what they share')
  // The sets of the former release said what is said of people, and none said that by itself.
  await db.query(
    `with former as (
       insert into search_access_set (key, access) select gen_random_uuid(), access from (select distinct access from search_document) a
       returning id, access
     )
     update search_document d set access_set = f.id, people_set = 0 from former f where f.access = d.access`,
  )
  for (const limit of [506, 507]) {
    assert.deepEqual(await Promise.all(callers.map((caller) => found(caller, { limit }))), expected)
    await museum.svc.drain()
  }
})

test('sets that no document has any more are removed, also beside batches that were made with them', async (t) => {
  if (await otherSearchIndex()) return t.skip('about PostgreSQL')
  const { db } = museum.svc
  const pool = await createPool(people.root, {}, { _acl: [wireGrant(toGroup(people.ids.staff), 'read')] })
  const [used, again] = [await person('Artemisia'), await person('Sofonisba')]
  let version = 0
  let object: Json = {}
  async function save(creator: number, tags: readonly number[], wait = true): Promise<void> {
    const block = { ...inPool(pool._id), ...(version > 0 ? { _id: object.work._id } : {}), inventory: 'SET1' }
    const whole = { ...block, _version: Math.max(1, version++), creator: link('person', creator) }
    const rest = { _tags: tags.map((_id) => ({ _id })) }
    const answer = await people.root.post('/db/work', [payload('work', whole, rest)], wait ? { await_index: 20 } : {})
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    object = answer.body[0]
  }
  const creators = async (): Promise<unknown> => {
    const { status, body } = await people.reader.post('/search', {
      objecttypes: ['work'],
      search: [{ type: 'in', fields: ['work.inventory'], in: ['SET1'] }],
      aggregations: { creator: { type: 'linked_object', field: 'work.creator' } },
    })
    assert.equal(status, 200, JSON.stringify(body))
    return body.aggregations.creator.linked_objects.map((each: Json) => [each._system_object_id, each.count])
  }
  /** Number of the set of those creators. */
  const numberOf = async (creator: number): Promise<number | undefined> => {
    const { rows } = await db.query<{ id: number }>(
      `select id from search_facet_set where ids = $1 and field not like '\\_%'`,
      [[creator]],
    )
    return rows[0]?.id
  }
  const accessSets = async () => (await db.query('select from search_access_set')).rowCount
  /** Nothing has a number that is not there. */
  async function assertWhole(): Promise<void> {
    const { rowCount } = await db.query(
      `select from search_document d where access_set <> 0 and access_set not in (select id from search_access_set)
         or people_set <> 0 and people_set not in (select id from search_people_set)
         or exists (select from unnest(facets) f where f is not null and f not in (select id from search_facet_set))`,
    )
    assert.equal(rowCount, 0)
  }
  const letPrune = () => db.query('update search_state set sets_pruned_at = null')
  const prune = () => db.query(`select from graphile_worker.add_job('search.prune-sets')`)
  /** Somebody waits for a row lock with such a statement. */
  const waiting = (statement: string) =>
    until(async () => {
      const { rowCount } = await db.query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like $1`,
        [`${statement}%`],
      )
      return rowCount > 0
    })

  // The process knows the sets of both creators, with the tag and without.
  await save(again, [])
  await save(used, [tag])
  const [first, before] = [await numberOf(again), await accessSets()]
  await prune()
  await museum.svc.drain()
  assert.equal(await numberOf(again), undefined)
  assert.ok(await numberOf(used))
  assert.ok((await accessSets()) < before)
  await assertWhole()
  await save(again, [])
  assert.deepEqual(await creators(), [[again, 1]])
  await save(used, [tag])
  assert.deepEqual(await creators(), [[used, 1]])
  const second = (await numberOf(again)) as number
  assert.ok(first && second > first, 'a number is given once')
  await assertWhole()

  // A batch is being written with a set that is found to be unused meanwhile.
  await letPrune()
  await using batch = await beginBatch(db)
  await prune()
  await waiting('update search_state set set_removals')
  await batch.query('update search_state set generation = generation + 1, changed_at = clock_timestamp()')
  await batch.query(
    `update search_document set facets = array_replace(facets, $2, $3), changed_at = s.changed_at
     from search_state s where id = $1`,
    [object._system_object_id, await numberOf(used), second],
  )
  await batch.commit()
  await museum.svc.drain()
  assert.equal(await numberOf(again), second)
  assert.deepEqual(await creators(), [[again, 1]])

  // A batch that is to be written was made with a set that is removed.
  await save(used, [])
  await using removal = await beginBatch(db)
  await save(again, [], false)
  await waiting('update search_state set generation')
  await removal.query('delete from search_facet_set where id = $1', [second])
  await removal.query('update search_state set set_removals = set_removals + 1')
  await removal.commit()
  await museum.svc.drain()
  const third = (await numberOf(again)) as number
  assert.ok(third > second)
  await assertWhole()
  assert.deepEqual(await creators(), [[again, 1]])

  // It goes while somebody counts it; numbers have become large by then.
  await db.query('update search_document set facets = array_replace(facets, $1, $1 + 100000000)', [third])
  await db.query('update search_state set generation = generation + 1, changed_at = clock_timestamp()')
  assert.deepEqual(await creators(), [])
  assert.ok(
    (cacheSizes().get('facet_sets')?.bytes ?? 0) < 10_000_000,
    'what is kept of sets grows with them, not with numbers',
  )
})

/** A transaction that writes to the index, as that of a process that indexes; rolled back unless it is committed. */
async function beginBatch(db: Db) {
  const client = await db.connect()
  await client.query('begin')
  await client.query('select from search_state for update')
  let open = true
  return {
    query: (text: string, values: unknown[] = []) => client.query(text, values),
    async commit(): Promise<void> {
      await client.query('commit')
      open = false
    },
    async [Symbol.asyncDispose](): Promise<void> {
      client.release(open)
    },
  }
}

async function person(name: string): Promise<number> {
  const { body } = await people.root.post('/db/person', [payload('person', { name, reference: name })])
  return body[0]._system_object_id
}

test('a grant with an end is over when it ends', async () => {
  const pool = await createPool(people.root, {})
  const end = Date.now() + 3000
  const brief = await work(pool._id, {
    _acl: [wireGrant(toUser(people.ids.stranger), 'read', { when: { to: new Date(end).toISOString() } })],
  })
  const request = { search: [{ type: 'in', fields: ['work.inventory'], in: [brief] }] }
  assert.deepEqual(await found(people.stranger, request), [brief])
  await sleep(end - Date.now() + 10)
  await museum.svc.drain()
  assert.deepEqual(await found(people.stranger, request), [])
})

test('include_path tells what stands above a pool to those only who may see the pool', async () => {
  const reader = toUser(people.ids.reader)
  const top = await createPool(people.root, {})
  const seen = await createPool(people.root, { _id_parent: top._id }, { _acl: [wireGrant(reader, 'read bag_read')] })
  const unseen = await createPool(people.root, { _id_parent: top._id }, { _acl: [wireGrant(reader, 'read')] })
  const below = await createPool(people.root, { _id_parent: seen._id })
  const [a, b, c] = [await work(seen._id), await work(unseen._id), await work(below._id)]
  const within = (client: Client, id: number) =>
    found(client, { search: [{ type: 'in', fields: ['_pool'], in: [id], include_path: true }] })
  assert.deepEqual(await within(people.root, top._id), [a, b, c])
  assert.deepEqual(await within(people.reader, top._id), [a, c])
  assert.deepEqual(await within(people.reader, seen._id), [a, c])
  assert.deepEqual(await within(people.reader, unseen._id), [b], 'its own id is shown with the object')
})

test('SEARCH-003 type event needs a system right', async () => {
  for (const answer of [
    await people.stranger.post('/search', { type: 'event' }),
    await people.editor.post('/search', { type: 'event', limit: 0 }),
  ]) {
    assert.deepEqual([answer.status, answer.body.code], [403, 'SystemRightRequired'])
    assert.equal(answer.body.parameters.right, 'system.api.event[get]')
  }
  assert.equal((await people.stranger.post('/search', {})).status, 200)
  assert.notEqual((await people.root.post('/search', { type: 'event' })).status, 403)
})

test('a grant may name a version that no file can have: it is asked for nowhere', () => {
  const versions = (...names: string[]) => tsquery(expressionNode({ is: 'files', columnId: 1, by: 'version', names }))
  assert.equal(versions('a'.repeat(3000), 'image.small'), versions('image.small'))
})
