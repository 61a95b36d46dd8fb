import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { XmlDocument } from 'libxml2-wasm'
import { ok } from '../collections/support.ts'
import { picture, upload } from '../files/support.ts'
import { actingRoot } from '../formats/scene.ts'
import { type Archive, startArchive } from '../mappings/support.ts'
import { toUser, wireGrant } from '../rights/people.ts'
import type { Json } from '../support/client.ts'
import { ask, configure, harvester } from './scene.ts'

const link = (type: string, id: number) => ({ _objecttype: type, _mask: '_all_fields', _system_object_id: id })

suite('Dublin Core', () => {
  let it: Archive
  let id: number
  let uuid: string
  let table: number
  const root = () => it.svc.as('root')
  before(async () => {
    it = await startArchive()
    const [stored] = ok(await root().get(`/pool/${it.pool}`))
    const _acl = [...stored._acl, wireGrant(toUser(harvester), 'bag_read read mask asset_download')]
    ok(await root().post('/pool', [{ pool: { _id: it.pool, _version: stored.pool._version }, _acl }]))
    await configure({ root: root() }, {})
    table = ok(await root().get('/objecttype')).find(({ objecttype }: Json) => objecttype.name === 'photo').objecttype
      ._id
    for (const name of ['person', 'keyword']) {
      const found = ok(await root().get('/objecttype')).find(({ objecttype }: Json) => objecttype.name === name)
      const { _id, _version } = found.objecttype
      const _acl = [wireGrant(toUser(harvester), 'read mask')]
      ok(await root().post('/objecttype', [{ objecttype: { _id, _version: _version + 1 }, _acl }]))
    }
    const create = async (type: string, block: object): Promise<Json> => {
      const body = { _objecttype: type, _mask: '_all_fields', [type]: block }
      return ok(
        await root().post(`/db/${type}`, [
          { ...body, ...(type === 'photo' ? { _pool: { pool: { _id: it.pool } } } : {}) },
        ]),
      )[0]
    }
    const person = await create('person', { name: 'Ada & Co', role: 'photographer' })
    const keyword = await create('keyword', { name: 'lake', label: { 'en-US': 'Lake', 'de-DE': 'See' } })
    const { body: files } = await upload(it.svc, 'root', [{ name: 'lake.jpg', content: await picture(8, 8) }])
    const photo = await create('photo', {
      title: { 'en-US': 'The <lake>', 'de-DE': 'Der See' },
      caption: { 'de-DE': 'Am Morgen' },
      rights: { 'en-US': 'Ada' },
      creator: link('person', person._system_object_id),
      date: { value: '2020-05-17' },
      period: { from: '1851', to: '1852-05' },
      city: 'Zürich',
      secret: 'nobody is to know',
      file: [{ _id: files[0]._id, preferred: true }],
      '_nested:photo__keywords': [{ keyword: link('keyword', keyword._system_object_id), remark: 'r' }],
    })
    id = photo._system_object_id
    uuid = photo._uuid
    await it.svc.drain()
  })
  after(() => it[Symbol.asyncDispose]())

  const dc = async (): Promise<readonly string[]> => {
    const { text } = await ask(it, { verb: 'GetRecord', metadataPrefix: 'oai_dc', identifier: `oai:${uuid}` })
    return elementsOf(text)
  }
  /** Each as `title@en-US=The lake`. */
  const elementsOf = (text: string): readonly string[] => {
    const document = XmlDocument.fromString(text)
    try {
      const found = document.root.find('//dc:*', { dc: 'http://purl.org/dc/elements/1.1/' }) as Json[]
      return found.map((one) => {
        const language = one.attrs.find((attribute: Json) => attribute.name === 'lang')?.value
        return `${one.name}${language ? `@${language}` : ''}=${one.content}`
      })
    } finally {
      document.dispose()
    }
  }

  test('where no mapping is bound, columns count by their names, and links as they are shown', async () => {
    assert.deepEqual(await dc(), [
      'title@en-US=The <lake>',
      'title@de-DE=Der See',
      'creator@en-US=Ada & Co',
      'creator@de-DE=Ada & Co',
      'subject@en-US=lake',
      'subject@de-DE=lake',
      'description@de-DE=Am Morgen',
      'date=2020-05-17',
      'type=Image',
      'format=image/jpeg',
      `identifier=urn:uuid:${uuid}`,
      'coverage=Zürich',
      'rights@en-US=Ada',
    ])
  })

  test('the mapping of the pool counts, else that of the type; links and fixed texts are as in other exports', async () => {
    const profiles = ok(await root().get('/xmlmapping/list'))
    const profile = profiles.find((one: Json) => one.profile === 'dc.yml')
    assert.deepEqual(profile.profile_type, { dc_export: true })
    assert.equal(profile.tabs[0].fields.length, 15)
    const made = async (title: string, more: object[] = []): Promise<number> => {
      const fields = [{ name: 'title', native: [{ type: 'text_fixed', text: title }] }, ...more]
      return ok(await root().put('/xmlmapping/mapping', { profile: 'dc.yml', displayname: {}, fields })).id
    }
    const ofType = await made('type')
    const ofPool = await made('pool', [
      { name: 'creator', native: [{ field: 'photo.creator.person.role' }] },
      { name: 'subject', native: [{ field: 'photo._nested:photo__keywords.keyword.keyword.label' }] },
      { name: 'date', native: [{ field: 'photo.period' }] },
      { name: 'rights', native: [{ type: 'text_fixed', text: '© ' }, { field: 'photo.rights' }] },
      { name: 'source', native: [{ type: 'deep_link_url' }] },
      { name: 'relation', native: [{ type: 'text_fixed', text: 'urn:x:%_uuid%' }] },
    ])
    const objecttype = async (mapping: number | string): Promise<void> => {
      const [{ objecttype: one }] = ok(await root().get(`/objecttype/${table}`))
      const body = { _id: table, _version: one._version + 1, mapping_dc_export: mapping }
      ok(await root().post('/objecttype', [{ objecttype: body }]))
    }
    const pool = async (mapping: number | string): Promise<void> => {
      const [{ pool: one }] = ok(await root().get(`/pool/${it.pool}`))
      ok(await root().post('/pool', [{ pool: { _id: it.pool, _version: one._version, mapping_dc_export: mapping } }]))
    }
    await objecttype(ofType)
    assert.deepEqual(await dc(), ['title=type', `identifier=urn:uuid:${uuid}`])
    await pool(ofPool)
    ok(await root().post('/config/system/config/deep_link_access', { enabled: true }))
    const address = `http://localhost:8080/api/v1/objects/uuid/${uuid}`
    const mapped = [
      'title=pool',
      'creator=photographer',
      'subject@en-US=Lake',
      'subject@de-DE=See',
      'date=1851/1852-05',
      `identifier=${address}`,
      `identifier=urn:uuid:${uuid}`,
      `source=${address}`,
      `relation=urn:x:${uuid}`,
      'rights@en-US=© Ada',
    ]
    assert.deepEqual(await dc(), mapped)
    // The same is a format of deep links, and of exports.
    const linked = await it.svc.inject({
      method: 'GET',
      url: `/api/v1/objects/uuid/${uuid}/format/dc`,
      headers: { authorization: `Bearer ${await root().token()}` },
    })
    assert.equal(linked.statusCode, 200, linked.body)
    assert.match(String(linked.headers['content-type']), /^application\/xml/)
    assert.deepEqual(elementsOf(linked.body), mapped)
    await pool('none')
    assert.ok((await dc()).includes('description@de-DE=Am Morgen'))
    await pool('objecttype')
    assert.deepEqual((await dc())[0], 'title=type')
    // A mapping for Dublin Core is for nothing else, and names elements only.
    const [{ objecttype: one }] = ok(await root().get(`/objecttype/${table}`))
    const other = { _id: table, _version: one._version + 1, mapping_image_export: ofType }
    assert.equal((await root().post('/objecttype', [{ objecttype: other }])).status, 400)
    const wrong = [{ name: 'title', xml_export: [{ path: 'XMP-dc:Title' }] }]
    assert.equal((await root().put('/xmlmapping/mapping', { profile: 'dc.yml', fields: wrong })).status, 400)
    assert.equal(
      (await root().put('/xmlmapping/mapping', { profile: 'dc.yml', fields: [{ name: 'nonsense' }] })).status,
      400,
    )
    for (const said of ['list', 'l10n']) {
      const told = [{ name: 'title', xml_export: [{ path: 'dc:title', [said]: true }] }]
      const refused = await root().put('/xmlmapping/mapping', { profile: 'dc.yml', fields: told })
      assert.deepEqual([refused.status, refused.body.code], [400, 'ServerGeneric'], said)
      const plain = [{ name: 'title', xml_export: [{ path: 'dc:title', [said]: false }] }]
      const { id: other } = ok(await root().put('/xmlmapping/mapping', { profile: 'dc.yml', fields: plain }))
      ok(await root().delete(`/xmlmapping/mapping/${other}`))
    }
    ok(await root().delete(`/xmlmapping/mapping/${ofType}`, undefined, { delete_policy: 'delete' }))
    assert.ok((await dc()).includes('title@de-DE=Der See'))
  })

  test('several objects stand in one document', async () => {
    const actor = await Array.fromAsync(
      it.svc.app.formats.write(actingRoot, {
        format: 'dc',
        objects: [{ systemObjectId: id }, { systemObjectId: id }],
        options: { allLanguages: true },
      }),
    )
    const text = Buffer.concat(actor).toString()
    assert.match(
      text,
      /^<\?xml[^>]*>\n<records xmlns="urn:strongroom:dc:1">\n<oai_dc:dc .*\n<oai_dc:dc .*\n<\/records>\n$/,
    )
    assert.equal(elementsOf(text).filter((one) => one.startsWith('title@en')).length, 2)
  })

  test('files in records have addresses that hold for as long as is set', async () => {
    for (const days of [1, 9]) {
      ok(await root().post('/config/system/config/file_url_expire', { oai_pmh_days: days }))
      const { text } = await ask(it, { verb: 'GetRecord', metadataPrefix: 'native', identifier: `oai:${uuid}` })
      const until = Number.parseInt(/x-svc-signature=([0-9a-z]+)-/.exec(text)?.[1] ?? '', 36)
      const held = (until - Date.now() / 1000) / 86_400
      assert.ok(held > days - 0.1 && held < days + 0.1, `${held}`)
    }
  })

  test('what records say of linked objects and of fields is set, and never more than may be read', async () => {
    const native = async (): Promise<string> =>
      (await ask(it, { verb: 'GetRecord', metadataPrefix: 'native', identifier: `oai:${uuid}` })).text
    const short = await native()
    assert.match(short, /<creator [^>]*><person>.*Ada &amp; Co/)
    assert.equal(short.includes('photographer'), false)
    await configure({ root: root() }, { merge_linked_objects: 'all', merge_max_depth: 1 })
    assert.match(await native(), /<role [^>]*>photographer<\/role>/)
    await configure({ root: root() }, { merge_linked_objects: 'none' })
    assert.equal((await native()).includes('photographer'), false)
  })
})
