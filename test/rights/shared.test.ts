import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Caller, compile, prepare } from '../../src/rights/compile.ts'
import { callerRights } from '../../src/rights/evaluate.ts'
import { holds } from '../../src/rights/expression.ts'
import type { Guarded, PoolGrants, RightItem, StoredGrant } from '../../src/rights/model.ts'
import { prepareShares, sharedRights, sharesOf } from '../../src/rights/shares/compile.ts'
import { grant, noon, object, pool } from './support.ts'

const caller: Caller = { userId: 5, groupIds: [3], root: false }
const nothing = { granted: () => [], files: () => [] }

/** What user 5 has by a collection with the objects 1 and 2; `owner` keeps it. */
function through(acl: StoredGrant[], owner: Caller, pools: PoolGrants[] = []) {
  const prepared = prepare({ pools: [pool(1, null), ...pools], objecttypes: new Map() })
  const collection = {
    id: 50,
    parentId: null,
    ownerId: owner.userId,
    acl,
    privateAcl: false,
    list: { version: 1, ids: Float64Array.from([1, 2]) },
  }
  const shared = prepareShares({ collections: [collection], owners: new Map([[owner.userId, owner]]) }, new Map())
  const ownerOf = (one: Caller) => compile(prepared, one, noon)
  return callerRights(compile(prepared, caller, noon), { shares: sharesOf(shared, caller, noon), ownerOf }, () => noon)
}

const root: Caller = { userId: 1, groupIds: [], root: true }
const member = object({ systemObjectId: 2 })
const other = object({ systemObjectId: 3 })

test('each right on objects comes with its parameters through a collection', () => {
  const parameters: Readonly<Record<string, RightItem>> = {
    read: { objecttype_ids: [10], pool_ids: [2], mask_ids: { 10: [7] } },
    write: { objecttype_ids: [10], pool_ids: [2], mask_ids: { 10: [8] } },
    delete: { objecttype_ids: [10], pool_ids: [2] },
    acl: { objecttype_ids: [10], pool_ids: [2] },
    change_owner: { objecttype_ids: [10], pool_ids: [2] },
    mask: { mask_ids: { 10: [7, 8] } },
    asset_upload: { column_ids: [1], classes: ['image'], extensions: ['jpg'], limit: 9, allow_update_and_remove: true },
    asset_show: { column_ids: [1], classes: ['image'], versions: ['image.small'] },
    asset_download: { column_ids: [1], classes: ['image'], versions: ['image.small'] },
  }
  assert.deepEqual(new Set(Object.keys(parameters)), sharedRights)
  const rights = through([grant('u5', parameters)], root)
  for (const [name, item] of Object.entries(parameters)) {
    const right = name as 'read'
    const may = (guard: Guarded) => rights.may(right, guard)
    assert.deepEqual([may(member), may(other)], [true, false], name)
    assert.deepEqual([rights.itemsOn(right, member), rights.itemsOn(right, other)], [[item], []], name)
    if (item.objecttype_ids) assert.equal(may({ ...member, objecttypeId: 11 }), false, name)
    if (item.pool_ids) assert.equal(may({ ...member, poolId: 4 }), false, name)
  }
  assert.deepEqual(rights.maskIds(member), new Set([7]))
  assert.deepEqual(rights.maskIds(member, 'write'), new Set([8]))
  assert.deepEqual(rights.rightsOn(member), parameters)
  assert.deepEqual(rights.rightsOn(other), {})
  for (const name of ['link', 'unlink', 'create'] as const)
    assert.equal(through([grant('u5', name)], root).may(name, member), false, name)
  for (const guard of [member, other]) {
    assert.equal(holds(rights.readable(), guard, nothing), rights.may('read', guard))
    assert.equal(holds(rights.deletable().when, guard, nothing), rights.may('delete', guard))
    assert.deepEqual(
      rights
        .maskGrants(10)
        .filter(({ when }) => holds(when, guard, nothing))
        .map(({ masks }) => masks),
      guard === member ? [[7]] : [],
    )
  }
})

test('a collection gives no more than its owner may pass on: as grantable, as far as it goes, now', () => {
  const owner: Caller = { userId: 9, groupIds: [4], root: false }
  const held = (rights: StoredGrant['rights'], more: Partial<StoredGrant> = {}) => [
    pool(2, 1, [grant('g4', rights, more)]),
  ]
  const cases: readonly [string, StoredGrant['rights'], StoredGrant['rights'], boolean, Partial<StoredGrant>?][] = [
    ['grantable', { read: { _grantable: true } }, { read: {} }, true],
    ['held only', { read: {} }, { read: {} }, false],
    ['another right', { write: { _grantable: true } }, { read: {} }, false],
    ['fewer masks are held', { read: { _grantable: true, mask_ids: { 10: [7] } } }, { read: {} }, false],
    ['those masks', { read: { _grantable: true, mask_ids: { 10: [7] } } }, { read: { mask_ids: { 10: [7] } } }, true],
    ['another mask', { read: { _grantable: true, mask_ids: { 10: [7] } } }, { read: { mask_ids: { 10: [8] } } }, false],
    ['masks of others types', { read: { _grantable: true, mask_ids: { 11: [7] } } }, { read: {} }, true],
    ['masks by mask', { read: { _grantable: true }, mask: { mask_ids: { 10: [7] } } }, { read: {} }, false],
    ['another type', { read: { _grantable: true, objecttype_ids: [11] } }, { read: {} }, false],
    [
      'tags that do not fit',
      { read: { _grantable: true } },
      { read: {} },
      false,
      { tagfilter: { all: [3], any: [], not: [] } },
    ],
    ['ended', { read: { _grantable: true } }, { read: {} }, false, { to: '2026-01-01T00:00:00Z' }],
  ]
  for (const [name, own, given, expected, more] of cases) {
    const rights = through([grant('u5', given)], owner, held(own, more))
    assert.equal(rights.may('read', member), expected, name)
    assert.equal(holds(rights.readable(), member, nothing), expected, name)
    assert.equal(rights.may('read', other), false, name)
  }
  // What is the owner's own, by a group too, but not rights that owners do not have by themselves.
  const own = { ...member, ownerGroupId: 4 }
  assert.equal(through([grant('u5', 'read')], owner).may('read', own), true)
  assert.equal(through([grant('u5', 'asset_upload')], owner).may('asset_upload', own), false)
  // A right on the object by its own grants is not passed on, nor does a private object open.
  const acl = [grant('u9', { read: { _grantable: true } })]
  assert.equal(through([grant('u5', 'read')], owner).may('read', { ...member, acl }), false)
  const privately = { ...member, acl: [], privateAcl: true }
  const pools = held({ read: { _grantable: true } }, { sticky: true })
  assert.equal(through([grant('u5', 'read')], owner, pools).may('read', privately), false)
  assert.equal(through([grant('u5', 'read', { sticky: true })], owner, pools).may('read', privately), true)
})
