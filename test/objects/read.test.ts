import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { someFiles } from '../files/support.ts'
import type { Json } from '../support/client.ts'
import { assertDocumented } from '../support/documented.ts'
import { link, type Scene, startScene, steady } from './read-scene.ts'

let scene: Scene
let person: number
let work: number
before(async () => {
  scene = await startScene()
  await someFiles(scene.svc, 9)
  person = await scene.add('person', { name: 'Turner', born: { value: '1775-04-23' } })
  work = await scene.add(
    'work',
    {
      title: { 'en-US': 'The Lake', 'de-DE': 'Der See' },
      inventory: 'N1',
      price: 1250,
      made: { value: '1840' },
      creator: link('person', person),
      image: [{ _id: 7 }, { _id: 9, preferred: true }],
      location: { type: 'Point', coordinates: [1, 51] },
    },
    { _comment: 'first' },
  )
})
after(() => scene[Symbol.asyncDispose]())

const root = () => scene.svc.as('root')
/** Files without what they say of themselves (test/files/objects.test.ts). */
const places = (files: Json[]) => files.map(({ _id, preferred }) => ({ _id, preferred }))
const get = (path: string, query = {}) => root().get(`/db/${path}`, query)

async function bodyOf(path: string, query = {}): Promise<Json> {
  const { status, body } = await get(path, query)
  assert.equal(status, 200, JSON.stringify(body))
  return body
}

describe('addressing', () => {
  test('DB-040 OBJ-004 an object is read by each of its three ids', async () => {
    const object = await scene.read('work', work)
    const global = object._global_object_id
    assert.equal(global, `${work}@test`)
    for (const path of [object.work._id, `system_object_id/${work}`, `global_object_id/${global}`]) {
      assert.deepEqual(await bodyOf(`work/_all_fields/${path}`), [object], String(path))
    }
  })

  test('DB-047 an array answers, empty when nothing matches', async () => {
    for (const path of [
      'work/_all_fields/999999',
      'work/_all_fields/system_object_id/999999',
      `person/_all_fields/system_object_id/${work}`,
      `work/_all_fields/global_object_id/${work}@elsewhere`,
    ]) {
      assert.deepEqual(await bodyOf(path), [], path)
    }
    const one = await bodyOf(`work/_all_fields/system_object_id/${work}`)
    assert.ok(Array.isArray(one))
    assert.deepEqual(
      one.map((object: Json) => object._system_object_id),
      [work],
    )
  })

  test('ids that are none, unknown types, masks, formats and switches are refused with what is wrong', async () => {
    for (const [path, query, code] of [
      ['work/_all_fields/x', {}, 'ServerGeneric'],
      ['work/_all_fields/0', {}, 'ServerGeneric'],
      ['work/_all_fields/-1', {}, 'ServerGeneric'],
      ['work/_all_fields/1.5', {}, 'ServerGeneric'],
      ['work/_all_fields/99999999999999999999', {}, 'ServerGeneric'],
      ['work/_all_fields/system_object_id/9007199254740992', {}, 'ServerGeneric'],
      [`work/_all_fields/global_object_id/${work}`, {}, 'ServerGeneric'],
      [`work/_all_fields/global_object_id/@test`, {}, 'ServerGeneric'],
      ['nothing/_all_fields/1', {}, 'UnknownObjecttype'],
      ['work__part/_all_fields/1', {}, 'UnknownObjecttype'],
      ['work/nothing/1', {}, 'MaskNotFound'],
      ['work/person__standard/1', {}, 'MaskNotFound'],
      ['work/_all_fields/1', { format: 'xml' }, 'ServerGeneric'],
      ['work/_all_fields/1', { version: 0 }, 'ServerGeneric'],
      ['work/_all_fields/1', { version: 1, all_versions: 1 }, 'ServerGeneric'],
      ['work/_all_fields/1', { all_versions: 'yes' }, 'ServerGeneric'],
      ['work/_all_fields/1', { merge_linked_objects: 'some' }, 'ServerGeneric'],
      ['work/_all_fields/1', { merge_max_depth: -1 }, 'ServerGeneric'],
      ['work/_all_fields/list', { limit: 0 }, 'ServerGeneric'],
      ['work/_all_fields/list', { offset: -1 }, 'ServerGeneric'],
      ['nothing/_all_fields/list', {}, 'UnknownObjecttype'],
      ['work/nothing/list', {}, 'MaskNotFound'],
    ] as const) {
      const { status, body } = await get(path, query)
      assert.deepEqual([status, body.code], [400, code], `${path} ${JSON.stringify(query)} ${JSON.stringify(body)}`)
    }
  })

  test('a token is needed, HEAD answers like GET without a body', async () => {
    const url = `/api/v1/db/work/_all_fields/system_object_id/${work}`
    assert.equal((await scene.svc.inject({ method: 'GET', url })).statusCode, 401)
    const authorization = `Bearer ${await root().token()}`
    const head = await scene.svc.inject({ method: 'HEAD', url, headers: { authorization } })
    assert.deepEqual([head.statusCode, head.body], [200, ''])
  })
})

const systemKeys = [
  '_objecttype',
  '_objecttype_display_name',
  '_mask',
  '_mask_display_name',
  '_format',
  '_system_object_id',
  '_global_object_id',
  '_uuid',
  '_standard',
  '_owner',
  '_created',
  '_last_modified',
  '_latest_version',
  '_tags',
  '_pool',
  '_comment',
  'work',
]
const shortKeys = ['_objecttype', '_mask', '_system_object_id', '_global_object_id', '_uuid', '_standard', 'work']
const longKeys = [...systemKeys, '_create_user', '_acl', '_private_acl']
const fullKeys = [...longKeys, '_generated_rights', '_changelog', '_collections', '_published', '_published_count']

/** Everything of `part` stands in `whole`, which may have more; what is empty may be filled. */
function assertHolds(whole: Json, part: Json, path = ''): void {
  if (part === null || typeof part !== 'object') {
    if (part !== null) assert.deepEqual(whole, part, path)
    return
  }
  for (const [key, value] of Object.entries(part)) assertHolds(whole?.[key], value, `${path}.${key}`)
}

describe('formats', () => {
  for (const [format, keys] of [
    ['short', shortKeys],
    ['standard', systemKeys],
    ['standard_extended', systemKeys],
    ['long', longKeys],
    ['long_inheritance', longKeys],
    ['full', fullKeys],
    ['full_inheritance', fullKeys],
  ] as const) {
    test(`${format} has its system fields, no more and no less`, async () => {
      const object = await scene.read('work', work, { format })
      assert.deepEqual(Object.keys(object).toSorted(), keys.toSorted())
      assert.equal(object._format, format === 'short' ? undefined : format)
    })
  }

  test('DB-041 format is short, standard, long or full, and full by default', async () => {
    const keysOf = async (query: object) => Object.keys(await scene.read('work', work, { ...query })).toSorted()
    for (const [format, keys] of [
      ['short', shortKeys],
      ['standard', systemKeys],
      ['long', longKeys],
      ['full', fullKeys],
    ] as const) {
      assert.deepEqual(await keysOf({ format }), keys.toSorted(), format)
    }
    assert.deepEqual(await keysOf({}), fullKeys.toSorted())
    const { _id } = (await scene.read('work', work)).work
    const formats = ['short', 'standard', 'long', 'full']
    for (const query of [{}, ...formats.map((format): Record<string, string> => ({ format }))]) {
      assert.deepEqual(await bodyOf(`work/_all_fields/${_id}`, query), [await scene.read('work', work, query)])
    }
    assert.deepEqual(await scene.read('work', work), await scene.read('work', work, { format: 'full' }))
    assert.equal((await get(`work/_all_fields/system_object_id/${work}`, { format: 'other' })).status, 400)
  })

  test('DB-042 VER-008 standard_extended, long_inheritance and full_inheritance are a classic format and more', async () => {
    const keeper = await scene.add('person', { name: 'Keeper' })
    const above = await scene.add('place', {
      name: { 'en-US': 'Above' },
      country: 'DE',
      keeper: link('person', keeper),
    })
    const parent = await scene.read('place', above, { format: 'short' })
    const below = await scene.add('place', { name: { 'en-US': 'Below' }, _id_parent: parent.place._id })
    const { _id } = (await scene.read('place', below, { format: 'short' })).place
    const read = async (format: string): Promise<Json> =>
      (await bodyOf(`place/place__inheriting/${_id}`, { format }))[0]
    for (const [classic, extended] of [
      ['standard', 'standard_extended'],
      ['long', 'long_inheritance'],
      ['full', 'full_inheritance'],
    ] as const) {
      const [less, more] = [await read(classic), await read(extended)]
      assert.deepEqual([less._format, more._format], [classic, extended])
      assertHolds(more, { ...less, _format: extended })
      assert.notDeepEqual(more, { ...less, _format: extended }, `${extended} has more`)
    }
    const html = (await read('standard_extended'))._standard['1'].html
    assert.deepEqual([(await read('standard'))._standard['1'].html, html['en-US']], [undefined, 'Below'])
    for (const format of ['long', 'full']) {
      assert.equal((await read(format)).place.country ?? null, null)
      const inherited = JSON.stringify((await read(`${format}_inheritance`)).place)
      assert.match(inherited, /"DE"/, 'the value of the place above')
    }
  })

  test('short, whole', async () => {
    assert.deepEqual(steady(await scene.read('work', work, { format: 'short' })), {
      _objecttype: 'work',
      _mask: '_all_fields',
      _system_object_id: work,
      _global_object_id: `${work}@test`,
      _uuid: '<uuid>',
      _standard: { '1': { text: { 'en-US': 'The Lake', 'de-DE': 'Der See' } } },
      work: { _id: 1, _version: 1 },
    })
  })

  test('OBJ-007 standard, whole', async () => {
    const pool = { _basetype: 'pool', pool: { _id: scene.pool } }
    const object = steady(await scene.read('work', work, { format: 'standard' }))
    object.work.image = places(object.work.image)
    for (const holder of [object, object.work]) {
      assert.equal(holder._pool.pool._id, scene.pool)
      assert.equal(holder._pool.pool.reference, 'system:standard')
      holder._pool = pool
    }
    assert.deepEqual(object, {
      _objecttype: 'work',
      _objecttype_display_name: {},
      _mask: '_all_fields',
      _mask_display_name: {},
      _format: 'standard',
      _system_object_id: work,
      _global_object_id: `${work}@test`,
      _uuid: '<uuid>',
      _standard: { '1': { text: { 'en-US': 'The Lake', 'de-DE': 'Der See' } } },
      _owner: {
        _basetype: 'user',
        _owner: true,
        _pool_contact: false,
        user: { _id: 1, 'lookup:_id': { reference: 'system:root' }, _generated_displayname: 'Root' },
      },
      _created: '<time>',
      _last_modified: '<time>',
      _latest_version: true,
      _tags: [],
      _pool: pool,
      _comment: 'first',
      work: {
        _id: 1,
        _version: 1,
        _pool: pool,
        title: { 'en-US': 'The Lake', 'de-DE': 'Der See' },
        inventory: 'N1',
        price: 1250,
        made: { value: '1840' },
        image: [
          { _id: 7, preferred: false },
          { _id: 9, preferred: true },
        ],
        location: { type: 'Point', coordinates: [1, 51] },
        creator: {
          _objecttype: 'person',
          _mask: 'person__standard',
          _system_object_id: person,
          _global_object_id: `${person}@test`,
          _uuid: '<uuid>',
          _standard: { '1': { text: { 'en-US': 'Turner', 'de-DE': 'Turner' } } },
          person: { _id: 1, _version: 1 },
        },
        '_reverse_nested:loan:work': [],
      },
    })
  })

  test('standard_extended adds html, files and places to _standard', async () => {
    const { _standard } = await scene.read('work', work, { format: 'standard_extended' })
    _standard.eas['1'] = places(_standard.eas['1'])
    assert.deepEqual(_standard, {
      '1': {
        text: { 'en-US': 'The Lake', 'de-DE': 'Der See' },
        html: { 'en-US': 'The Lake', 'de-DE': 'Der See' },
      },
      eas: {
        '1': [
          { _id: 9, preferred: true },
          { _id: 7, preferred: false },
        ],
      },
      geo: { '1': [{ _field_name: 'work.location', geo: { type: 'Point', coordinates: [1, 51] } }] },
    })
  })

  test('html is escaped, line breaks stay visible', async () => {
    const id = await scene.add('person', { name: `<b>"A" & 'B'</b>` })
    const { _standard } = await scene.read('person', id, { format: 'long' })
    assert.equal(_standard['1'].html['en-US'], '&lt;b&gt;&quot;A&quot; &amp; &#39;B&#39;&lt;/b&gt;')
  })

  test('long shows linked objects with their own fields, those of theirs short', async () => {
    const pupil = await scene.add('person', { name: 'Pupil', teacher: link('person', person) })
    const painted = await scene.add('work', { title: { 'en-US': 'x' }, creator: link('person', pupil) })
    const object = await scene.read('work', painted, { format: 'long' })
    const { creator } = object.work
    assert.equal(creator._format, 'standard_extended')
    assert.equal(creator.person.name, 'Pupil')
    assert.deepEqual(creator.person.teacher.person, { _id: 1, _version: 1 })
    assert.equal(creator.person.teacher.person.born, undefined)
  })

  test('full also has the empty fields, the history and the rights', async () => {
    const object = await scene.read('work', work)
    assert.equal(object.work.place, null)
    assert.equal(object.work.period, null)
    assert.deepEqual(object.work['_nested:work__part'], [])
    assert.deepEqual(object._generated_rights.read, {})
    assert.deepEqual([object._collections, object._published, object._published_count], [[], [], 0])
    assert.deepEqual(steady(object._changelog), [
      {
        version: 1,
        current_version: true,
        latest_version: true,
        operation: 'INSERT',
        time: '<time>',
        comment: 'first',
        user: {
          _basetype: 'user',
          user: { _id: 1, 'lookup:_id': { reference: 'system:root' }, _generated_displayname: 'Root' },
        },
      },
    ])
    const empty = await scene.read('work', await scene.add('work', { inventory: 'N2' }))
    assert.deepEqual(empty.work.title, {})
    assert.deepEqual(empty.work.image, [])
  })

  test('an object without title is called by its number', async () => {
    const id = await scene.add('person', { born: { value: '1800' } })
    const { _standard } = await scene.read('person', id, { format: 'short' })
    assert.deepEqual(_standard, { '1': { text: { 'en-US': `#${id}`, 'de-DE': `#${id}` } } })
  })

  test('texts that look like JSON or its escapes come back as they were', async () => {
    const name = String.raw`"\u00000" \u00000","x":"$1 $& \\u00001`
    const id = await scene.add('person', { name, teacher: link('person', person) })
    const holder = await scene.add('person', { name: String.raw`\u00000`, teacher: link('person', id) })
    const object = await scene.read('person', holder, { format: 'standard' })
    assert.equal(object.person.name, String.raw`\u00000`)
    assert.equal(object.person.teacher._standard['1'].text['en-US'], name)
    assert.equal((await scene.read('person', id, { format: 'standard' })).person.name, name)
  })

  test('OBJ-008 a group can own an object', async () => {
    const groups = (await root().post('/group', [{ _basetype: 'group', group: { name: 'staff', reference: 'staff' } }]))
      .body
    const id = groups[0].group._id
    const owned = await scene.add('person', { name: 'Owned' }, { _owner: { _basetype: 'group', group: { _id: id } } })
    const { _owner } = await scene.read('person', owned, { format: 'standard' })
    assert.deepEqual(_owner, {
      _basetype: 'group',
      _owner: true,
      _pool_contact: false,
      group: { _id: id, 'lookup:_id': { reference: 'staff' }, _generated_displayname: 'staff' },
    })
  })

  test('tags are shown with their names', async () => {
    const tags = await root().post('/tags', [
      {
        taggroup: { displayname: { 'en-US': 'Flags' } },
        _tags: [{ displayname: { 'en-US': 'Draft' }, reference: 'draft' }],
      },
    ])
    const tag = tags.body[0]._tags[0]._id
    const tagged = await scene.add('work', { inventory: 'N3' }, { _tags: [{ _id: tag }] })
    const { _tags } = await scene.read('work', tagged, { format: 'standard' })
    assert.deepEqual(_tags, [{ _id: tag, displayname: { 'en-US': 'Draft' }, displaytype: 'facet', reference: 'draft' }])
  })
})

describe('masks', () => {
  test('the mask decides which fields and system fields are there; off is absent, show is there', async () => {
    const object = await scene.read('work', work, { format: 'full' }, 'work__restricted')
    assert.equal(object._mask, 'work__restricted')
    assert.deepEqual(Object.keys(object.work), ['_id', '_version', 'title', 'inventory', 'creator'])
    for (const key of [
      '_tags',
      '_acl',
      '_private_acl',
      '_owner',
      '_create_user',
      '_pool',
      '_published',
      '_collections',
    ]) {
      assert.equal(key in object, false, key)
    }
  })

  test('rows stand in the order of the mask', async () => {
    const [oil, wood] = [await scene.add('material', { name: 'oil' }), await scene.add('material', { name: 'wood' })]
    const sorted = await scene.add('work', {
      inventory: 'N4',
      '_nested:work__part': [
        { rank: 1, material: link('material', wood) },
        { rank: 3 },
        { rank: 2, material: link('material', oil) },
      ],
    })
    const ranks = async (mask: string) =>
      (await scene.read('work', sorted, { format: 'standard' }, mask)).work['_nested:work__part'].map(
        (row: Json) => row.rank,
      )
    assert.deepEqual(await ranks('work__standard'), [1, 3, 2])
    assert.deepEqual(await ranks('work__sorted'), [3, 2, 1])
    assert.deepEqual(await ranks('work__sorted_by_link'), [2, 1, 3])
  })

  for (const format of ['standard', 'standard_extended', 'long', 'full'] as const) {
    test(`what is read in ${format} can be sent back as it is`, async () => {
      const id = await scene.add('work', {
        title: { 'en-US': 'Round trip' },
        price: 99,
        period: { from: '1850', to: '1860' },
        creator: link('person', person),
        '_nested:work__part': [{ rank: 1 }, { rank: 2 }],
        '_reverse_nested:loan:work': [{ _objecttype: 'loan', _mask: '_all_fields', loan: { borrower: 'Louvre' } }],
      })
      const before = await scene.read('work', id, { format })
      const [after] = await scene.save('work', [before], { format })
      assert.equal(after.work._version, 2)
      const content = ({ work }: Json) => ({ ...steady(work), _version: 0 })
      assert.deepEqual(content(after), content(before))
    })
  }
})

test('file_url_expire that is no number of days, or more than allowed, is refused', async () => {
  for (const days of [31, 'soon', '0']) {
    const answer = await get(`work/_all_fields/system_object_id/${work}`, { file_url_expire: days })
    assert.equal(answer.status, 400, `${days}`)
    assert.match(JSON.stringify(answer.body), /file_url_expire/)
  }
})

describe('list', () => {
  test('DB-048 lists the objects of the type, all and no others, in the order of their _id', async () => {
    const { rows } = await scene.svc.db.query<{ id: number }>('select system_object_id as id from object')
    const expected: number[] = []
    for (const { id } of rows) {
      const { body } = await get(`person/_all_fields/system_object_id/${id}`, { format: 'short' })
      expected.push(...body.map((object: Json) => object.person._id))
    }
    const all = await bodyOf('person/_all_fields/list', { format: 'short' })
    assert.ok(all.length >= 3 && all.length < rows.length)
    assert.ok(all.every((object: Json) => object._objecttype === 'person'))
    assert.deepEqual(
      all.map((object: Json) => object.person._id),
      expected.toSorted((a, b) => a - b),
    )
  })

  test('DB-049 limit and offset, the formats and switches of reading one object; the trash is left out', async () => {
    const names = [
      ...['limit', 'offset', 'format', 'skip_reverse_nested', 'all_versions', 'latest_linked'],
      ...['merge_linked_objects', 'merge_max_depth', 'file_url_expire'],
    ]
    await assertDocumented(scene.svc, 'get /db/{objecttype}/{mask}/list', names, 'objects-reading.md')
    const [one, two, three] = await scene.save(
      'term',
      ['One', 'Two', 'Three'].map((name) => ({ _objecttype: 'term', _mask: '_all_fields', term: { name } })),
    )
    const [gone] = await scene.save('term', [{ _objecttype: 'term', _mask: '_all_fields', term: { name: 'Gone' } }])
    await root().delete('/db/term', [[gone.term._id, 1, null]], { delete_policy: 'remove' })
    const list = (query = {}) => bodyOf('term/_all_fields/list', query)
    const queries: Record<string, string | number>[] = [
      {},
      { format: 'short' },
      { format: 'long', skip_reverse_nested: 1 },
    ]
    for (const query of queries) {
      const objects = [one, two, three].map((object) => scene.read('term', object._system_object_id, query))
      assert.deepEqual(await list(query), await Promise.all(objects), JSON.stringify(query))
    }
    const short = await list({ format: 'short' })
    assert.deepEqual(await list({ format: 'short', limit: 1, offset: 1 }), short.slice(1, 2))
    assert.deepEqual(await list({ format: 'short', limit: 2 }), short.slice(0, 2))
    assert.deepEqual(await list({ offset: 1000 }), [])
  })
})
