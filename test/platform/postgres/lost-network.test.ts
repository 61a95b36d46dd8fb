import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createUsers } from '../../signin/support.ts'
import { createClient } from '../../support/client.ts'
import { startNetwork } from '../../support/network.ts'
import { createTestDatabase } from '../../support/postgres.ts'
import { commitModel, defineModel } from '../../support/seed/model.ts'
import { payload } from '../../support/seed/museum.ts'
import { attachService, startService, type TestService } from '../../support/service.ts'
import { until } from '../../support/until.ts'

const simple = (...names: string[]) =>
  defineModel({ item: { columns: Object.fromEntries(names.map((name) => [name, 'text_oneline'])) } })

/** Signed in anew: sessions are in the database too. */
const rootOf = (svc: TestService) =>
  createClient(svc.inject, { login: 'root', password: svc.config.rootPassword as string })

/** Two processes on one database, the second one over a network that can lose things. */
async function twoProcesses() {
  const opened = new AsyncDisposableStack()
  const near = opened.use(await startService())
  await commitModel(near, simple('title'))
  const network = opened.use(await startNetwork(near.dsn))
  const far = opened.use(await attachService(network.dsn))
  return { near, network, far, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

describe('two processes, one of them behind a network that loses things', { concurrency: true }, () => {
  test('a right that is withdrawn and a new name are known there, though the network loses the word of it', async () => {
    await using world = await twoProcesses()
    const { near, network, far } = world
    const [{ user }] = await createUsers(near, { user: { login: 'reader' } })
    assert.equal((await far.as('reader').get('/user/session')).status, 200)
    const names = async () => {
      const { body } = await far.as('root').get('/tags')
      return JSON.stringify(body)
    }
    assert.ok(!(await names()).includes('Renamed'))
    network.toClient = ({ type }) => (type === 'A' ? 'lost' : 'on')
    const stored = (await near.as('root').get(`/user/${user._id}`)).body[0] ?? {}
    const gone = { ...stored, _basetype: 'user', user: { ...stored.user, login_disabled: true } }
    const ended = await near.as('root').post('/user', [gone])
    assert.equal(ended.status, 200, JSON.stringify(ended.body))
    const tag = { tag: { displayname: { 'en-US': 'Renamed' } } }
    const added = await near.as('root').post('/tags', [{ taggroup: { reference: 'added' }, _tags: [tag] }])
    assert.equal(added.status, 200, JSON.stringify(added.body))
    // Everything is read again once a minute anyway.
    await until(async () => (await far.as('reader').get('/user/session')).status === 401, 30)
    await until(async () => (await names()).includes('Renamed'), 30)
  })

  test('when its connections fall silent, requests fail in time; then it reads, writes, searches and works as before', async () => {
    await using world = await twoProcesses()
    const { near, network, far } = world
    const root = far.as('root')
    const save = (title: string) => root.post('/db/item', [payload('item', { title })])
    assert.equal((await save('first')).status, 200)
    await far.drain()
    network.silence()
    const during = await Promise.all([
      save('second'),
      root.get('/db/item/_all_fields/1'),
      root.get('/db/item/_all_fields/list'),
      root.post('/search', { search: [{ type: 'match', string: 'first' }] }),
      root.get('/user'),
      root.get('/event/list'),
    ])
    for (const { status, body } of during) {
      assert.ok(status === 200 || status === 503, `${status} ${JSON.stringify(body)}`)
      if (status === 503) assert.equal(body.code, 'ServiceUnavailable')
    }
    assert.ok(during.some(({ status }) => status === 503))
    await until(async () => (await save('third')).status === 200, 30)
    const hits = async (): Promise<number> =>
      (await root.post('/search', { search: [{ type: 'match', string: 'third' }] })).body.count
    // Indexing and jobs of either process have gone on.
    await until(async () => (await hits()) >= 1, 60)
    await far.drain()
    await near.drain()
    for (const path of ['/db/item/_all_fields/1', '/db/item/_all_fields/list', '/user', '/event/list']) {
      assert.equal((await root.get(path)).status, 200, path)
    }
  })

  test('a save whose COMMIT gets no answer is answered 503, and is there when it was carried out', async () => {
    await using world = await twoProcesses()
    const { network, far } = world
    const root = far.as('root')
    await root.token()
    let inserted = false
    network.toServer = ({ type, body }) => {
      const text = body.toString()
      if (text.includes('insert into object_version')) inserted = true
      return inserted && (type === 'Q' || type === 'P') && /\bcommit\b/.test(text) ? 'on, then silent' : 'on'
    }
    const { status, body } = await root.post('/db/item', [payload('item', { title: 'in doubt' })])
    assert.deepEqual([status, body.code], [503, 'ServiceUnavailable'])
    assert.match(body.error ?? body.message ?? JSON.stringify(body), /has not answered whether this is stored/)
    network.toServer = null
    await until(async () => (await root.get('/db/item/_all_fields/list')).body.length === 1, 30)
    // The index hears of it as well.
    await far.drain()
    const found = await root.post('/search', { search: [{ type: 'match', string: 'doubt' }] })
    assert.equal(found.body.count, 1)
  })

  test('a database that comes back as it was before is answered as it is: nothing in memory counts any more', async () => {
    await using opened = new AsyncDisposableStack()
    const first = await createTestDatabase()
    opened.defer(() => first.drop())
    {
      await using svc = await attachService(first.dsn)
      await commitModel(svc, simple('title'))
      assert.equal((await svc.as('root').post('/db/item', [payload('item', { title: 'at first' })])).status, 200)
      await svc.drain()
    }
    // What it goes back to: from here on each of the two has a history of its own, with the same numbers.
    const second = await createTestDatabase(first)
    opened.defer(() => second.drop())
    const change = async (svc: TestService, column: string, text: string) => {
      const root = svc.as('root')
      await commitModel(svc, simple('title', column))
      const object = { item: { _id: 1, _version: 1, title: text, [column]: text } }
      const { status, body } = await root.post('/db/item', [{ _objecttype: 'item', _mask: '_all_fields', ...object }])
      assert.equal(status, 200, JSON.stringify(body))
      await createUsers(svc, { user: { login: column } })
      await svc.drain()
    }
    {
      await using svc = await attachService(second.dsn)
      await change(svc, 'older', 'what was')
    }
    await using network = await startNetwork(first.dsn)
    await using svc = await attachService(network.dsn)
    await change(svc, 'newer', 'what is')
    let root = rootOf(svc)
    const seen = async () => {
      const [object, found, all] = await Promise.all([
        root.get('/db/item/_all_fields/1'),
        root.post('/search', { search: [{ type: 'match', string: 'what' }] }),
        root.post('/search', { search: [], aggregations: { types: { type: 'term', field: '_objecttype' } } }),
      ])
      return [object, found, all]
    }
    for (let n = 0; n < 3; n++) {
      const [object, found] = await seen()
      assert.equal(object?.body[0].item.newer, 'what is')
      assert.equal(found?.body.objects[0].item.newer, 'what is')
    }
    network.lead(second.dsn)
    network.silence()
    await until(async () => {
      root = rootOf(svc)
      return (await root.token().catch(() => null)) !== null && (await seen()).every(({ status }) => status === 200)
    }, 60)
    const [object, found, all] = await seen()
    for (const item of [object?.body[0].item, found?.body.objects[0].item, all?.body.objects[0].item]) {
      assert.equal(item.older, 'what was', JSON.stringify(item))
      assert.equal(item.newer, undefined)
    }
    assert.equal((await svc.as('older').get('/user/session')).status, 200)
    assert.equal((await root.post('/db/item', [payload('item', { older: 'goes on' })])).status, 200)
    await svc.drain()
    assert.equal((await root.post('/search', { search: [{ type: 'match', string: 'goes' }] })).body.count, 1)
  })
})
