import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { Json } from '../support/client.ts'
import { assertCommonParameters, assertDocumented, assertNamed } from '../support/documented.ts'
import { assertEventFlags } from '../support/event-flags.ts'
import { type Archive, mapping, startArchive, tableId } from './support.ts'

const oneOf = (body: Json): Json => (Array.isArray(body) ? body[0] : body)
const idOf = (body: Json): number => oneOf(body).collection._id

suite('mappings', () => {
  let archive: Archive
  let table: number
  const root = () => archive.svc.as('root')
  before(async () => {
    archive = await startArchive()
    table = await tableId(archive.svc, 'photo')
    const made = await root().post('/user', [{ user: { login: 'uma' }, _password: 'uma' }], {
      confirm: 'ignore_password_requirements',
    })
    assert.equal(made.status, 200)
  })
  after(() => archive[Symbol.asyncDispose]())

  const eventsOf = async (id: number): Promise<Json[]> =>
    (await root().get('/event/list', { limit: 1000 })).body.objects
      .map((one: Json) => one.event)
      .filter((event: Json) => event.basetype === 'mapping' && event.object_id === id)
      .map(({ type, info, pollable }: Json) => ({ type, info, pollable }))

  test('READ-024 READ-025 READ-028 READ-029 all users read the profiles with the mappings made of each', async () => {
    await assertCommonParameters(archive.svc, 'get /xmlmapping/list', 'get /xmlmapping/profile/{profile}')
    assertNamed('mappings.md', ['GET /xmlmapping/list', 'GET /xmlmapping/profile/{profile}', 'mappings', 'displayname'])
    const id = await mapping(archive.svc, [])
    const list = await archive.svc.as('uma').get('/xmlmapping/list')
    assert.equal(list.status, 200)
    assert.deepEqual(list.body.map(({ profile }: Json) => profile).sort(), [
      'dc.yml',
      'file-metadata.yml',
      'lido.yml',
      'mods.yml',
    ])
    const own = list.body.find(({ profile }: Json) => profile === 'file-metadata.yml')
    const lido = list.body.find(({ profile }: Json) => profile === 'lido.yml')
    assert.deepEqual([lido.xml_base, lido.profile_type], ['http://www.lido-schema.org', { xml_export: true }])
    assert.deepEqual(
      own.mappings.map((one: Json) => one.id).sort((a: number, b: number) => a - b),
      [1, id],
    )
    assert.deepEqual(own.mappings.at(-1), { id, displayname: { 'en-US': 'Photographs' }, _recipes_required: [] })
    assert.equal(own.profile_type.exiftool_import, true)
    const [tab] = own.tabs
    assert.deepEqual(tab.fields[0].xml_import.slice(0, 2), [{ search: 'XMP-dc:Title' }, { search: 'IPTC:ObjectName' }])
    assert.deepEqual(tab.fields[0].xml_export, [{ path: 'XMP-dc:Title', l10n: true }, { path: 'IPTC:ObjectName' }])
    const one = await archive.svc.as('uma').get('/xmlmapping/profile/file-metadata.yml')
    assert.deepEqual(one.body, own)
    const none = await archive.svc.as('uma').get('/xmlmapping/profile/file-metadata')
    assert.deepEqual([none.status, none.body.code], [400, 'ServerGeneric'])
    assert.equal((await archive.svc.as(null).get('/xmlmapping/list')).status, 401)
    assert.equal((await root().delete(`/xmlmapping/mapping/${id}`)).status, 200)
  })

  test('READ-026 READ-027 the catalogue has the tags that ExifTool knows, for those who manage mappings', async () => {
    const named = [
      'path',
      'group',
      'description',
      'writable',
      'type',
      'l10n',
      'list',
      'list_type',
      'xmlns',
      'exiftool_version',
    ]
    await assertCommonParameters(archive.svc, 'get /xmlmapping/tags')
    assertNamed('mappings.md', ['GET /xmlmapping/tags', ...named])
    const { status, body } = await root().get('/xmlmapping/tags')
    assert.equal(status, 200)
    assert.ok(body.tags.length > 25_000)
    const tag = (path: string) => body.tags.find((one: Json) => one.path === path)
    assert.deepEqual(tag('XMP-dc:Subject'), {
      path: 'XMP-dc:Subject',
      group: 'XMP-dc',
      description: { 'en-US': 'Subject', 'de-DE': 'Themen/Schlüsselwörter' },
      writable: true,
      type: 'string',
      list: true,
      list_type: 'Bag',
    })
    assert.deepEqual(
      [tag('XMP-dc:Title').l10n, tag('XMP-plus:Custom1').l10n, tag('XMP-plus:Custom1').list],
      [true, true, true],
    )
    // Nothing that moves the file, or says how its content is to be read.
    for (const path of ['System:FileName', 'System:Directory', 'IFD0:StripOffsets', 'ExifIFD:MakerNote']) {
      assert.notEqual(tag(path)?.writable, true, path)
    }
    assert.equal(body.xmlns['XMP-dc'], 'http://ns.exiftool.ca/XMP/XMP-dc/1.0/')
    assert.match(body.exiftool_version, /^\d+\.\d+$/)
    const refused = await archive.svc.as('uma').get('/xmlmapping/tags')
    assert.deepEqual([refused.status, refused.body.code], [403, 'SystemRightRequired'])
  })

  test('READ-030 READ-031 READ-032 READ-033 REC-008 REC-013 EVENT-045 a mapping is made, read, changed and deleted', async () => {
    const body = {
      profile: 'file-metadata.yml',
      displayname: { 'en-US': 'Photographs' },
      idTable: table,
      profile_type: { exiftool_export: false },
      limited_extensions: ['JPG', '.tif'],
      fields: [
        { name: 'title', native: [{ field: 'photo.title' }], strategy_import: 'append' },
        {
          name: 'inventory',
          custom: true,
          text: { 'en-US': 'Number' },
          xml_import: [{ search: '/rdf:RDF/rdf:Description/XMP-museum:Number' }],
          native: [{ field: 'photo.headline' }],
        },
      ],
    }
    await assertDocumented(archive.svc, 'delete /xmlmapping/mapping/{mapping}', ['delete_policy'], 'mappings.md')
    await assertCommonParameters(
      archive.svc,
      'put /xmlmapping/mapping',
      'get /xmlmapping/mapping/{mapping}',
      'post /xmlmapping/mapping/{mapping}',
    )
    const made = await root().put('/xmlmapping/mapping', body)
    assertNamed('mappings.md', Object.keys(made.body))
    assert.equal(made.status, 200, JSON.stringify(made.body))
    const { id } = made.body
    assert.deepEqual(
      [made.body.idTable, made.body.limited_extensions, made.body.custom, made.body.profile_type],
      [table, ['jpg', 'tif'], true, { exiftool_import: true, exiftool_export: false, plugins_import: true }],
    )
    const [title, own] = made.body.fields
    assert.deepEqual(
      [title.name, title.strategy_import, title.native, title.xml_import[0]],
      ['title', 'append', [{ field: 'photo.title' }], { search: 'XMP-dc:Title' }],
    )
    assert.deepEqual([own.custom, own.xml_import], [true, [{ search: 'XMP-museum:Number' }]])
    const read = await root().get(`/xmlmapping/mapping/${id}`)
    assert.deepEqual(read.body, made.body)
    // What was answered can be sent back.
    const again = await root().post(`/xmlmapping/mapping/${id}`, read.body)
    assert.deepEqual([again.status, again.body], [200, made.body])
    const changed = await root().post(`/xmlmapping/mapping/${id}`, {
      ...body,
      displayname: { 'en-US': 'Other' },
      fields: [],
    })
    assert.deepEqual([changed.body.displayname, changed.body.fields], [{ 'en-US': 'Other' }, []])
    const gone = await root().delete(`/xmlmapping/mapping/${id}`)
    assert.deepEqual([gone.status, gone.body], [200, { acknowledged: true }])
    assert.deepEqual([(await root().get(`/xmlmapping/mapping/${id}`)).status], [400])
    const info = (name: string) => ({ displayname: { 'en-US': name }, profilename: 'file-metadata.yml' })
    assert.deepEqual(
      (await eventsOf(id)).sort((a, b) => a.type.localeCompare(b.type) || named(b).localeCompare(named(a))),
      [
        { type: 'MAPPING_DELETE', info: info('Other'), pollable: true },
        { type: 'MAPPING_INSERT', info: info('Photographs'), pollable: true },
        { type: 'MAPPING_UPDATE', info: info('Photographs'), pollable: true },
        { type: 'MAPPING_UPDATE', info: info('Other'), pollable: true },
      ],
    )
    const flags = { userLogged: true, pollable: true }
    await assertEventFlags(archive.svc, ['MAPPING_INSERT', 'MAPPING_UPDATE', 'MAPPING_DELETE'], flags)
  })

  const named = ({ info }: Json): string => info.displayname['en-US']

  test('mappings take the right system.profile, which lets the rest', async () => {
    const uma = archive.svc.as('uma')
    for (const answer of [
      await uma.get('/xmlmapping/mapping/1'),
      await uma.put('/xmlmapping/mapping', { profile: 'file-metadata.yml' }),
      await uma.post('/xmlmapping/mapping/1', { profile: 'file-metadata.yml' }),
      await uma.delete('/xmlmapping/mapping/1'),
    ]) {
      assert.deepEqual([answer.status, answer.body.code], [403, 'SystemRightRequired'])
    }
  })

  test('what names nothing is refused by its place, and nothing is stored', async () => {
    const before = (await root().get('/xmlmapping/list')).body
    const fields = (...list: object[]) => ({ profile: 'file-metadata.yml', idTable: table, fields: list })
    const own = (more: object) => fields({ name: 'x', custom: true, ...more })
    const cases: [object, string | RegExp, string?][] = [
      [{ profile: 'none.yml' }, 'body.profile'],
      [{ ...fields(), idTable: 4711 }, 'body.idTable'],
      [{ ...fields(), recipe_configs: { ocr: {} } }, 'body.recipe_configs.ocr'],
      [{ ...fields(), profile_type: { dc_export: true } }, 'body.profile_type.dc_export'],
      [{ ...fields(), profile_type: { xml_export: true } }, 'body.profile_type.xml_export'],
      [{ profile: 'dc.yml', limited_extensions: ['jpg'] }, 'body.limited_extensions'],
      [{ profile: 'dc.yml', fields: [{ name: 'title', xml_import: [{ search: 'XMP-dc:Title' }] }] }, 'body.fields[0]'],
      [{ profile: 'dc.yml', fields: [{ name: 'title', type: 'Input' }] }, 'body.fields[0]'],
      [{ profile: 'dc.yml', profile_type: { plugins_import: true } }, 'body.profile_type.plugins_import'],
      [fields({ name: 'nothing' }), 'body.fields[0].name'],
      [fields({ name: 'title' }, { name: 'title' }), '', 'DatabaseUniqueKeyViolation'],
      [fields({ name: 'title', strategy_import: 'first' }), 'body.fields[0].strategy_import'],
      [own({ xml_import: [{ search: '//a[b=1]' }] }), 'body.fields[0].xml_import[0].search'],
      [own({ xml_export: [{ path: 'System:FileName' }] }), 'body.fields[0].xml_export[0].path'],
      [own({ xml_export: [{ path: 'EXIF:Own' }] }), 'body.fields[0].xml_export[0].path'],
      [own({ xml_export: [{ path: 'XMP-a:b\n-FileName=x' }] }), 'body.fields[0].xml_export[0].path'],
      [own({ xml_export: [{ path: 'XMP-photoshop:City', l10n: true }] }), 'body.fields[0].xml_export[0].path'],
      [own({ xml_export: [{ path: 'XMP-photoshop:City', list: true }] }), 'body.fields[0].xml_export[0].path'],
      [own({ native: [{ field: 'photo.nothing' }] }), 'body.fields[0].native[0].field'],
      [own({ native: [{ field: 'person.name' }] }), 'body.fields[0].native[0].field'],
      [own({ native: [{ field: 'photo.file' }] }), 'body.fields[0].native[0].field'],
      [own({ native: [{ field: 'photo.creator' }] }), 'body.fields[0].native[0].field'],
      [own({ native: [{ field: 'photo.title', type: 'nonsense' }] }), 'body.fields[0].native[0].type'],
      [
        own({ native: [{ field: 'photo.city' }, { type: 'text_fixed', text: '·' }, { field: 'photo.headline' }] }),
        'body.fields[0].native[1]',
      ],
    ]
    for (const [body, path, code = 'ServerGeneric'] of cases) {
      const answer = await root().put('/xmlmapping/mapping', body)
      assert.deepEqual([answer.status, answer.body.code], [400, code], JSON.stringify([body, answer.body]))
      if (path !== '') assert.equal(answer.body.parameters.path, path, JSON.stringify(answer.body))
    }
    // Programs of mappings are not run (decision 54), and of what no profile has nothing is kept.
    for (const member of [
      { xml: 'x' },
      { json_import: 'a' },
      { xml_export: [{ path: 'XMP-dc:Title', elements_js: '1' }] },
    ]) {
      assert.equal((await root().put('/xmlmapping/mapping', own(member))).status, 400, JSON.stringify(member))
    }
    const program = await root().put(
      '/xmlmapping/mapping',
      own({ xml_export: [{ path: 'XMP-dc:Title', elements_js: '1' }] }),
    )
    assert.match(program.body.message, /elements_js.*programs of mappings are not run/)
    assert.equal(
      (await root().put('/xmlmapping/mapping', { ...fields(), displayname: { 'en-US': 'a\0b' } })).status,
      400,
    )
    assert.deepEqual((await root().get('/xmlmapping/list')).body, before)
    for (const id of ['0', '-1', 'x', '1e3', '99999999999999999999', '4711']) {
      for (const method of ['get', 'delete'] as const) {
        assert.equal((await root()[method](`/xmlmapping/mapping/${id}`)).status, 400, id)
      }
      assert.equal((await root().post(`/xmlmapping/mapping/${id}`, { profile: 'file-metadata.yml' })).status, 400)
    }
    for (const answer of [
      await root().post('/xmlmapping/mapping/1', { profile: 'file-metadata.yml' }),
      await root().delete('/xmlmapping/mapping/1'),
    ]) {
      assert.deepEqual([answer.status, answer.body.code], [400, 'ServerGeneric'])
    }
  })

  test('OTAPI-007 OT-004 object types name mappings by id, or none', async () => {
    const id = await mapping(archive.svc, [])
    const onlyImport = await mapping(archive.svc, [], { profile_type: { exiftool_export: false } })
    const other = await mapping(archive.svc, [], { idTable: await tableId(archive.svc, 'person') })
    const current = async () => (await root().get(`/objecttype/${table}`)).body[0].objecttype
    const set = async (fields: object) =>
      root().post('/objecttype', [{ objecttype: { _id: table, _version: (await current())._version + 1, ...fields } }])
    for (const name of ['mapping_image_import', 'mapping_image_export']) {
      assert.equal((await set({ [name]: id })).body[0].objecttype[name], id)
      assert.equal((await set({ [name]: 'none' })).body[0].objecttype[name], 'none')
      assert.equal((await set({ [name]: 999_999 })).body.code, 'LookupNotFound')
      assert.equal((await set({ [name]: 'some' })).status, 400)
      assert.equal((await set({ [name]: other })).status, 400)
    }
    assert.equal((await set({ mapping_image_export: onlyImport })).status, 400)
    assert.equal((await set({ mapping_dc_export: id })).status, 400)
    assert.equal((await set({ mapping_dc_export: 'none' })).body[0].objecttype.mapping_dc_export, 'none')
    // Nobody has said anything: metadata come in by the mapping of the service.
    assert.equal((await set({ mapping_image_import: null })).body[0].objecttype.mapping_image_import, 1)
    assert.equal((await set(await current().then(({ _version, ...rest }) => rest))).status, 200)
  })

  test('recipes only with a real mapping for imports, and only those that it takes', async () => {
    const id = await mapping(archive.svc, [])
    const current = async () => (await root().get(`/objecttype/${table}`)).body[0].objecttype
    const set = async (fields: object) =>
      root().post('/objecttype', [{ objecttype: { _id: table, _version: (await current())._version + 1, ...fields } }])
    const recipes = { mapping_image_import_recipe_configs: { ocr: { params: {} } } }
    const path = 'body[0].objecttype.mapping_image_import_recipe_configs'
    for (const mapping_image_import of ['none', id]) {
      const answer = await set({ mapping_image_import, ...recipes })
      const place = mapping_image_import === 'none' ? path : `${path}.ocr`
      assert.deepEqual([answer.status, answer.body.parameters.path], [400, place])
    }
    assert.equal((await set({ mapping_image_import: id, mapping_image_import_recipe_configs: {} })).status, 200)
    assert.deepEqual((await current()).mapping_image_import_recipe_configs, {})
  })

  test('a deletion asks where collections, pools and object types name the mapping, and then they name none', async () => {
    const id = await mapping(archive.svc, [])
    const svc = root()
    const objecttype = (await svc.get(`/objecttype/${table}`)).body[0].objecttype
    const type = await svc.post('/objecttype', [
      {
        objecttype: {
          _id: table,
          _version: objecttype._version + 1,
          mapping_image_import: id,
          mapping_image_export: id,
        },
      },
    ])
    assert.equal(type.status, 200, JSON.stringify(type.body))
    const { pool } = (await svc.get(`/pool/${archive.pool}`)).body[0]
    const saved = await svc.post('/pool', [
      {
        pool: { _id: pool._id, _version: pool._version, mapping_image_import: id, mapping_image_export: 'objecttype' },
      },
    ])
    assert.equal(saved.status, 200, JSON.stringify(saved.body))
    const collection = await svc.put('/collection', {
      collection: { displayname: { 'en-US': 'Uploads' }, create_object: { objecttype: 'photo', mapping: id } },
    })
    assert.equal(collection.status, 200, JSON.stringify(collection.body))
    const asked = await svc.delete(`/xmlmapping/mapping/${id}`)
    assert.equal(asked.status, 202)
    const [{ message, buttons }] = asked.body.tasks
    for (const name of ['collections: 1', 'pools: 1', 'object types: 1']) assert.ok(message.includes(name), message)
    assert.deepEqual([buttons[0].name, buttons[0].value], ['delete_policy', 'delete'])
    const wrong = await svc.delete(`/xmlmapping/mapping/${id}`, undefined, { delete_policy: 'purge' })
    assert.deepEqual([wrong.status, wrong.body.code], [400, 'UnknownDeletePolicy'])
    assert.equal((await svc.get(`/xmlmapping/mapping/${id}`)).status, 200)
    const done = await svc.delete(`/xmlmapping/mapping/${id}`, undefined, { delete_policy: 'delete' })
    assert.deepEqual([done.status, done.body], [200, { acknowledged: true }])
    const after = (await svc.get(`/objecttype/${table}`)).body[0].objecttype
    assert.deepEqual([after.mapping_image_import, after.mapping_image_export], ['none', 'none'])
    const poolAfter = (await svc.get(`/pool/${archive.pool}`)).body[0].pool
    assert.deepEqual([poolAfter.mapping_image_import, poolAfter.mapping_image_export], ['none', 'objecttype'])
    const listed = (await svc.get(`/collection/${idOf(collection.body)}`)).body
    assert.equal(oneOf(listed).collection.create_object.mapping, undefined)
    // One that is gone cannot be named.
    const late = await svc.post('/pool', [
      { pool: { _id: pool._id, _version: poolAfter._version, mapping_image_import: id } },
    ])
    assert.equal(late.body.code, 'LookupNotFound')
  })
})
