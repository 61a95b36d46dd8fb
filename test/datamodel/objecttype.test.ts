import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Client, Json } from '../support/client.ts'
import { assertNamed, pageText } from '../support/documented.ts'
import { startService, type TestService } from '../support/service.ts'
import { commitModel, userWith } from './support.ts'

let svc: TestService
let root: Client
let manager: Client
let reader: Client
before(async () => {
  svc = await startService()
  root = svc.as('root')
  const tables = [
    {
      name: 'work',
      pool_link: true,
      has_tags: true,
      columns: [
        { name: 'title', type: 'text_l10n' },
        { name: 'number', type: 'string' },
        { name: 'image', type: 'eas' },
        { name: 'place', type: 'geo_json' },
        { name: 'artist', type: 'link', other_table_name_hint: 'artist' },
      ],
    },
    { name: 'work__file', owned_by: { other_table_name_hint: 'work' }, columns: [{ name: 'scan', type: 'files' }] },
    { name: 'artist', columns: [{ name: 'name', type: 'text_oneline' }] },
    {
      name: 'loan',
      columns: [
        { name: 'work', type: 'link', other_table_name_hint: 'work', reverse_edit: true },
        { name: 'contract', type: 'eas' },
      ],
    },
  ]
  const masks = [
    { name: 'work__full', mask_id: 1, table_name_hint: 'work', is_preferred: true, fields: [] },
    { name: 'work__short', mask_id: 2, table_name_hint: 'work', fields: [] },
    { name: 'artist__full', mask_id: 3, table_name_hint: 'artist', is_preferred: true, fields: [] },
  ]
  await commitModel(root, tables, masks)
  manager = await userWith(svc, 'manager', { 'system.objecttypemanager': {} })
  reader = await userWith(svc, 'reader', {})
})
after(() => svc[Symbol.asyncDispose]())

async function descriptor(name: string, client = root): Promise<Json> {
  const all = await client.get('/objecttype')
  assert.equal(all.status, 200)
  return all.body.find((entry: Json) => entry.objecttype.name === name)
}

/** Posts a change of one object type in its next version. */
async function change(name: string, block: object, rest: object = {}, query: Record<string, string> = {}) {
  const { _id, _version } = (await descriptor(name)).objecttype
  return root.post('/objecttype', [{ objecttype: { _id, _version: _version + 1, ...block }, ...rest }], query)
}

async function changed(name: string, block: object, rest: object = {}): Promise<Json> {
  const answer = await change(name, block, rest)
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body[0]
}

async function refused(code: string, path: string, name: string, block: object, rest: object = {}): Promise<void> {
  const stored = await descriptor(name)
  const answer = await change(name, block, rest)
  assert.deepEqual([answer.status, answer.body.code], [400, code], JSON.stringify(answer.body))
  assert.equal(answer.body.parameters.path, path, JSON.stringify(answer.body))
  if (/^Un(knownField|supportedFieldType)$/.test(code)) assert.equal(answer.body.package, 'objecttype')
  assert.deepEqual(await descriptor(name), stored, 'nothing has changed')
}

test('OT-001 OTAPI-001 OTAPI-002 any signed-in user reads all object types, what needs the right only with it', async () => {
  const all = (await manager.get('/objecttype')).body
  assert.deepEqual(
    all.map((entry: Json) => [entry._basetype, entry.objecttype.name]),
    [
      ['objecttype', 'work'],
      ['objecttype', 'artist'],
      ['objecttype', 'loan'],
    ],
  )
  const full = await descriptor('work', manager)
  const { _version, ...block } = full.objecttype
  assert.ok(Number.isInteger(_version) && _version > 0)
  assert.deepEqual(block, {
    _id: 1,
    name: 'work',
    mapping_image_export: 'none',
    mapping_image_import: 1,
    mapping_dc_export: 'none',
    show_in_collections: true,
    show_in_facet_grouping: true,
    show_in_main_menu_with_icon: '',
    empty_placeholder_icon: '',
    standard_numbering: '',
    description: {},
    custom_data: {},
  })
  const saved = await changed('work', {})
  assert.deepEqual([saved._basetype, saved.objecttype._id, saved.objecttype._version], ['objecttype', 1, _version + 1])

  const own = ['_acl', '_tags', 'tags', '_transitions', 'transitions', '_maskfilters', '_columnfilters']
  const whole = await descriptor('work', manager)
  for (const name of own) assert.ok(name in whole, name)
  const short = Object.fromEntries(Object.entries(whole).filter(([name]) => !own.includes(name)))
  for (const answer of [await reader.get('/objecttype'), await manager.get('/objecttype', { format: 'short' })]) {
    assert.equal(answer.status, 200)
    assert.equal(answer.body.length, 3)
    for (const entry of answer.body) for (const name of own) assert.ok(!(name in entry), name)
    assert.deepEqual(answer.body[0], short)
  }
  for (const format of ['long', 'full', 'SHORT', '']) {
    assert.deepEqual((await manager.get('/objecttype', { format })).body[0], whole, format)
  }
  assert.deepEqual((await manager.get('/objecttype/1', { format: 'short' })).body, [short])
  assert.deepEqual((await svc.as(null).get('/objecttype')).body.code, 'UserRequired')
  const next = { _id: 1, _version: whole.objecttype._version + 1 }
  const refused = await manager.post('/objecttype', [{ _basetype: 'pool', objecttype: next }])
  assert.deepEqual([refused.status, refused.body.code], [400, 'ServerGeneric'])
})

test('OT-003 _acl, tags, transitions and _maskfilters are part of a descriptor, as they were saved', async () => {
  const { body } = await root.post('/group', [{ group: { name: 'curators', reference: 'curators' } }])
  const curators = body[0].group._id
  const who = { _basetype: 'group', group: { _id: curators } }
  const tags = (await root.post('/tags', [{ taggroup: {}, _tags: [{ reference: 'ready' }] }])).body
  const tag = tags[0]._tags[0]._id
  await changed(
    'artist',
    {},
    {
      _acl: [{ who, rights: { read: {} } }],
      tags: [{ _id: tag, is_default: true }],
      transitions: [{ type: 'process', operations: ['INSERT'], comment: 'first step', actions: [] }],
      _maskfilters: { 3: { tagfilter: { any: [tag] } } },
    },
  )
  const shown = await descriptor('artist', manager)
  assert.deepEqual(
    [
      shown._acl.map((grant: Json) => [grant.who.group._id, grant.rights]),
      shown.tags.map((each: Json) => [each._id, each.is_default]),
      shown.transitions.map((each: Json) => [each.type, each.operations, each.comment]),
      shown._maskfilters,
    ],
    [
      [[curators, { read: {} }]],
      [[tag, true]],
      [['process', ['INSERT'], 'first step']],
      { 3: { tagfilter: { any: [tag] } } },
    ],
  )
  const empty = await changed('artist', {}, { _acl: null, tags: null, transitions: null, _maskfilters: null })
  assert.deepEqual([empty._acl, empty.tags, empty.transitions, empty._maskfilters], [[], [], [], {}])
})

test('OTAPI-019 OTAPI-020 ERR-010 one object type comes in an array; an unknown id is 400', async () => {
  assert.deepEqual((await manager.get('/objecttype/1')).body, [await descriptor('work')])
  assert.equal((await reader.get('/objecttype/1', { format: 'short' })).body.length, 1)
  for (const id of ['99', '2', '9007199254740991']) {
    const unknown = await reader.get(`/objecttype/${id}`)
    assert.deepEqual([unknown.status, unknown.body.code], [400, 'ServerGeneric'], id)
  }
  for (const id of ['0', '-1', 'x', '1.5']) assert.equal((await reader.get(`/objecttype/${id}`)).status, 400)
})

test('OTAPI-003 RIGHTS-003 an array of settings is written with system.objecttypemanager or system.root', async () => {
  const boss = await userWith(svc, 'boss', { 'system.root': {} })
  const body = async () =>
    Promise.all(
      ['artist', 'loan'].map(async (name) => {
        const { _id, _version } = (await descriptor(name)).objecttype
        return { _basetype: 'objecttype', objecttype: { _id, _version: _version + 1 } }
      }),
    )
  const refusal = await reader.post('/objecttype', await body())
  assert.deepEqual([refusal.status, refusal.body.code], [403, 'SystemRightRequired'])
  assert.deepEqual(refusal.body.parameters, {
    right: 'system.objecttypemanager',
    rights: ['system.objecttypemanager', 'system.root'],
  })
  for (const client of [manager, boss]) {
    const sent = await body()
    const saved = await client.post('/objecttype', sent)
    assert.equal(saved.status, 200, JSON.stringify(saved.body))
    assert.deepEqual(
      saved.body.map(({ objecttype }: Json) => [objecttype._id, objecttype._version]),
      sent.map(({ objecttype }) => [objecttype._id, objecttype._version]),
    )
  }
  const [one] = await body()
  assert.equal((await manager.post('/objecttype', one)).status, 400, 'an array')
})

test('OTAPI-005 LIM-009 the version sent is the stored one plus one', async () => {
  const { _id, _version } = (await descriptor('artist')).objecttype
  for (const got of [_version, _version + 2, 0, -1]) {
    const answer = await root.post('/objecttype', [{ objecttype: { _id, _version: got } }])
    assert.deepEqual([answer.status, answer.body.code], [400, 'VersionMismatch'])
    assert.deepEqual([answer.body.parameters.got, answer.body.parameters.expected], [got, _version + 1])
  }
  for (const objecttype of [{ _version: _version + 1 }, { _id: 99, _version: 2 }, { _id }]) {
    const answer = await root.post('/objecttype', [{ objecttype }])
    assert.deepEqual([answer.status, answer.body.code], [400, 'ServerGeneric'], JSON.stringify(objecttype))
  }
  const answers = await Promise.all(
    [1, 2].map(() => root.post('/objecttype', [{ objecttype: { _id, _version: _version + 1 } }])),
  )
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 400], 'of two writers one wins')
})

test('OTAPI-004 only object types of the committed datamodel have settings, and only settings are written', async () => {
  const head = (await root.get('/schema/user/HEAD')).body
  const added = await root.post('/schema/user/HEAD', {
    ...head,
    tables: [...head.tables, { name: 'draft', columns: [{ name: 'x', type: 'text' }] }],
  })
  const uncommitted = added.body.tables.find((table: Json) => table.name === 'draft').table_id
  for (const id of [uncommitted, 99, 2, 2 ** 40]) {
    const answer = await root.post('/objecttype', [{ objecttype: { _id: id, _version: 2 } }])
    assert.deepEqual([answer.status, answer.body.code], [400, 'ServerGeneric'])
    assert.equal(answer.body.parameters.path, 'body[0].objecttype._id')
  }
  await root.post('/schema/user/HEAD', head)
  const { _id, _version } = (await descriptor('artist')).objecttype
  const twice = [1, 2].map(() => ({ objecttype: { _id, _version: _version + 1 } }))
  assert.equal((await root.post('/objecttype', twice)).status, 400)

  const schemas = async () => [
    (await root.get('/schema/user/CURRENT')).body,
    (await root.get('/schema/user/HEAD')).body,
    (await root.get('/mask/CURRENT')).body,
  ]
  const before = await schemas()
  const saved = await changed('artist', {
    table_id: 77,
    columns: [],
    has_tags: true,
    description: { 'en-US': 'changed' },
  })
  assert.deepEqual([saved.objecttype.name, saved.objecttype.description], ['artist', { 'en-US': 'changed' }])
  assert.deepEqual(await schemas(), before)
  await changed('artist', { description: null })
})

test('OTAPI-006 OTAPI-017 what is omitted stays, null clears; a save answers the new cache id and takes effect at once', async () => {
  const before = await root.get('/objecttype')
  const saved = await change('artist', {
    description: { 'en-US': 'People' },
    show_in_collections: false,
    custom_data: { a: [1] },
  })
  assert.equal(saved.status, 200)
  assert.deepEqual(saved.body, [await descriptor('artist')])
  const cacheId = saved.headers['x-svc-cache-id']
  assert.ok(cacheId && cacheId !== before.headers['x-svc-cache-id'])
  assert.equal((await root.get('/objecttype')).headers['x-svc-cache-id'], cacheId)
  await changed('artist', { show_in_main_menu_with_icon: 'fa-user' })
  const { objecttype } = await descriptor('artist', reader)
  assert.deepEqual(
    [objecttype.description, objecttype.show_in_collections, objecttype.show_in_main_menu_with_icon],
    [{ 'en-US': 'People' }, false, 'fa-user'],
  )
  const cleared = await changed('artist', { description: null, custom_data: null, show_in_collections: null })
  assert.deepEqual(
    [cleared.objecttype.description, cleared.objecttype.custom_data, cleared.objecttype.show_in_collections],
    [{}, {}, true],
  )

  // At once: the reader finds objects with the answer of the save, and keeps them with a save that says nothing of grants.
  const objects = await root.post('/db/artist', [
    { _objecttype: 'artist', _mask: 'artist__full', artist: { name: 'Ada' } },
  ])
  const path = `/db/artist/artist__full/${objects.body[0].artist._id}`
  const seen = async () => (await reader.get(path)).body.length
  const who = { group: { 'lookup:_id': { reference: ':all' } } }
  assert.equal(await seen(), 0)
  await changed('artist', {}, { _acl: [{ who, rights: { read: {} } }] })
  assert.equal(await seen(), 1)
  await changed('artist', { description: { 'en-US': 'x' } })
  assert.equal(await seen(), 1)
  await changed('artist', { description: null }, { _acl: [] })
  assert.equal(await seen(), 0)
})

test('all object types of a request are saved, or none', async () => {
  const [work, artist] = [await descriptor('work'), await descriptor('artist')]
  const answer = await root.post('/objecttype', [
    {
      objecttype: {
        _id: artist.objecttype._id,
        _version: artist.objecttype._version + 1,
        description: { 'en-US': 'x' },
      },
    },
    { objecttype: { _id: work.objecttype._id, _version: 77 } },
  ])
  assert.equal(answer.body.code, 'VersionMismatch')
  assert.deepEqual(await descriptor('artist'), artist)
})

test('OTAPI-009 ERR-013 standard masks: null clears, a list sets, an empty list and unknown masks are refused', async () => {
  assert.deepEqual((await changed('work', {}, { _standard_masks: [2, 1] }))._standard_masks, [2, 1])
  assert.deepEqual((await changed('work', {}))._standard_masks, [2, 1])
  await refused('ObjecttypeNeedsStandardMask', 'body[0]._standard_masks', 'work', {}, { _standard_masks: [] })
  await refused('ServerGeneric', 'body[0]._standard_masks', 'work', {}, { _standard_masks: [3] })
  await refused('ServerGeneric', 'body[0]._standard_masks', 'work', {}, { _standard_masks: [1, 99] })
  assert.equal((await changed('work', {}, { _standard_masks: null }))._standard_masks, null)
})

test('OT-002 the first of the standard masks is the default mask, which shows linked objects; null is no preference', async () => {
  const inPool = { _pool: { pool: { 'lookup:_id': { reference: 'system:standard' } } } }
  const [{ _system_object_id }] = (
    await root.post('/db/work', [{ _objecttype: 'work', _mask: 'work__full', work: inPool }])
  ).body
  const link = { _objecttype: 'work', _mask: 'work__full', _system_object_id }
  const [{ loan }] = (
    await root.post('/db/loan', [{ _objecttype: 'loan', _mask: '_all_fields', loan: { work: link } }])
  ).body
  const shown = async () => (await root.get(`/db/loan/_all_fields/${loan._id}`)).body[0].loan.work._mask
  for (const [masks, first] of [
    [[2, 1], 'work__short'],
    [[1, 2], 'work__full'],
    [[2], 'work__short'],
    [null, 'work__full'],
  ] as const) {
    assert.deepEqual((await changed('work', {}, { _standard_masks: masks }))._standard_masks, masks)
    assert.deepEqual((await descriptor('work'))._standard_masks, masks)
    assert.equal(await shown(), first, JSON.stringify(masks))
  }
})

test('the name is sent back as it was read, and changed in the datamodel only', async () => {
  assert.equal((await changed('work', { name: 'work' })).objecttype.name, 'work')
  assert.equal((await changed('work', { name: null })).objecttype.name, 'work')
  await refused('ServerGeneric', 'body[0].objecttype.name', 'work', { name: 'artwork' })
})

test('mappings are none or an existing mapping', async () => {
  for (const name of ['mapping_image_export', 'mapping_image_import', 'mapping_dc_export']) {
    assert.equal((await changed('work', { [name]: 'none' })).objecttype[name], 'none')
    await refused('LookupNotFound', `body[0].objecttype.${name}`, 'work', { [name]: 4711 })
    await refused('ServerGeneric', `body[0].objecttype.${name}`, 'work', { [name]: 'some' })
  }
})

test('recipe configurations need a real mapping for imports', async () => {
  const path = 'body[0].objecttype.mapping_image_import_recipe_configs'
  const configs = { exiftool: { params: { a: 1 } } }
  await refused('ServerGeneric', path, 'work', { mapping_image_import_recipe_configs: configs })
  await refused('ServerGeneric', path, 'work', {
    mapping_image_import: 'none',
    mapping_image_import_recipe_configs: configs,
  })
  await changed('work', { mapping_image_import_recipe_configs: null })
})

test('OTAPI-010 the gravity of a watermark is one of nine places, or empty', async () => {
  for (const gravity of ['nw', 'n', 'ne', 'w', 'c', 'e', 'sw', 's', 'se', '']) {
    const saved = await changed('work', { watermark: { gravity, dissolve: 50, tile: false } })
    assert.deepEqual(saved.objecttype.watermark, { gravity, dissolve: 50, tile: false })
  }
  const path = 'body[0].objecttype.watermark'
  await refused('ServerGeneric', `${path}.gravity`, 'work', { watermark: { gravity: 'north' } })
  await refused('ServerGeneric', `${path}.gravity`, 'work', { watermark: { gravity: 7 } })
  await refused('ServerGeneric', `${path}.dissolve`, 'work', { watermark: { dissolve: 101 } })
  assert.equal((await changed('work', { watermark: null })).objecttype.watermark, undefined)
})

test('OT-006 a descriptor has watermark with its gravity, and caption by file field', async () => {
  const settings = { watermark: { gravity: 'sw' }, caption: { image: { text: 'c' } } }
  await changed('work', settings)
  const { watermark, caption } = (await descriptor('work', manager)).objecttype
  assert.deepEqual([watermark, caption], [{ gravity: 'sw' }, settings.caption])
  for (const name of ['title', 'artist', 'nothing']) {
    const path = `body[0].objecttype.caption.${name}`
    await refused('ServerGeneric', path, 'work', { caption: { [name]: { text: 'c' } } })
  }
  await changed('work', { watermark: null, caption: null })
})

test('OTAPI-011 captions belong to file fields of the object type and its nested tables', async () => {
  const caption = { image: { text: '%work.number%' }, 'work._nested:work__file.scan': { text: 'scan', overlay: true } }
  assert.deepEqual((await changed('work', { caption })).objecttype.caption, caption)
  for (const name of ['title', 'nothing', 'loan.contract', 'work._reverse_nested:loan:work.contract']) {
    await refused('ServerGeneric', `body[0].objecttype.caption.${name}`, 'work', { caption: { [name]: {} } })
  }
  await refused('ServerGeneric', 'body[0].objecttype.caption.image.text', 'work', { caption: { image: { text: 1 } } })
})

test('OT-007 OTAPI-012 OTAPI-013 LIM-010 janitor bounds are null or at least 0, days in the trash at least 1', async () => {
  const policy = { file_link_delete: { keep_days_history_versions: 0, keep_count: 3, min_object_deleted_days: null } }
  assert.deepEqual((await changed('artist', { janitor_policy: policy })).objecttype.janitor_policy, policy)
  const path = 'body[0].objecttype.janitor_policy.file_link_delete'
  const bad = (bounds: object) => ({ janitor_policy: { file_link_delete: bounds } })
  assert.deepEqual((await descriptor('artist')).objecttype.janitor_policy, policy)
  for (const name of ['keep_count', 'keep_days_history_versions', 'min_object_deleted_days']) {
    await refused('ServerGeneric', `${path}.${name}`, 'artist', bad({ [name]: -1 }))
    await changed('artist', bad({ [name]: null }))
  }
  const all = { file_link_delete: { keep_days_history_versions: 30, keep_count: 1, min_object_deleted_days: 7 } }
  await changed('artist', { janitor_policy: all })
  assert.deepEqual((await descriptor('artist')).objecttype.janitor_policy, all)
  await refused(
    'ServerGeneric',
    `${path}.keep_days_history_versions`,
    'artist',
    bad({ keep_days_history_versions: 1.5 }),
  )
  await refused('ServerGeneric', `${path}.min_object_deleted_days`, 'artist', bad({ min_object_deleted_days: 0 }))
  const other = await changed('artist', bad({ keep_count_history_versions: 5 }))
  assert.equal(other.objecttype.janitor_policy.file_link_delete.keep_count, 5)
  assert.equal((await changed('artist', {})).objecttype.janitor_policy.file_link_delete.keep_count, 5)
  assert.equal((await descriptor('artist')).objecttype.janitor_policy.file_link_delete.keep_count, 5, 'not sent: kept')
  assert.equal((await changed('artist', { janitor_policy: null })).objecttype.janitor_policy, undefined)
  assert.equal((await descriptor('artist')).objecttype.janitor_policy, undefined, 'null sent clears')
  assert.equal(
    (await changed('work', { janitor_policy: policy })).objecttype.janitor_policy,
    undefined,
    'pools have their own',
  )
  assert.equal((await descriptor('work')).objecttype.janitor_policy, undefined)
})

test('ERR-009 a wrong confirm, mask, gravity, janitor bound or caption is a ServerGeneric', async () => {
  const wrong: [block: object, rest: object, query: Record<string, string>][] = [
    [{}, {}, { confirm: 'yes' }],
    [{}, {}, { confirm: '' }],
    [{}, { _standard_masks: [99] }, {}],
    [{ watermark: { gravity: 'north' } }, {}, {}],
    [{ janitor_policy: { file_link_delete: { keep_count: -1 } } }, {}, {}],
    [{ janitor_policy: { file_link_delete: { keep_days_history_versions: -1 } } }, {}, {}],
    [{ janitor_policy: { file_link_delete: { min_object_deleted_days: -1 } } }, {}, {}],
    [{ caption: { title: {} } }, {}, {}],
    [{ caption: 'image' }, {}, {}],
  ]
  const stored = await descriptor('work')
  for (const [block, rest, query] of wrong) {
    const { status, body } = await change('work', block, rest, query)
    assert.deepEqual([status, body.code], [400, 'ServerGeneric'], JSON.stringify([block, rest, query, body]))
  }
  assert.deepEqual(await descriptor('work'), stored)
})

test('OT-008 standard_numbering is accepted, ignored and empty', async () => {
  assert.equal((await changed('artist', { standard_numbering: 'A-{n}' })).objecttype.standard_numbering, '')
  assert.equal((await changed('artist', { standard_numbering: { any: 1 } })).objecttype.standard_numbering, '')
  for (const name of ['work', 'artist', 'loan'])
    assert.equal((await descriptor(name)).objecttype.standard_numbering, '')
})

test('OT-009 ERR-015 file name templates are checked', async () => {
  const template = '%_system_object_id% - %work.title.de-DE% %work.artist._standard.1.text%, 100 %.%_asset.extension%'
  const saved = await changed('work', {}, { _export_asset_filenames: { default: { 'de-DE': template } } })
  assert.deepEqual(saved._export_asset_filenames, { default: { 'de-DE': template } })
  assert.deepEqual((await changed('work', {}, { _export_asset_filenames: template }))._export_asset_filenames, {
    default: { und: template },
  })
  const path = 'body[0]._export_asset_filenames'
  const bad = (text: string) => ({ _export_asset_filenames: { 'en-US': text } })
  await refused('UnknownField', `${path}.en-US`, 'work', {}, bad('%work.nothing%'))
  await refused('UnknownField', `${path}.en-US`, 'work', {}, bad('%artist.name%'))
  await refused('UnknownField', `${path}.en-US`, 'work', {}, bad('%work.number.de-DE%'))
  await refused('UnknownField', `${path}.en-US`, 'work', {}, bad('%work.artist%'))
  await refused('UnsupportedFieldType', `${path}.en-US`, 'work', {}, bad('%work.place%'))
  await refused('UnsupportedFieldType', `${path}.en-US`, 'work', {}, bad('%work.image%'))
  await refused('ServerGeneric', path, 'work', {}, { _export_asset_filenames: 7 })
  const under = (key: string) => ({ _export_asset_filenames: { [key]: { 'en-US': '%_uuid%' } } })
  await refused('UnknownField', `${path}.nothing`, 'work', {}, under('nothing'))
  await refused('UnsupportedFieldType', `${path}.work.artist`, 'work', {}, under('work.artist'))
  await refused('UnsupportedFieldType', `${path}.title`, 'work', {}, under('title'))
  for (const key of ['default', 'image', 'work.image', 'work._nested:work__file.scan']) {
    const { _export_asset_filenames } = await changed('work', {}, under(key))
    assert.deepEqual(_export_asset_filenames, { [key]: { 'en-US': '%_uuid%' } })
  }
  assert.deepEqual((await changed('work', {}, { _export_asset_filenames: null }))._export_asset_filenames, {})
  const replacements = (await descriptor('work'))._filename_replacements
  assert.deepEqual(Object.keys(replacements), ['work.image', 'work._nested:work__file.scan'])
  assert.ok(replacements['work.image'].includes('%work.title.en-US%'))
})

test('OT-012 OT-013 exposure flags, file names and further fields are chosen, kept and documented', async () => {
  const exposure = {
    show_in_collections: false,
    show_in_facet_grouping: false,
    show_in_main_menu_with_icon: 'fa-frame',
  }
  const further = {
    description: { 'en-US': 'Pictures' },
    custom_data: { any: ['thing'] },
    empty_placeholder_icon: 'fa-image',
    contact: { user: { 'lookup:_id': { reference: 'system:root' } } },
  }
  const beside = {
    _export_asset_filenames: { default: { 'en-US': '%_system_object_id%' } },
    _columnfilters: [{ name: 'f' }],
  }
  await changed('work', { ...exposure, ...further }, beside)
  const shown = await descriptor('work', manager)
  for (const [name, value] of Object.entries(exposure)) assert.equal(shown.objecttype[name], value, name)
  const { contact, ...plain } = further
  assert.ok(contact)
  for (const [name, value] of Object.entries(plain)) assert.deepEqual(shown.objecttype[name], value, name)
  assert.equal(shown.objecttype.contact.user['lookup:_id'].reference, 'system:root')
  for (const [name, value] of Object.entries(beside)) assert.deepEqual(shown[name], value, name)
  const inBlock = Object.keys({ ...exposure, ...further })
  const page = pageText('datamodel.md')
  for (const name of inBlock) assert.match(page, new RegExp(`\\.${name}\``), name)
  assertNamed('datamodel.md', [...Object.keys(beside), '_filename_replacements', '_compiled_tags'])
  const nothing = (names: string[]) => Object.fromEntries(names.map((name) => [name, null]))
  await changed('work', nothing(inBlock), nothing(Object.keys(beside)))
})

test('OT-010 OT-011 _private_transitions and _private_tags keep away what the instance has', async () => {
  assertNamed('datamodel.md', ['_private_transitions', '_private_tags'])
  const [{ _tags: list }] = (
    await root.post('/tags', [{ taggroup: {}, _tags: [{ reference: 'a' }, { reference: 'b' }] }])
  ).body
  const [a, b] = list.map((tag: Json) => tag._id)
  const stop = { type: 'reject', operations: ['INSERT'], confirm: { 'en-US': 'Nothing new.' }, actions: [] }
  const inPool = { _pool: { pool: { 'lookup:_id': { reference: 'system:standard' } } } }
  const save = async (...tags: number[]) => {
    const _tags = tags.map((_id) => ({ _id }))
    const { body } = await root.post('/db/work', [{ _objecttype: 'work', _mask: 'work__full', _tags, work: inPool }])
    return Array.isArray(body) ? 'saved' : body.code
  }
  const compiled = async () => (await descriptor('work'))._compiled_tags.map((tag: Json) => tag._id)
  const own = { _tags: [{ _id: a }] }

  await changed('work', {}, { ...own, _private_tags: false })
  assert.deepEqual([await compiled(), await save(a, b)], [[a, b], 'saved'])
  await changed('work', {}, { ...own, _private_tags: true })
  assert.deepEqual([await compiled(), await save(a), await save(a, b)], [[a], 'saved', 'TagNotEnabled'])

  assert.equal((await root.post('/transitions', [stop])).status, 200)
  assert.equal(await save(a), 'TransitionRejected')
  await changed('work', {}, { _private_transitions: true })
  assert.equal(await save(a), 'saved')
  await changed('work', {}, { _private_transitions: false, _private_tags: false, _tags: null })
  assert.deepEqual([await save(a, b), await compiled()], ['TransitionRejected', [a, b]])
  await root.post('/transitions', [])
})

test('tags and transitions of an object type, under both names', async () => {
  const entries = [{ displayname: { 'en-US': 'one' } }, { displayname: { 'en-US': 'two' } }]
  const document = [{ _basetype: 'taggroup', taggroup: { type: 'checkbox' }, _tags: entries }]
  const groups = await root.post('/tags', document, { delete_policy: 'remove_tags' })
  assert.equal(groups.status, 200, JSON.stringify(groups.body))
  const [one, two] = groups.body[0]._tags.map((tag: Json) => tag._id)
  const saved = await changed(
    'work',
    {},
    { tags: [{ _id: one, is_default: true }], _private_tags: true, _private_transitions: true },
  )
  assert.deepEqual(
    saved._tags.map((tag: Json) => [tag._id, tag.is_default]),
    [[one, true]],
  )
  assert.deepEqual(saved.tags, saved._tags)
  assert.deepEqual([saved._private_tags, saved._private_transitions], [true, true])
  assert.deepEqual(
    saved._compiled_tags.map((tag: Json) => [tag._id, tag._origin]),
    [[one, 'ot:1:work']],
  )
  await refused('TagNotFound', 'body[0]._tags[0]._id', 'work', {}, { _tags: [{ _id: 99 }] })
  await refused('ServerGeneric', 'body[0]._tags[1]._id', 'work', {}, { _tags: [{ _id: one }, { _id: one }] })
  await refused('ServerGeneric', 'body[0].tags', 'work', {}, { _tags: [{ _id: one }], tags: [{ _id: two }] })
  const transition = { type: 'process', operations: ['INSERT'], comment: 'c', actions: [] }
  const listed = await changed('work', {}, { _transitions: [transition] })
  assert.equal(listed._transitions[0].comment, 'c')
  assert.deepEqual(listed.transitions, listed._transitions)
  const off = await changed(
    'work',
    {},
    { _tags: null, _transitions: [], _private_tags: false, _private_transitions: false },
  )
  assert.deepEqual([off._tags, off._transitions], [[], []])
  const filtered = await changed(
    'work',
    {},
    { _maskfilters: { 1: { tagfilter: { any: [one] } } }, _columnfilters: [{ name: 'f' }] },
  )
  assert.deepEqual(
    [filtered._maskfilters, filtered._columnfilters],
    [{ 1: { tagfilter: { any: [one] } } }, [{ name: 'f' }]],
  )
  await refused('ServerGeneric', 'body[0]._maskfilters.3', 'work', {}, { _maskfilters: { 3: {} } })
  await refused(
    'TagNotFound',
    'body[0]._maskfilters.1',
    'work',
    {},
    { _maskfilters: { 1: { tagfilter: { all: [98] } } } },
  )
  await refused(
    'ServerGeneric',
    'body[0]._maskfilters.1.tagfilter.all',
    'work',
    {},
    { _maskfilters: { 1: { tagfilter: { all: 'x' } } } },
  )
  await changed('work', {}, { _maskfilters: null, _columnfilters: null })
})

test('grants of an object type without pools decide who reads its objects, at once', async () => {
  const created = await root.post('/db/artist', [
    { _objecttype: 'artist', _mask: '_all_fields', artist: { name: 'Ada' } },
  ])
  const path = `/db/artist/artist__full/${created.body[0].artist._id}`
  assert.deepEqual((await reader.get(path)).body, [])
  const users = await root.get('/user')
  const who = users.body.find((entry: Json) => entry.user.login === 'reader').user._id
  const saved = await changed('artist', {}, { _acl: [{ who: { user: { _id: who } }, rights: { read: {}, mask: {} } }] })
  assert.equal(saved._acl[0].who.user._id, who)
  assert.equal((await reader.get(path)).body.length, 1)
  await changed('artist', {}, { _acl: [] })
  assert.deepEqual((await reader.get(path)).body, [])
  const wrong = await change('artist', {}, { _acl: [{ who: { user: { _id: who } }, rights: { fly: {} } }] })
  assert.equal(wrong.body.code, 'UnknownRight')
  await refused(
    'ServerGeneric',
    'body[0]._acl',
    'work',
    {},
    { _acl: [{ who: { user: { _id: who } }, rights: { read: {} } }] },
  )
})

test('the contact of an object type is a user or a group', async () => {
  const saved = await changed('artist', { contact: { user: { 'lookup:_id': { reference: 'reader' } } } })
  assert.equal(saved.objecttype.contact._basetype, 'user')
  assert.equal((await changed('artist', { contact: null })).objecttype.contact, undefined)
  assert.equal((await change('artist', { contact: { user: { _id: 4711 } } })).body.code, 'LookupNotFound')
})

test('query parameters are checked', async () => {
  const saved = await change('work', { watermark: { dissolve: 7 } }, {}, { allow_invalid_acl: 'true' })
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
  const wrong = await change('work', {}, {}, { allow_invalid_acl: 'perhaps' })
  assert.deepEqual([wrong.status, wrong.body.code], [400, 'ServerGeneric'])
})

test('OTAPI-021 statistics of files need the right and have every bucket', async () => {
  const denied = await reader.get('/objecttype/1/stats')
  assert.deepEqual([denied.status, denied.body.code], [403, 'SystemRightRequired'])
  assert.deepEqual(denied.body.parameters, {
    right: 'system.objecttypemanager',
    rights: ['system.objecttypemanager', 'system.root'],
  })
  const allowed = await manager.get('/objecttype/1/stats')
  assert.equal(allowed.status, 200)
  const { files } = allowed.body
  assert.deepEqual(Object.keys(files), ['count', 'size', 'originals', 'versions'])
  assert.deepEqual(Object.keys(files.originals), ['latest', 'history', 'deleted'])
  assert.deepEqual(files.originals.latest, { size: 0, count: 0, by_extension: {}, by_class: {} })
  assert.equal((await manager.get('/objecttype/99/stats')).body.code, 'ServerGeneric')
})

test('a save is logged', async () => {
  await changed('artist', {})
  const events = (await root.get('/event/list', { type: 'OBJECTTYPE_UPDATE', limit: 1 })).body.objects
  assert.equal(events[0].event.objecttype, 'artist')
})

test('removed tags leave the settings of object types', async () => {
  const groups = (await root.get('/tags')).body
  const tag = groups[0]._tags[0]._id
  await changed('work', {}, { _tags: [{ _id: tag }] })
  const rest = groups.map((group: Json) => ({ ...group, _tags: group._tags.filter((one: Json) => one._id !== tag) }))
  const asked = await root.post('/tags', rest)
  assert.equal(asked.status, 202, JSON.stringify(asked.body))
  const { name, value } = asked.body.tasks[0].buttons[0]
  const removed = await root.post('/tags', rest, { [name]: value })
  assert.equal(removed.status, 200, JSON.stringify(removed.body))
  assert.deepEqual((await descriptor('work'))._tags, [])
})
