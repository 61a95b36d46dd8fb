import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { createCollection, entriesOf } from '../collections/support.ts'
import { picture, upload } from '../files/support.ts'
import type { Json } from '../support/client.ts'
import { official } from './iiif-schema.ts'
import { everything, type Scene, startDeepLinks } from './scene.ts'

suite('collections for viewers', () => {
  let it: Scene
  let shown: Json[]
  let bare: Json
  const root = () => it.svc.as('root')
  const forStrangers = { _acl: [{ who: { _basetype: 'user', user: { _id: 2 } }, rights: { bag_read: {} } }] }
  const collect = (name: object, objects: readonly Json[], fields: object = {}, more: object = {}) =>
    createCollection(
      root(),
      { displayname: name, ...fields },
      {
        objects: entriesOf(
          it.svc,
          objects.map((one) => one._system_object_id),
        ),
        ...forStrangers,
        ...more,
      },
    )
  const open = async (id: number, query = '', login: string | null = null, headers: Record<string, string> = {}) => {
    const token = login === null ? {} : { authorization: `Bearer ${await it.svc.as(login).token()}` }
    return it.svc.inject({ url: `/api/v1/collection/iiif/${id}${query}`, headers: { ...token, ...headers } })
  }
  const read = async (id: number, query = '', login: string | null = null): Promise<Json> => {
    const answer = await open(id, query, login)
    assert.equal(answer.statusCode, 200, answer.body)
    const collection = answer.json()
    if (official) assert.ok(official(collection), JSON.stringify(official.errors?.slice(0, 5)))
    assert.equal(collection['@context'], 'http://iiif.io/api/presentation/3/context.json')
    assert.equal(collection.type, 'Collection')
    for (const one of [collection, ...collection.items]) {
      assert.ok(URL.canParse(one.id) && Object.values(one.label as object).every(Array.isArray), JSON.stringify(one))
    }
    return collection
  }
  const names = ({ items }: Json) => items.map(({ label }: Json) => Object.values(label).flat()[0])
  let made = 0
  const pictures = async (): Promise<Json[]> => {
    const sent = [{ name: `view ${made++}.jpg`, content: await picture(60 + made, 40) }]
    const { body } = await upload(it.svc, 'root', sent, { produce_versions: 'true' })
    await it.svc.drain()
    return body
  }
  before(async () => {
    it = await startDeepLinks()
    shown = []
    for (const title of ['Bridge', 'Lake', 'Wood']) {
      shown.push(await it.work({ title: { 'en-US': title } }, await pictures()))
    }
    bare = await it.work({ title: { 'en-US': 'Bare' } })
    await it.svc.drain()
    await it.access(everything)
    await it.grant({ deep_link: { read: {}, asset_show: {} }, viewer: { read: {} } })
  })
  after(() => it[Symbol.asyncDispose]())

  test('objects with something to be shown are manifests in the order of the list; collections below are named', async () => {
    const [bridge, lake, wood] = shown
    const upper = await collect({ 'en-US': 'Views', 'de-DE': 'Ansichten' }, [wood, bare, bridge], {
      description: { 'en-US': 'Of everything' },
    })
    const lower = await collect({ 'en-US': 'Lakes' }, [lake], { _id_parent: upper._id })
    await collect({ 'en-US': 'Nothing' }, [], { _id_parent: upper._id })
    const collection = await read(upper._id)
    const address = `${it.svc.config.externalUrl}/api/v1/collection/iiif`
    assert.equal(collection.id, `${address}/${upper._id}`)
    assert.deepEqual(collection.label, { 'en-US': ['Views'], 'de-DE': ['Ansichten'] })
    assert.deepEqual(collection.summary, { 'en-US': ['Of everything'] })
    assert.deepEqual(names(collection), ['Lakes', 'Wood', 'Bridge'])
    const [below, first] = collection.items
    assert.deepEqual([below.type, below.id], ['Collection', `${address}/${lower._id}`])
    assert.deepEqual(names(await read(lower._id)), ['Lake'])
    // What is named is there.
    const manifest = await it.svc.inject({ url: new URL(first.id).pathname })
    assert.deepEqual([manifest.statusCode, manifest.json().id], [200, first.id])
    assert.deepEqual(manifest.json().thumbnail, first.thumbnail)
    const answer = await open(upper._id)
    assert.match(`${answer.headers['content-type']}`, /^application\/ld\+json;profile=/)
    assert.deepEqual(
      [answer.headers['cache-control'], answer.headers['access-control-allow-origin']],
      ['no-cache, must-revalidate', '*'],
    )
    const again = await open(upper._id, '', null, { 'if-none-match': `${answer.headers.etag}` })
    assert.deepEqual([again.statusCode, again.body], [304, ''])
  })

  test('what a caller may not see is not in it; where nothing is left there is no collection', async () => {
    const [bridge, lake] = shown
    const inVault = { _pool: { pool: { _id: it.vault } } }
    const hidden = await it.work({ title: { 'en-US': 'Hidden' }, ...inVault }, await pictures())
    const mine = await collect({ 'en-US': 'Mine' }, [bridge, lake], {}, { _acl: [] })
    const [unknown, foreign] = [await open(9_999_999), await open(mine._id)]
    assert.deepEqual([unknown.statusCode, unknown.json().code], [foreign.statusCode, foreign.json().code])
    assert.equal(foreign.json().code, 'ObjectNotFound')
    assert.deepEqual(names(await read(mine._id, '', 'root')), ['Bridge', 'Lake'])
    const own = await collect({ 'en-US': 'Open' }, [hidden, bridge])
    assert.deepEqual(names(await read(own._id)), ['Bridge'])
    await it.grant({ deep_link: { read: {} } })
    const blind = await open(own._id)
    assert.deepEqual([blind.statusCode, blind.json().code], [404, 'ResourceNotFound'])
    await it.grant({ deep_link: { read: {}, asset_show: {} } })
    const locked = await collect({ 'en-US': 'Locked' }, [bridge], { pin_code: '12345678' })
    assert.equal((await open(locked._id)).statusCode, 404, 'without the PIN nothing is told of the list')
  })

  test('a long list comes in parts', async () => {
    const [bridge] = shown
    const { body } = await root().post(
      '/db/work',
      Array.from({ length: 520 }, (_, n) => ({
        _objecttype: 'work',
        _mask: '_all_fields',
        _pool: { pool: { _id: it.pool } },
        work: { title: { 'en-US': `Sheet ${n}` } },
      })),
      { format: 'short' },
    )
    const long = await collect({ 'en-US': 'Long' }, [...body, bridge])
    const collection = await read(long._id)
    assert.deepEqual(names(collection), ['1 – 500', '501 – 1000'])
    const [, second] = collection.items
    const part = await read(long._id, new URL(second.id).search)
    assert.deepEqual([part.id, part.label, names(part)], [second.id, second.label, ['Bridge']])
    assert.deepEqual(part.partOf, [{ id: collection.id, type: 'Collection', label: collection.label }])
    // Each part that is named answers, though nothing of it can be shown.
    const [first] = collection.items
    assert.deepEqual([(await read(long._id, '?part=1')).id, names(await read(long._id, '?part=1'))], [first.id, []])
    for (const query of ['?part=3', '?part=1000000']) assert.equal((await open(long._id, query)).statusCode, 404, query)
    for (const query of ['?part=0', '?part=x', '?part=1.5']) {
      assert.equal((await open(long._id, query)).statusCode, 400, query)
    }
  })

  test('deep links must be on', async () => {
    const [bridge] = shown
    const own = await collect({ 'en-US': 'Off' }, [bridge])
    await it.access({ enabled: false })
    const answer = await open(own._id)
    assert.deepEqual([answer.statusCode, answer.json().code], [400, 'DeepLinkAccessDisabled'])
    await it.access(everything)
  })
})
