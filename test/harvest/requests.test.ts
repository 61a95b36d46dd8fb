import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { createCollection, entriesOf, ok } from '../collections/support.ts'
import { toUser, wireGrant } from '../rights/people.ts'
import type { Json } from '../support/client.ts'
import { statementsOf } from '../support/statements.ts'
import { ask, grant, harvester, startScene } from './scene.ts'

const list = { verb: 'ListIdentifiers', metadataPrefix: 'oai_dc' }

suite('requests of harvesters', () => {
  test('while nothing changes a request looks at nothing but that; what changes then is told at once', async () => {
    await using it = await startScene()
    const [first = 0] = it.notes
    const { _id: id } = await createCollection(it.root, { displayname: { 'en-US': 'List' } })
    ok(await it.root.post(`/collection/push/${id}`, { objects: entriesOf(it.svc, [first]) }))
    const identify = () => ask(it, { verb: 'Identify' })
    await identify()
    // Its share of requests, whether anything has changed, and twice the time of the database.
    const enough = 4
    assert.equal(await statementsOf(it.svc, identify, { enough }), enough)
    for (let n = 0; n < 30; n++) await createCollection(it.root, { displayname: { 'en-US': `More ${n}` } })
    await identify()
    assert.equal(await statementsOf(it.svc, identify, { enough }), enough)
    // A grant on a collection makes it a set, and is no change of an object.
    const { rows } = await it.svc.db.query<{ path: number[] }>('select path from collection where id = $1', [id])
    const set = ['collection', ...(rows[0]?.path ?? [])].join(':')
    assert.deepEqual((await ask(it, { ...list, set })).errors, ['noRecordsMatch'])
    const { collection } = ok(await it.root.get(`/collection/${id}`))
    const _acl = [wireGrant(toUser(harvester), 'bag_read')]
    ok(await it.root.post(`/collection/${id}`, { collection: { _id: id, _version: collection._version }, _acl }))
    assert.equal((await ask(it, { ...list, set })).headers.length, 1)
    // So is an object that leaves a list, and a right that is lost.
    ok(await it.root.post(`/collection/remove/${id}`, entriesOf(it.svc, [first])))
    assert.deepEqual(
      (await ask(it, { ...list, set })).headers.map(({ deleted }) => deleted),
      [true],
    )
    await grant(it, '')
    await identify()
    assert.ok((await ask(it, list)).headers.every(({ deleted }) => deleted))
    await grant(it, 'bag_read read mask')
    assert.ok((await ask(it, list)).headers.every(({ deleted }) => !deleted))
  })

  test('who asks too often waits, as at deep links', async () => {
    await using it = await startScene({}, { quotaDeepLinks: 10 })
    for (let n = 0; n < 10; n++)
      assert.equal((await ask(it, { verb: n % 2 ? 'Identify' : 'Nonsense' })).date !== '', true)
    const over = await it.svc.inject({ method: 'GET', url: '/api/v1/oai?verb=Identify' })
    assert.deepEqual([over.statusCode, over.json().code], [429, 'QuotaExceeded'])
    assert.equal(over.json().parameters.quota, 'svc.quotas.deepLinks')
    assert.ok(Number(over.headers['retry-after']) > 0)
  })

  test('an object that may be read with no mask is told the same each time', async () => {
    await using it = await startScene()
    const types = ok(await it.root.get('/objecttype')) as Json[]
    const note = types.find(({ objecttype }) => objecttype.name === 'note')?.objecttype._id
    const [stored] = ok(await it.root.get(`/pool/${it.pool}`))
    const rights = { bag_read: {}, read: { mask_ids: { [note]: [] } } }
    const _acl = [{ who: { _basetype: 'user', user: { _id: harvester } }, rights }]
    ok(await it.root.post('/pool', [{ pool: { _id: it.pool, _version: stored.pool._version }, _acl }]))
    const first = await ask(it, { verb: 'ListRecords', metadataPrefix: 'oai_dc' })
    assert.deepEqual(
      first.headers.map(({ deleted }) => deleted),
      it.notes.map(() => false),
    )
    for (const metadataPrefix of ['oai_dc', 'native', 'lido', 'mods']) {
      for (const verb of ['ListIdentifiers', 'ListRecords']) {
        const { headers, text } = await ask(it, { verb, metadataPrefix })
        assert.deepEqual(headers, first.headers, `${verb} ${metadataPrefix}`)
        // It is called by its title, and what masks show is not told.
        assert.equal(text.includes('n 0'), verb === 'ListRecords')
        assert.doesNotMatch(text, /<code>/)
      }
    }
  })
})
