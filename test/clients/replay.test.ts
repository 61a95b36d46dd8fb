import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createUsers } from '../signin/support.ts'
import type { Json, Query } from '../support/client.ts'
import { type Museum, startMuseum } from '../support/seed/museum.ts'

/**
 * Payloads in the shapes in which importers, front ends and scripts send them, one after the other. Each is either
 * refused with its status, or has an effect that can be seen: `effect` gets the answer. Nothing is accepted in vain.
 */
interface Entry {
  readonly what: string
  readonly send: readonly ['get' | 'post' | 'put' | 'delete', string, unknown?, Query?]
  readonly status: number
  readonly effect?: (body: Json) => unknown
  readonly expected?: unknown
}

let museum: Museum
before(async () => {
  museum = await startMuseum()
})
after(() => museum[Symbol.asyncDispose]())

const object = (type: string, block: object, rest: object = {}) => ({
  _objecttype: type,
  _mask: '_all_fields',
  [type]: block,
  ...rest,
})
const db = (type: string, block: object, rest: object = {}) =>
  ['post', `/db/${type}`, [object(type, block, rest)]] as const
const find = (request: object) => ['post', '/search', request] as const
const ref = (reference: string) => ({ 'lookup:_id': { reference } })
const pool = { pool: ref('system:standard') }
const count = (body: Json) => body.count
const ownGroups = (body: Json) => body._groups.filter(({ group }: Json) => group.type !== 'system').length
const user = (fields: object, rest: object = {}) => [{ _basetype: 'user', user: { _version: 1, ...fields }, ...rest }]

const entries: readonly Entry[] = [
  {
    what: 'tags wrapped',
    send: [
      'post',
      '/tags',
      [
        {
          taggroup: { displayname: { 'en-US': 'G' }, reference: 'g', type: 'checkbox' },
          _tags: [
            {
              tag: {
                displayname: { 'en-US': 'Public' },
                reference: 'public',
                displaytype: 'facet',
                enabled: true,
                is_default: false,
                sticky: false,
                type: 'individual',
              },
            },
          ],
        },
      ],
    ],
    status: 200,
    effect: (b) => b[0]._tags[0].reference,
    expected: 'public',
  },
  {
    what: 'group with rights',
    send: [
      'post',
      '/group',
      [
        {
          _basetype: 'group',
          group: { _version: 1, displayname: { 'en-US': 'Migrated' }, reference: 'migrated' },
          _system_rights: { 'system.search': { has_own_collections: true, show_fixed_searches: false } },
        },
      ],
    ],
    status: 200,
    effect: (b) => b[0]._system_rights['system.search'].has_own_collections,
    expected: true,
  },
  {
    what: 'user in a group by reference',
    send: [
      'post',
      '/user',
      user(
        { login: 'max', first_name: 'Max', reference: 'max' },
        { _password: 'password123', _groups: [{ _basetype: 'group', group: ref('migrated') }] },
      ),
      { confirm: 'ignore_password_requirements' },
    ],
    status: 200,
    effect: (b) =>
      b[0]._groups.some(
        (g: Json) => g.group.reference === 'migrated' || g.group['lookup:_id']?.reference === 'migrated',
      ),
    expected: true,
  },
  {
    what: 'group by PUT',
    send: [
      'put',
      '/group',
      [{ _basetype: 'group', group: { _version: 1, reference: 'put', displayname: { 'en-US': 'By PUT' } } }],
    ],
    status: 200,
    effect: (b) => [b[0].group.reference, b[0].group._version],
    expected: ['put', 1],
  },
  {
    what: 'group by PUT, changed',
    send: ['put', '/group', [{ group: { ...ref('put'), _version: 1, displayname: { 'en-US': 'Changed' } } }]],
    status: 200,
    effect: (b) => [b[0].group.displayname['en-US'], b[0].group.reference, b[0].group._version],
    expected: ['Changed', 'put', 2],
  },
  {
    what: 'group by PUT, out of date',
    send: ['put', '/group', [{ group: { ...ref('put'), _version: 1 } }]],
    status: 400,
  },
  {
    what: 'group by PUT with a misspelled right',
    send: ['put', '/group', [{ group: { reference: 'bad' }, _system_rights: { 'system.serch': {} } }]],
    status: 400,
  },
  {
    what: 'user by PUT',
    send: [
      'put',
      '/user',
      user(
        { login: 'eva', reference: 'eva', frontend_prefs: { theme: 'dark' } },
        { _groups: [{ group: ref('put') }], _system_rights: { 'system.user.create_new': { login: true } } },
      ),
    ],
    status: 200,
    effect: (b) => [b[0].user.frontend_prefs, ownGroups(b[0]), b[0]._system_rights],
    expected: [{ theme: 'dark' }, 1, { 'system.user.create_new': { login: true } }],
  },
  {
    what: 'user by PUT, changed',
    send: ['put', '/user', [{ user: { ...ref('eva'), _version: 1, first_name: 'Eva' }, _groups: [] }]],
    status: 200,
    effect: (b) => [b[0].user.first_name, b[0].user.login, ownGroups(b[0])],
    expected: ['Eva', 'eva', 0],
  },
  {
    what: 'user by PUT in a group that is not there',
    send: ['put', '/user', user({ login: 'nina' }, { _groups: [{ group: ref('nowhere') }] })],
    status: 400,
  },
  {
    what: 'pool by PUT',
    send: [
      'put',
      '/pool',
      [
        {
          _basetype: 'pool',
          pool: {
            'lookup:_id_parent': { reference: 'system:root' },
            reference: 'put',
            name: { 'en-US': 'By PUT' },
            mapping_dc_export: 'objecttype',
          },
          _acl: [{ who: { _basetype: 'group', group: ref('system::all') }, rights: { bag_read: {} } }],
        },
      ],
    ],
    status: 200,
    effect: (b) => [b[0].pool.mapping_dc_export, b[0]._acl.length],
    expected: ['objecttype', 1],
  },
  {
    what: 'pool by PUT, changed',
    send: ['put', '/pool', [{ pool: { ...ref('put'), _version: 1, comment: 'c' } }]],
    status: 200,
    effect: (b) => [b[0].pool.comment, b[0].pool.name['en-US'], b[0].pool._version],
    expected: ['c', 'By PUT', 2],
  },
  { what: 'tags by PUT', send: ['put', '/tags', []], status: 400 },
  {
    what: 'person in the name of another user',
    send: db('person', { name: 'Moved' }, { _create_user: { _basetype: 'user', user: ref('eva') } }),
    status: 200,
    effect: (b) => b[0].person._id > 0,
    expected: true,
  },
  {
    what: 'person in the name of nobody',
    send: db('person', { name: 'x' }, { _create_user: { user: ref('nobody') } }),
    status: 400,
  },
  {
    what: 'person in the name of a group',
    send: db('person', { name: 'x' }, { _create_user: { group: ref('put') } }),
    status: 400,
  },
  {
    what: 'events of the object just saved',
    send: ['get', '/event/list', undefined, { basetype: 'object', objecttype: 'person', limit: 1 }],
    status: 200,
    effect: (b) => [b.objects[0].event.basetype, b.objects[0].event.objecttype],
    expected: ['object', 'person'],
  },
  { what: 'user of an unknown type', send: ['post', '/user', user({ type: 'other', login: 'x' })], status: 400 },
  {
    what: 'pool below the root by reference',
    send: [
      'post',
      '/pool',
      [
        {
          _basetype: 'pool',
          pool: {
            'lookup:_id_parent': { reference: 'system:root' },
            _version: 1,
            reference: 'migrated',
            name: { 'en-US': 'Migrated' },
          },
        },
      ],
    ],
    status: 200,
    effect: (b) => b[0].pool.reference,
    expected: 'migrated',
  },
  {
    what: 'pool below an unknown one',
    send: ['post', '/pool', [{ pool: { 'lookup:_id_parent': { reference: 'nowhere' }, name: {} } }]],
    status: 400,
  },
  {
    what: 'place at the top',
    send: db('place', { _id_parent: null, _version: 1, code: 'EU', name: { 'de-DE': 'Europa' } }),
    status: 200,
    effect: (b) => b[0].place.code,
    expected: 'EU',
  },
  {
    what: 'place below another by lookup',
    send: db('place', { 'lookup:_id_parent': { code: 'EU' }, _version: 1, code: 'DE' }),
    status: 200,
    effect: (b) => b[0].place._id_parent,
    expected: 1,
  },
  {
    what: 'place below an unknown one',
    send: db('place', { 'lookup:_id_parent': { code: 'XX' }, _version: 1 }),
    status: 400,
  },
  {
    what: 'person',
    send: db('person', { _version: 1, name: 'Max Mustermann', reference: 'p1' }, { _system_object_id: 5000 }),
    status: 200,
    effect: (b) => b[0].person.name,
    expected: 'Max Mustermann',
  },
  {
    what: 'work with everything by lookup',
    send: db(
      'work',
      {
        _pool: pool,
        _version: 1,
        inventory: 'A1',
        title: { 'de-DE': 'Turm', 'en-US': 'Tower' },
        made: { value: '2020-04-06' },
        period: { from: '2020-04-01', to: '2020-04-07' },
        creator: object('person', ref('p1')),
        place: { place: { 'lookup:_id': { code: 'DE' } } },
        '_nested:work__material': [{ name: 'oil', origin: object('place', { 'lookup:_id': { code: 'EU' } }) }],
      },
      { _tags: [ref('public')] },
    ),
    status: 200,
    effect: (b) => [
      b[0].work.creator._system_object_id > 0,
      b[0].work['_nested:work__material'].length,
      b[0]._tags.length,
    ],
    expected: [true, 1, 1],
  },
  {
    what: 'update by lookup',
    send: db('work', {
      ...ref('x'),
      'lookup:_id': { inventory: 'A1' },
      _version: 1,
      _pool: pool,
      inventory: 'A1',
      title: { 'de-DE': 'Turm 2' },
    }),
    status: 200,
    effect: (b) => [b[0].work._version, b[0].work.title],
    expected: [2, { 'de-DE': 'Turm 2' }],
  },
  {
    what: 'version left to the server',
    send: db('person', { _id: 987654, '_version:auto_increment': true, name: 'Eve' }),
    status: 404,
  },
  {
    what: 'file by address',
    send: db('work', { _pool: pool, image: [{ 'eas:url': 'https://example.org/a.jpg', preferred: true }] }),
    status: 400,
  },
  {
    what: 'link without a target',
    send: db('work', { _pool: pool, creator: { _objecttype: 'person', _mask: '_all_fields' } }),
    status: 400,
  },
  {
    what: 'link of another type',
    send: db('work', { _pool: pool, creator: object('place', { _id: 1 }) }),
    status: 400,
  },
  { what: 'unknown tag', send: db('work', { _pool: pool }, { _tags: [ref('nobody')] }), status: 400 },
  {
    what: 'unknown mask',
    send: ['post', '/db/person', [{ _objecttype: 'person', _mask: 'nobody', person: { name: 'x' } }]],
    status: 400,
  },
  {
    what: 'type that is not the one of the address',
    send: ['post', '/db/person', [object('place', { code: 'X' })]],
    status: 400,
  },
  { what: 'one object instead of a list', send: ['post', '/db/person', object('person', { name: 'x' })], status: 400 },
  {
    what: 'a collection that is not there',
    send: ['post', '/db/person', [object('person', { name: 'x' })], { collection: 5 }],
    status: 404,
  },
  {
    what: 'triple without comment',
    send: ['delete', '/db/place', [[2, 1]]],
    status: 202,
    effect: (b) => b.tasks[0].form[0].name,
    expected: 'delete_policy',
  },
  { what: 'ids instead of triples', send: ['delete', '/db/place', [2]], status: 400 },
  {
    what: 'search by match',
    send: find({ type: '', search: [{ type: 'match', mode: 'fulltext', string: 'Turm' }] }),
    status: 200,
    effect: count,
    expected: 1,
  },
  { what: 'search in the domain of objects by its name', send: find({ type: 'object' }), status: 200 },
  { what: 'search in a domain that is none', send: find({ type: 'objects' }), status: 400 },
  {
    what: 'search in tags',
    send: find({ search: [{ type: 'in', fields: ['_tags._id'], in: [1] }] }),
    status: 200,
    effect: count,
    expected: 1,
  },
  {
    what: 'search below a pool',
    send: find({ search: [{ type: 'in', bool: 'must', fields: ['_pool'], in: [1], include_path: true }] }),
    status: 200,
    effect: count,
    expected: 1,
  },
  {
    what: 'search in a group of elements',
    send: find({
      search: [
        {
          type: 'complex',
          search: [
            { type: 'in', bool: 'should', fields: ['_objecttype'], in: ['person'] },
            { type: 'in', bool: 'should', fields: ['_objecttype'], in: ['place'] },
          ],
        },
      ],
    }),
    status: 200,
    effect: count,
    expected: 4,
  },
  {
    what: 'search by a range',
    send: find({ search: [{ type: 'range', field: 'work.made', from: '2020', to: '2021' }] }),
    status: 200,
    effect: count,
    expected: 0,
  },
  {
    what: 'facet of types',
    send: find({ limit: 0, aggregations: { t: { type: 'term', field: '_objecttype', limit: 10, sort: 'count' } } }),
    status: 200,
    effect: (b) => b.aggregations.t.terms.length,
    expected: 3,
  },
  {
    what: 'search with a misspelled field',
    send: find({ search: [{ type: 'match', fields: ['work.titel'], string: 'x' }] }),
    status: 400,
  },
  { what: 'search with a misspelled key', send: find({ serch: [] }), status: 400 },
  {
    what: 'search in the address',
    send: ['get', '/search', undefined, { BODY: JSON.stringify({ objecttypes: ['place'] }) }],
    status: 200,
    effect: count,
    expected: 2,
  },
  {
    what: 'event of a front end',
    send: [
      'post',
      '/event',
      { _basetype: 'event', event: { type: 'DETAIL_VIEW', system_object_id: 1, info: { a: 1 } } },
    ],
    status: 200,
    effect: (b) => b.event.type,
    expected: 'DETAIL_VIEW',
  },
  { what: 'event of the service', send: ['post', '/event', { event: { type: 'OBJECT_UPDATE' } }], status: 400 },
  {
    what: 'names for people',
    send: ['post', '/l10n/user/HEAD', { 'schema.person.name': { 'de-DE': 'Person' } }],
    status: 200,
    effect: (b) => b['schema.person.name'],
    expected: { 'de-DE': 'Person' },
  },
  {
    what: 'mask by its name',
    send: ['get', '/mask/CURRENT/person__standard', undefined, { format: 'long' }],
    status: 200,
    effect: (b) => b.masks[0].name,
    expected: 'person__standard',
  },
  {
    what: 'object by its global id',
    send: ['get', '/db/person/_all_fields/global_object_id/5000@test'],
    status: 200,
    effect: (b) => b[0].person.name,
    expected: 'Max Mustermann',
  },
  {
    what: 'transition with people by reference',
    send: [
      'post',
      '/transitions',
      [
        {
          type: 'process',
          operations: ['UPDATE'],
          who: [{ _basetype: 'group', group: ref('system::all') }],
          actions: [{ type: 'set_tags', info: { tags: [{ _id: 1, set: true }] } }],
        },
      ],
    ],
    status: 200,
    effect: (b) => b[0].who.length,
    expected: 1,
  },
  {
    what: 'transition of an unknown type',
    send: ['post', '/transitions', [{ type: 'nothing', operations: ['UPDATE'] }]],
    status: 400,
  },
  {
    what: 'configuration of an unknown section',
    send: ['post', '/config', { system: { config: { nothing: {} } } }],
    status: 400,
  },
  {
    what: 'settings of an unknown object type',
    send: ['post', '/objecttype', [{ objecttype: { _id: 999, _version: 2 } }]],
    status: 400,
  },
]

/** What an answer without the effect shows is told beside it, so that the table says all at once. */
function seenIn(effect: (body: Json) => unknown, body: Json): unknown {
  try {
    return effect(body)
  } catch {
    return body
  }
}

test('payloads of clients are refused or have their effect', async () => {
  const root = museum.svc.as('root')
  const results: [string, number, unknown][] = []
  for (const { what, send, effect } of entries) {
    const [method, path, body, query] = send
    const answer = method === 'get' ? await root.get(path, query) : await root[method](path, body, query)
    if (path.startsWith('/db/') && method === 'post' && answer.status === 200) await museum.svc.drain()
    const seen =
      answer.status < 300 && effect ? seenIn(effect, answer.body) : answer.status >= 500 ? answer.body : undefined
    results.push([what, answer.status, seen])
  }
  assert.deepEqual(
    results,
    entries.map(({ what, status, expected }) => [what, status, expected]),
  )
})

test('who created an object is said by root, or by the one who did', async () => {
  const { svc } = museum
  await createUsers(svc, { user: { login: 'writer', reference: 'writer' } })
  const grant = { who: { user: ref('writer') }, rights: { create: {}, read: {}, write: {}, mask: {} } }
  const [type] = (await svc.as('root').get('/objecttype')).body.filter((one: Json) => one.objecttype.name === 'person')
  const { _id, _version } = type.objecttype
  const opened = await svc
    .as('root')
    .post('/objecttype', [{ objecttype: { _id, _version: _version + 1 }, _acl: [grant] }])
  assert.equal(opened.status, 200, JSON.stringify(opened.body))
  const creator = async (id: number): Promise<Json> => {
    const [read] = (await svc.as('root').get(`/db/person/_all_fields/${id}`, { format: 'long' })).body
    return read._create_user.user['lookup:_id'].reference
  }
  const by = (who: string, login: string, block: object = { name: 'n' }) =>
    svc
      .as(login)
      .post('/db/person', [
        { _objecttype: 'person', _mask: 'person__standard', person: block, _create_user: { user: ref(who) } },
      ])
  const own = await by('writer', 'writer')
  assert.equal(own.status, 200, JSON.stringify(own.body))
  assert.equal(await creator(own.body[0].person._id), 'writer')
  for (const who of ['system:root', 'nobody']) {
    const foreign = await by(who, 'writer')
    assert.deepEqual([foreign.status, foreign.body.code], [403, 'SystemRightRequired'], who)
  }
  const moved = await by('writer', 'root')
  const id = moved.body[0].person._id
  assert.equal(await creator(id), 'writer')
  const [long] = (await svc.as('root').get(`/db/person/person__standard/${id}`, { format: 'long' })).body
  const back = await svc.as('root').post('/db/person', [long])
  assert.deepEqual([back.status, back.headers['x-svc-ignored']], [200, undefined], JSON.stringify(back.body))
  const changed = await by('system:root', 'root', { _id: id, _version: 2, name: 'n' })
  assert.deepEqual([changed.status, changed.headers['x-svc-ignored']], [200, '0._create_user'])
  assert.equal(await creator(id), 'writer')
})
