import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { objectRights } from '../../src/rights/catalogue.ts'
import { isEverything } from '../../src/rights/expression.ts'
import { grant, noon, object, pool, rightsOf } from './support.ts'

const before = '2026-06-01T11:00:00.000Z'
const after = '2026-06-01T13:00:00.000Z'

describe('who is addressed', () => {
  const table = [
    { who: 'u5', reads: true },
    { who: 'u6', reads: false },
    { who: 'g3', reads: true },
    { who: 'g9', reads: false },
    { who: 'owner', reads: false },
    { who: 'contact', reads: false },
  ] as const
  for (const { who, reads } of table) {
    test(`a grant to ${who} ${reads ? 'reaches' : 'does not reach'} user 5 of the groups 3 and 4`, () => {
      const rights = rightsOf({ pools: [pool(1, null), pool(2, 1, [grant(who, 'read')])] })
      assert.equal(rights.may('read', object()), reads)
    })
  }

  test('root passes every check, without any grant', () => {
    const rights = rightsOf({ pools: [pool(1, null), pool(2, 1)] }, { root: true })
    for (const right of objectRights) assert.equal(rights.may(right, object()), true, right)
    assert.ok(isEverything(rights.readable()))
    assert.equal(rights.maskIds(object()), null)
    assert.equal(rights.mayPool('bag_delete', 2), true)
  })

  test('owners read, write and delete without a grant, but neither create nor upload', () => {
    const rights = rightsOf({ pools: [pool(1, null), pool(2, 1)] })
    for (const owned of [object({ ownerUserId: 5 }), object({ ownerGroupId: 4 })]) {
      for (const right of ['read', 'write', 'delete', 'acl', 'change_owner', 'asset_download'] as const) {
        assert.equal(rights.may(right, owned), true, right)
      }
      assert.equal(rights.may('asset_upload', owned), false)
      assert.equal(rights.may('create', owned), false)
      assert.deepEqual(rights.rightsOn(owned).owner, {})
    }
    assert.equal(rights.may('read', object({ ownerUserId: 6 })), false)
  })

  test('a pool grant to the owner means the owner of the object for its rights, of the pool for those on the pool', () => {
    const source = { pools: [pool(1, null), pool(2, 1, [grant('owner', 'asset_upload bag_read')], { owner: 'u6' })] }
    assert.equal(rightsOf(source).may('asset_upload', object({ ownerUserId: 5 })), true)
    assert.equal(rightsOf(source).may('asset_upload', object({ ownerUserId: 6 })), false)
    assert.equal(rightsOf(source).mayPool('bag_read', 2), false)
    assert.equal(rightsOf(source, { userId: 6 }).mayPool('bag_read', 2), true)
    assert.equal(rightsOf(source, { userId: 6 }).may('asset_upload', object({ ownerUserId: 5 })), false)
  })

  test('the contact is that of the pool in which the object lives, also for inherited grants', () => {
    const pools = [
      pool(1, null, [grant('contact', 'read')], { contact: 'u9' }),
      pool(2, 1, [], { contact: 'u5' }),
      pool(3, 1, [], { contact: 'g4' }),
      pool(4, 1),
    ]
    const rights = rightsOf({ pools })
    assert.deepEqual(
      [2, 3, 4].map((poolId) => rights.may('read', object({ poolId }))),
      [true, true, false],
    )
  })
})

describe('inheritance', () => {
  test('grants of a pool reach the pools below it', () => {
    const pools = [pool(1, null), pool(2, 1, [grant('u5', 'read')]), pool(3, 2), pool(4, 3), pool(5, 1)]
    const rights = rightsOf({ pools })
    assert.deepEqual(
      [2, 3, 4, 5].map((poolId) => rights.may('read', object({ poolId }))),
      [true, true, true, false],
    )
  })

  test('private permissions cut what is above, for the pool and everything below; sticky grants stay', () => {
    const pools = [
      pool(1, null, [grant('u5', 'read'), grant('g3', 'write', { sticky: true })]),
      pool(2, 1, [grant('u5', 'delete')], { privateAcl: true }),
      pool(3, 2),
    ]
    const rights = rightsOf({ pools })
    for (const poolId of [2, 3]) {
      const right = (name: 'read' | 'write' | 'delete') => rights.may(name, object({ poolId }))
      assert.deepEqual([right('read'), right('write'), right('delete')], [false, true, true])
    }
  })

  test('objects without pool take the grants of their type, objects in a pool do not', () => {
    const objecttypes = new Map([[10, [grant('u5', 'read create')]]])
    const rights = rightsOf({ pools: [pool(1, null), pool(2, 1)], objecttypes })
    assert.equal(rights.may('read', object({ poolId: null })), true)
    assert.equal(rights.may('read', object({ poolId: null, objecttypeId: 11 })), false)
    assert.equal(rights.may('read', object()), false)
    assert.equal(rights.mayCreate(10, null), true)
    assert.equal(rights.mayCreate(10, 2), false)
  })
})

describe('grants on objects', () => {
  const pools = [pool(1, null), pool(2, 1, [grant('u5', 'read'), grant('u5', 'write', { sticky: true })])]

  test('add to those of the pool', () => {
    const own = object({ acl: [grant('g3', 'delete')] })
    const rights = rightsOf({ pools })
    assert.deepEqual([rights.may('read', own), rights.may('delete', own)], [true, true])
    assert.equal(rights.may('delete', object({ acl: [grant('u6', 'delete')] })), false)
  })

  test('alone count with private permissions, beside sticky grants of the pool', () => {
    const rights = rightsOf({ pools })
    const own = object({ privateAcl: true, acl: [grant('u5', 'delete')] })
    assert.deepEqual(
      [rights.may('read', own), rights.may('write', own), rights.may('delete', own)],
      [false, true, true],
    )
  })

  test('reach owner and contact', () => {
    const rights = rightsOf({ pools: [pool(1, null), pool(2, 1, [], { contact: 'u5' })] })
    const acl = [grant('contact', 'read'), grant('owner', 'asset_upload')]
    assert.equal(rights.may('read', object({ acl })), true)
    assert.equal(rights.may('read', object({ acl, poolId: null })), false)
    assert.equal(rights.may('asset_upload', object({ acl, ownerGroupId: 3 })), true)
  })
})

describe('conditions of a grant', () => {
  const table = [
    { name: 'no window', window: {}, reads: true },
    { name: 'since an hour', window: { from: before }, reads: true },
    { name: 'in an hour', window: { from: after }, reads: false },
    { name: 'until in an hour', window: { to: after }, reads: true },
    { name: 'until an hour ago', window: { to: before }, reads: false },
    { name: 'from now', window: { from: new Date(noon).toISOString() }, reads: true },
    { name: 'until now', window: { to: new Date(noon).toISOString() }, reads: false },
    { name: 'suspended', window: { active: false as const }, reads: false },
  ]
  for (const { name, window, reads } of table) {
    test(`${name}: ${reads ? 'in force' : 'not in force'}`, () => {
      const entry = grant('u5', 'read', window)
      assert.equal(rightsOf({ pools: [pool(1, null), pool(2, 1, [entry])] }).may('read', object()), reads)
      assert.equal(rightsOf({ pools: [pool(1, null), pool(2, 1)] }).may('read', object({ acl: [entry] })), reads)
    })
  }

  test('tags: all, any and not hold together', () => {
    const tagfilter = { all: [1, 2], any: [3, 4], not: [5] }
    const rights = rightsOf({ pools: [pool(1, null), pool(2, 1, [grant('u5', 'read', { tagfilter })])] })
    const reads = (...tags: number[]) => rights.may('read', object({ tags }))
    assert.deepEqual(
      [reads(1, 2, 3), reads(1, 2, 4, 9), reads(1, 3), reads(1, 2), reads(1, 2, 3, 5)],
      [true, true, false, false, false],
    )
  })

  test('a right limited to object types fits only these; an empty list fits none', () => {
    const limited = (objecttype_ids: number[]) =>
      rightsOf({
        pools: [pool(1, null), pool(2, 1, [grant('u5', { read: { objecttype_ids }, create: { objecttype_ids } })])],
      })
    assert.equal(limited([10, 11]).may('read', object()), true)
    assert.equal(limited([11]).may('read', object()), false)
    assert.equal(limited([]).may('read', object()), false)
    assert.equal(limited([11]).mayCreate(10, 2), false)
    assert.equal(limited([10]).mayCreate(10, 2), true)
  })
})

describe('masks', () => {
  const masks = (...grants: ReturnType<typeof grant>[]) => rightsOf({ pools: [pool(1, null), pool(2, 1, grants)] })

  test('any mask goes with a right that does not limit them', () => {
    assert.equal(masks(grant('u5', 'read')).maskIds(object()), null)
    assert.equal(masks(grant('u5', { read: { mask_ids: { 11: [7] } } })).maskIds(object()), null)
  })

  test('limits of one grant hold together, several grants add up', () => {
    const both = masks(grant('u5', { read: { mask_ids: { 10: [1, 2] } }, mask: { mask_ids: { 10: [2, 3] } } }))
    assert.deepEqual(both.maskIds(object()), new Set([2]))
    const several = masks(
      grant('u5', { read: { mask_ids: { 10: [1] } } }),
      grant('g3', { read: { mask_ids: { 10: ['standard'] } } }),
    )
    assert.deepEqual(several.maskIds(object()), new Set([1, 'standard']))
    assert.deepEqual(masks().maskIds(object()), new Set())
  })

  test('the masks for reading and for writing may differ', () => {
    const rights = masks(grant('u5', { read: {}, write: { mask_ids: { 10: [1] } } }))
    assert.equal(rights.maskIds(object(), 'read'), null)
    assert.deepEqual(rights.maskIds(object(), 'write'), new Set([1]))
    const mask = { id: 2, isAllFields: false, isStandard: false }
    assert.equal(rights.mayUseMask(mask, object(), 'read'), true)
    assert.equal(rights.mayUseMask(mask, object(), 'write'), false)
    assert.equal(rights.mayUseMask({ ...mask, id: 1 }, object(), 'write'), true)
  })

  test('_all_fields is for root, unless the type has no other mask', () => {
    const all = { id: 9, isAllFields: true, isStandard: false }
    assert.equal(masks(grant('u5', 'read')).mayUseMask(all, object()), false)
    assert.equal(masks(grant('u5', 'read')).mayUseMask({ ...all, isStandard: true }, object()), true)
    assert.equal(rightsOf({}, { root: true }).mayUseMask(all, object()), true)
  })
})

describe('creating', () => {
  test('nothing is created in the root pool or an unknown one, even by root', () => {
    const pools = [pool(1, null, [grant('u5', 'create')]), pool(2, 1)]
    for (const rights of [rightsOf({ pools }), rightsOf({ pools }, { root: true })]) {
      assert.deepEqual(
        [rights.mayCreate(10, 1), rights.mayCreate(10, 2), rights.mayCreate(10, 3)],
        [false, true, false],
      )
    }
  })

  test('a tag filter asks for the tags of the new object; who creates is its owner', () => {
    const tagfilter = { all: [1], any: [], not: [] }
    const pools = [pool(1, null), pool(2, 1, [grant('owner', 'create', { tagfilter })])]
    assert.deepEqual([rightsOf({ pools }).mayCreate(10, 2), rightsOf({ pools }).mayCreate(10, 2, [1])], [false, true])
  })
})

describe('generated rights', () => {
  test('name to parameters; several grants of a right give the wider of each parameter', () => {
    const grants = [
      grant('u5', { asset_download: { versions: ['image.small'], classes: ['image'] } }),
      grant('g3', { asset_download: { versions: ['image.full'] }, asset_upload: { limit: 10 } }),
      grant('g4', { asset_upload: { limit: 20, allow_update_and_remove: true } }),
    ]
    assert.deepEqual(rightsOf({ pools: [pool(1, null), pool(2, 1, grants)] }).rightsOn(object()), {
      asset_download: { versions: ['image.small', 'image.full'] },
      asset_upload: { limit: 20, allow_update_and_remove: true },
    })
  })

  test('on a pool: what its own and inherited grants give, but not what a tag filter limits', () => {
    const tagfilter = { all: [1], any: [], not: [] }
    const pools = [
      pool(1, null, [grant('u5', 'bag_read')]),
      pool(2, 1, [grant('u5', 'read'), grant('u5', 'write', { tagfilter })]),
    ]
    assert.deepEqual(rightsOf({ pools }).rightsOnPool(2), { bag_read: {}, read: {} })
    assert.deepEqual(rightsOf({ pools }, { userId: 6, groupIds: [] }).rightsOnPool(2), {})
  })
})
