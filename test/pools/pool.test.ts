import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startService } from '../support/service.ts'
import { statementsOf } from '../support/statements.ts'
import { codeOf, createPool, poolEvents } from './support.ts'

describe('the pools of a new instance', () => {
  test('are the root and a standard pool below it', async () => {
    await using svc = await startService()
    const { status, body } = await svc.as('root').get('/pool')
    assert.equal(status, 200)
    assert.deepEqual(
      body.map((each: { pool: { _id: number; _id_parent: number | null; reference: string }; _level: number }) => [
        each.pool._id,
        each.pool._id_parent,
        each.pool.reference,
        each._level,
      ]),
      [
        [1, null, 'system:root', 0],
        [2, 1, 'system:standard', 1],
      ],
    )
    const [root, standard] = body
    assert.equal(root.pool.is_system_pool, true)
    assert.equal(root._has_children, true)
    assert.deepEqual(
      standard._path.map((each: { pool: { _id: number } }) => each.pool._id),
      [1],
    )
    assert.deepEqual(standard._acl, [])
    assert.ok('bag_delete' in standard._generated_rights)
  })

  test('are seen only by users', async () => {
    await using svc = await startService()
    const { status, body } = await svc.as(null).get('/pool')
    assert.deepEqual([status, body.code], [401, 'UserRequired'])
  })
})

describe('saving', () => {
  test('creates a pool below the one named by reference; it reads back as it was answered', async () => {
    await using svc = await startService()
    const root = svc.as('root')
    const sent = {
      _basetype: 'pool',
      pool: {
        _version: 1,
        'lookup:_id_parent': { reference: 'system:root' },
        reference: 'photos',
        name: { 'de-DE': 'Fotos', 'en-US': 'Photos' },
        shortname: { 'en-US': 'ph' },
        description: { 'en-US': 'All photos' },
        comment: 'internal',
        contact: { _basetype: 'user', user: { 'lookup:_id': { reference: 'system:root' } } },
        watermark: { gravity: 'se', dissolve: 40, size: '20%', tile: false },
        caption: { image: { text: '%title%', size: '5%', padding: '4' } },
        janitor_policy: { object_purge: { min_deleted_days: 30 } },
        custom_data: { cost_centre: 7 },
        mapping_dc_export: 'none',
      },
      _private_tags: true,
    }
    const { status, body } = await root.post('/pool', [sent])
    assert.equal(status, 200)
    const { pool, _level, _private_tags, _owner } = body[0]
    assert.deepEqual([pool._version, pool._id_parent, _level, _private_tags], [1, 1, 1, true])
    assert.equal(_owner.user._id, 1)
    for (const name of [
      'name',
      'shortname',
      'description',
      'comment',
      'watermark',
      'caption',
      'janitor_policy',
      'custom_data',
      'mapping_dc_export',
    ] as const) {
      assert.deepEqual(pool[name], sent.pool[name], name)
    }
    assert.equal(pool.contact.user._id, 1)
    assert.deepEqual((await root.get(`/pool/${pool._id}`)).body, body)
  })

  test('an update names the version it was made from; what it does not say stays', async () => {
    await using svc = await startService()
    const root = svc.as('root')
    const created = await createPool(root, { name: { 'en-US': 'A' }, comment: 'kept' })
    const update = { pool: { _id: created._id, _version: 1, name: { 'en-US': 'B' } } }
    const { status, body } = await root.put('/pool', [update])
    assert.equal(status, 200)
    assert.deepEqual([body[0].pool._version, body[0].pool.name, body[0].pool.comment], [2, { 'en-US': 'B' }, 'kept'])
    const stale = await root.post('/pool', [update])
    assert.equal(codeOf(stale), 'VersionMismatch')
    assert.deepEqual([stale.body.parameters.got, stale.body.parameters.expected], [1, 2])
    const cleared = await root.post('/pool', [{ pool: { _id: created._id, _version: 2, comment: null, name: null } }])
    assert.deepEqual([cleared.body[0].pool.comment, cleared.body[0].pool.name], ['', {}])
  })

  test('with the version convention `next` the client sends the version to come', async () => {
    await using svc = await startService({ versionConvention: 'next' })
    const root = svc.as('root')
    const { _id } = await createPool(root, {})
    assert.equal(codeOf(await root.post('/pool', [{ pool: { _id, _version: 1 } }])), 'VersionMismatch')
    assert.equal((await root.post('/pool', [{ pool: { _id, _version: 2 } }])).body[0].pool._version, 2)
  })

  test('a batch may create parents and children in any order', async () => {
    await using svc = await startService()
    const { body } = await svc
      .as('root')
      .post('/pool', [
        { pool: { reference: 'leaf', 'lookup:_id_parent': { reference: 'branch' } } },
        { pool: { reference: 'branch', 'lookup:_id_parent': { reference: 'trunk' } } },
        { pool: { reference: 'trunk', _id_parent: 1 } },
      ])
    assert.deepEqual(
      body.map((each: { _level: number }) => each._level),
      [3, 2, 1],
    )
  })

  test('two pools may swap their references', async () => {
    await using svc = await startService()
    const root = svc.as('root')
    const [a, b] = [await createPool(root, { reference: 'a' }), await createPool(root, { reference: 'b' })]
    const { status } = await root.post('/pool', [
      { pool: { _id: a._id, _version: 1, reference: 'b' } },
      { pool: { _id: b._id, _version: 1, reference: 'a' } },
    ])
    assert.equal(status, 200)
  })

  test('is all or nothing', async () => {
    await using svc = await startService()
    const root = svc.as('root')
    const before = (await root.get('/pool')).body
    const answer = await root.post('/pool', [{ pool: { _id_parent: 1 } }, { pool: { _id_parent: 999 } }])
    assert.equal(codeOf(answer), 'PoolNotFound')
    assert.deepEqual((await root.get('/pool')).body, before)
  })

  test('each mistake has its code and says where it is', async () => {
    await using svc = await startService()
    const root = svc.as('root')
    const taken = await createPool(root, { reference: 'taken' })
    const below = await createPool(root, { _id_parent: taken._id })
    const table: [unknown, string, string][] = [
      [{ pool: {} }, 'PoolNeedsParent', 'pool[0].pool._id_parent'],
      [{ pool: { _id: taken._id, _version: 1, _id_parent: null } }, 'PoolNeedsParent', 'pool[0].pool._id_parent'],
      [{ pool: { _id_parent: 77 } }, 'PoolNotFound', 'pool[0].pool._id_parent'],
      [{ pool: { _id: 77, _version: 1 } }, 'PoolNotFound', 'pool[0].pool._id'],
      [{ pool: { 'lookup:_id_parent': { reference: 'no' } } }, 'LookupNotFound', 'pool[0].pool.lookup:_id_parent'],
      [{ pool: { 'lookup:_id': { reference: 'no' }, _version: 1 } }, 'LookupNotFound', 'pool[0].pool.lookup:_id'],
      [{ pool: { _id: taken._id } }, 'ServerGeneric', 'pool[0].pool._version'],
      [{ pool: { _id_parent: 1, _version: 4 } }, 'ServerGeneric', 'pool[0].pool._id'],
      [{ pool: { _id_parent: 1, is_system_pool: true } }, 'UnableToSetIsSystemPool', 'pool[0].pool.is_system_pool'],
      [
        { pool: { _id: 2, _version: 1, is_system_pool: false } },
        'UnableToSetIsSystemPool',
        'pool[0].pool.is_system_pool',
      ],
      [{ pool: { _id: 2, _version: 1, reference: 'mine' } }, 'ServerGeneric', 'pool[0].pool.reference'],
      [{ pool: { _id: 1, _version: 1, _id_parent: 2 } }, 'IllegalPathForPool', 'pool[0].pool._id_parent'],
      [
        { pool: { _id: taken._id, _version: 1, _id_parent: taken._id } },
        'IllegalPathForPool',
        'pool[0].pool._id_parent',
      ],
      [
        { pool: { _id: taken._id, _version: 1, _id_parent: below._id } },
        'IllegalPathForPool',
        'pool[0].pool._id_parent',
      ],
      [{ pool: { _id_parent: 1, reference: 'taken' } }, 'DatabaseUniqueKeyViolation', 'pool[0].pool.reference'],
      [
        { pool: { _id_parent: 1, contact: { user: { _id: 4711 } } } },
        'LookupNotFound',
        'pool[0].pool.contact.user._id',
      ],
      [{ pool: { _id_parent: 1, contact: { _owner: true } } }, 'ServerGeneric', 'pool[0].pool.contact._owner'],
      [{ pool: { _id_parent: 1, watermark: { gravity: 'up' } } }, 'ServerGeneric', 'pool[0].pool.watermark.gravity'],
      [{ pool: { _id_parent: 1, watermark: { dissolve: 101 } } }, 'ServerGeneric', 'pool[0].pool.watermark.dissolve'],
      [
        { pool: { _id_parent: 1, caption: { image: { size: '80%' } } } },
        'ServerGeneric',
        'pool[0].pool.caption.image.size',
      ],
      [
        { pool: { _id_parent: 1, janitor_policy: { object_purge: { min_deleted_days: -1 } } } },
        'ServerGeneric',
        'pool[0].pool.janitor_policy.object_purge.min_deleted_days',
      ],
      [{ pool: { _id_parent: 1, mapping_image_import: 3 } }, 'LookupNotFound', 'pool[0].pool.mapping_image_import'],
      [{ pool: { _id_parent: 1, name: { 'en-US': 'a\u0000b' } } }, 'ServerGeneric', 'pool[0].pool.name.en-US'],
      [{ pool: { _id_parent: 1 }, _tags: [{ _id: 9 }] }, 'TagNotFound', 'pool[0]._tags[0]._id'],
      [{ pool: { _id_parent: 1 }, _standard_masks: { 9: [1] } }, 'ServerGeneric', 'pool[0]._standard_masks.9'],
      [
        { pool: { _id_parent: 1 }, _acl: [{ who: { user: { _id: 1 } }, rights: { fly: {} } }] },
        'UnknownRight',
        'pool[0]._acl[0].rights.fly',
      ],
      [
        { pool: { _id_parent: 1 }, _acl: [{ who: { user: { _id: 4711 } }, rights: {} }] },
        'LookupNotFound',
        'pool[0]._acl[0].who.user._id',
      ],
      [
        { pool: { _id_parent: 1 }, _acl: [{ who: { _owner: true }, rights: {}, tagfilter: { all: [9] } }] },
        'TagNotFound',
        'pool[0]._acl[0].tagfilter',
      ],
    ]
    const before = (await root.get('/pool')).body
    for (const [entry, code, path] of table) {
      const { status, body } = await root.post('/pool', [entry])
      assert.deepEqual(
        { status, code: body.code, path: body.parameters?.path },
        { status: 400, code, path },
        JSON.stringify(entry),
      )
    }
    assert.equal((await root.post('/pool', [{ _basetype: 'group', pool: { _id_parent: 1 } }])).status, 400)
    assert.deepEqual((await root.get('/pool')).body, before)
  })

  test('an entry that is in the request twice is refused', async () => {
    await using svc = await startService()
    const twice = { pool: { _id: 2, _version: 1 } }
    assert.equal(codeOf(await svc.as('root').post('/pool', [twice, twice])), 'ServerGeneric')
  })

  test('two writers with the same version: one wins, the other gets VersionMismatch or 423', async () => {
    await using svc = await startService()
    const root = svc.as('root')
    const { _id } = await createPool(root, {})
    await root.token()
    const answers = await Promise.all(
      ['A', 'B', 'C'].map((text) => root.post('/pool', [{ pool: { _id, _version: 1, name: { 'en-US': text } } }])),
    )
    assert.equal(answers.filter((answer) => answer.status === 200).length, 1)
    for (const answer of answers.filter((each) => each.status !== 200)) {
      assert.match(codeOf(answer), /^(VersionMismatch|DatabaseLockError)$/)
    }
  })
})

describe('moving', () => {
  test('takes the pools below along', async () => {
    await using svc = await startService()
    const root = svc.as('root')
    const [a, b] = [await createPool(root, {}), await createPool(root, {})]
    const child = await createPool(root, { _id_parent: a._id })
    const grandchild = await createPool(root, { _id_parent: child._id })
    await root.post('/pool', [{ pool: { _id: child._id, _version: 1, _id_parent: b._id } }])
    const { body } = await root.get(`/pool/${grandchild._id}`)
    assert.deepEqual(
      body[0]._path.map((each: { pool: { _id: number } }) => each.pool._id),
      [1, b._id, child._id],
    )
    assert.equal((await root.get(`/pool/${a._id}`)).body[0]._has_children, false)
  })
})

describe('deleting', () => {
  test('takes the pools below along and tells the parent', async () => {
    await using svc = await startService()
    const root = svc.as('root')
    const top = await createPool(root, {})
    const below = await createPool(root, { _id_parent: top._id })
    const seen = (await poolEvents(svc)).length
    const { status, body } = await root.delete(`/pool/${top._id}`)
    assert.deepEqual([status, body], [200, { status: { acknowledged: 'ok' } }])
    assert.deepEqual((await poolEvents(svc)).slice(seen), [
      ['POOL_DELETE', top._id],
      ['POOL_DELETE', below._id],
      ['POOL_UPDATE', 1],
    ])
    assert.equal((await root.get('/pool')).body.length, 2)
    const next = await createPool(root, {})
    assert.ok(next._id > below._id, 'ids are not used again')
  })

  test('is refused for system pools, unknown pools and pools that hold objects', async () => {
    await using svc = await startService()
    const root = svc.as('root')
    assert.equal(codeOf(await root.delete('/pool/2')), 'ServerGeneric')
    const unknown = await root.delete('/pool/77')
    assert.deepEqual(
      [unknown.status, unknown.body.code, unknown.body.parameters],
      [404, 'ResourceNotFound', { resource: 'Pool 77' }],
    )
    const top = await createPool(root, {})
    const below = await createPool(root, { _id_parent: top._id })
    await svc.db.query(
      `insert into object (system_object_id, objecttype, id, version, uuid, pool_id, created_at, modified_at)
       values (1, 1, 1, 1, 'a', $1, now(), now())`,
      [below._id],
    )
    const full = await root.delete(`/pool/${top._id}`)
    assert.deepEqual([full.status, full.body.code, full.body.parameters.objects], [400, 'PoolNotEmpty', 1])
    assert.equal((await root.get('/pool')).body.length, 4)
  })
})

describe('events', () => {
  test('name the pool; the parent is updated when its children change', async () => {
    await using svc = await startService()
    const root = svc.as('root')
    const a = await createPool(root, { reference: 'a', name: { 'en-US': 'A' }, shortname: { 'en-US': 'sa' } })
    const b = await createPool(root, {})
    await root.post('/pool', [{ pool: { _id: b._id, _version: 1, _id_parent: a._id } }])
    assert.deepEqual(await poolEvents(svc), [
      ['POOL_INSERT', a._id],
      ['POOL_UPDATE', 1],
      ['POOL_INSERT', b._id],
      ['POOL_UPDATE', 1],
      ['POOL_UPDATE', b._id],
      ['POOL_UPDATE', a._id],
      ['POOL_UPDATE', 1],
    ])
    const { body } = await root.get('/event/poll/0')
    const inserted = body.find((each: { event: { type: string } }) => each.event.type === 'POOL_INSERT')
    assert.equal(inserted.event.pollable, true)
    assert.deepEqual(inserted.event.info, {
      displayname: { 'en-US': 'A' },
      shortname: { 'en-US': 'sa' },
      reference: 'a',
    })
  })

  test('none are written for a save that fails', async () => {
    await using svc = await startService()
    await svc.as('root').post('/pool', [{ pool: { _id_parent: 1 } }, { pool: {} }])
    assert.deepEqual(await poolEvents(svc), [])
  })
})

describe('cost', () => {
  test('a batch of 500 pools takes as many statements as one of 5', async () => {
    await using svc = await startService()
    const root = svc.as('root')
    const batch = (size: number) =>
      Array.from({ length: size }, () => ({
        pool: { _id_parent: 1 },
        _acl: [{ who: { user: { _id: 1 } }, rights: { read: {} } }],
      }))
    await root.post('/pool', batch(1))
    const few = await statementsOf(svc, () => root.post('/pool', batch(5)))
    const many = await statementsOf(svc, () => root.post('/pool', batch(500)), { enough: few })
    assert.equal(many, few)
  })
})
