import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { AppError } from '../../src/platform/errors.ts'
import { parseAcl, renderAcl, toGrant } from '../../src/rights/acl.ts'
import { type RightContext, rightsCatalogue } from '../../src/rights/catalogue.ts'
import { parseSystemRights } from '../../src/rights/right-items.ts'
import { keepSticky } from '../../src/rights/sticky.ts'
import { grant, noon } from './support.ts'

const user = { user: { _id: 5 } }

function refusal(work: () => unknown): { code: string; path: unknown } {
  try {
    work()
  } catch (error) {
    if (error instanceof AppError) return { code: error.code, path: error.parameters.path }
    throw error
  }
  return { code: 'accepted', path: null }
}

describe('a grant list as sent', () => {
  test('comes out in stored form and goes back as it was', () => {
    const wire = [
      {
        _id: 7,
        who: { _basetype: 'group', group: { _id: 3 } },
        sticky: true,
        active: false,
        when: { from: '2026-01-01T00:00:00+02:00', to: '2027-01-01T00:00:00Z' },
        rights: { read: { mask_ids: { 12: [1, 'standard'] } }, bag_read: {}, asset_upload: { limit: '10MB' } },
        tagfilter: { all: [1], not: [2] },
      },
      { who: { _owner: true }, rights: { write: { _grantable: true } } },
      { who: { _pool_contact: true }, rights: {} },
    ]
    const drafts = parseAcl('pool', wire, '_acl')
    assert.deepEqual(
      drafts.map(({ id, who }) => ({ id, who })),
      [
        { id: 7, who: { kind: 'group', by: 3, path: '_acl[0].who.group._id' } },
        { id: null, who: { kind: 'owner' } },
        { id: null, who: { kind: 'contact' } },
      ],
    )
    const stored = drafts.map((draft, index) =>
      toGrant(draft, index + 7, (['g3', 'owner', 'contact'] as const)[index] ?? 'u1'),
    )
    assert.deepEqual(stored[0], {
      id: 7,
      who: 'g3',
      rights: { read: { mask_ids: { 12: [1, 'standard'] } }, bag_read: {}, asset_upload: { limit: 10_000_000 } },
      tagfilter: { all: [1], any: [], not: [2] },
      from: '2025-12-31T22:00:00.000Z',
      to: '2027-01-01T00:00:00.000Z',
      active: false,
      sticky: true,
    })
    const names = new Map([['g3', { id: 3, reference: 'editors', displayname: 'Editors' }]] as const)
    const shown = renderAcl(stored, names)
    assert.deepEqual(shown[0]?.who, {
      _basetype: 'group',
      group: { _id: 3, 'lookup:_id': { reference: 'editors' }, _generated_displayname: 'Editors' },
    })
    assert.deepEqual(shown[0]?.tagfilter, { all: [1], not: [2] })
    assert.deepEqual(shown[1], {
      _id: 8,
      who: { _owner: true },
      active: true,
      sticky: false,
      rights: { write: { _grantable: true } },
    })
    const again = parseAcl('pool', shown, '_acl').map((draft, index) =>
      toGrant(draft, draft.id ?? 0, stored[index]?.who ?? 'u1'),
    )
    assert.deepEqual(again, stored)
  })

  const wrong = [
    { entry: { who: user, rights: { raed: {} } }, code: 'UnknownRight', path: '_acl[0].rights.raed' },
    {
      entry: { who: user, rights: { bag_read: {} } },
      code: 'UnknownRight',
      path: '_acl[0].rights.bag_read',
      context: 'object',
    },
    {
      entry: { who: user, rights: { create: {} } },
      code: 'UnknownRight',
      path: '_acl[0].rights.create',
      context: 'object',
    },
    {
      entry: { who: user, rights: { read: { versions: [] } } },
      code: 'UnknownRightParam',
      path: '_acl[0].rights.read.versions',
    },
    {
      entry: { who: user, rights: { read: { objecttype_ids: [0] } } },
      code: 'UnknownRightValue',
      path: '_acl[0].rights.read.objecttype_ids',
    },
    {
      entry: { who: user, rights: { read: { mask_ids: { a: [1] } } } },
      code: 'UnknownRightValue',
      path: '_acl[0].rights.read.mask_ids',
    },
    {
      entry: { who: user, rights: { asset_upload: { limit: 'much' } } },
      code: 'UnknownRightValue',
      path: '_acl[0].rights.asset_upload.limit',
    },
    {
      entry: { who: user, rights: { read: { _grantable: 1 } } },
      code: 'UnknownRightValue',
      path: '_acl[0].rights.read._grantable',
    },
    { entry: { who: user, rights: [] }, code: 'ServerGeneric', path: '_acl[0].rights' },
    { entry: { rights: {} }, code: 'ServerGeneric', path: '_acl[0].who' },
    { entry: { who: { user: { _id: 1 }, group: { _id: 1 } }, rights: {} }, code: 'ServerGeneric', path: '_acl[0].who' },
    {
      entry: { who: { _basetype: 'group', user: { _id: 1 } }, rights: {} },
      code: 'ServerGeneric',
      path: '_acl[0].who._basetype',
    },
    { entry: { who: { user: { _id: 'x' } }, rights: {} }, code: 'ServerGeneric', path: '_acl[0].who.user._id' },
    { entry: { who: { user: {} }, rights: {} }, code: 'ServerGeneric', path: '_acl[0].who.user' },
    {
      entry: { who: { _pool_contact: true }, rights: {} },
      code: 'ServerGeneric',
      path: '_acl[0].who._pool_contact',
      context: 'collection',
    },
    { entry: { who: user, rights: {}, when: { from: 'tomorrow' } }, code: 'ServerGeneric', path: '_acl[0].when.from' },
    {
      entry: { who: user, rights: {}, when: { from: '2026-02-31T00:00:00Z' } },
      code: 'ServerGeneric',
      path: '_acl[0].when.from',
    },
    {
      entry: { who: user, rights: {}, when: { from: '2026-02-02T00:00:00Z', to: '2026-02-01T00:00:00Z' } },
      code: 'ServerGeneric',
      path: '_acl[0].when',
    },
    {
      entry: { who: user, rights: {}, tagfilter: { changed: [1] } },
      code: 'ServerGeneric',
      path: '_acl[0].tagfilter.changed',
    },
    {
      entry: { who: user, rights: {}, tagfilter: { any: ['a'] } },
      code: 'ServerGeneric',
      path: '_acl[0].tagfilter.any',
    },
    {
      entry: { who: user, rights: {}, sticky: true },
      code: 'ServerGeneric',
      path: '_acl[0].sticky',
      context: 'object',
    },
    { entry: { who: user, rights: {}, _right_preset: 4 }, code: 'ServerGeneric', path: '_acl[0]._right_preset' },
    { entry: 'everybody', code: 'ServerGeneric', path: '_acl[0]' },
  ] as const
  for (const { entry, code, path, ...rest } of wrong) {
    test(`${JSON.stringify(entry)} is refused with ${code} at ${path}`, () => {
      const context: RightContext = 'context' in rest ? rest.context : 'pool'
      assert.deepEqual(
        refusal(() => parseAcl(context, [entry], '_acl')),
        { code, path },
      )
    })
  }

  test('an id that occurs twice is refused', () => {
    const entry = { _id: 1, who: user, rights: {} }
    assert.deepEqual(
      refusal(() => parseAcl('pool', [entry, entry], '_acl')),
      { code: 'ServerGeneric', path: '_acl[1]._id' },
    )
  })

  test('whatever is sent, the answer is a list or an error that names the place', () => {
    const contexts = fc.constantFrom(...(Object.keys(rightsCatalogue) as RightContext[]))
    const entry = fc.record(
      {
        who: fc.oneof(fc.constant(user), fc.jsonValue()),
        rights: fc.oneof(fc.constant({ read: {} }), fc.jsonValue()),
        when: fc.jsonValue(),
        tagfilter: fc.jsonValue(),
        sticky: fc.jsonValue(),
        active: fc.jsonValue(),
        _id: fc.jsonValue(),
      },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(contexts, fc.oneof(fc.array(entry, { maxLength: 3 }), fc.jsonValue()), (context, wire) => {
        const { code } = refusal(() => parseAcl(context, wire, '_acl'))
        assert.match(code, /^(accepted|ServerGeneric|UnknownRight|UnknownRightParam|UnknownRightValue)$/)
      }),
      { numRuns: 500 },
    )
  })
})

describe('system rights', () => {
  test('the parameters that exist are accepted', () => {
    const wire = {
      'system.datamodel': { level: ['development', 'commit'] },
      'system.api.event': { get: true, delete: false },
      'system.api.publish': { get: true, post: true, delete: true },
      'system.group': {},
    }
    assert.deepEqual(parseSystemRights(wire), wire)
    assert.deepEqual(parseSystemRights({ 'system.datamodel': { level: 'commit' } }), {
      'system.datamodel': { level: ['commit'] },
    })
  })

  test('unknown ones are refused by name', () => {
    assert.equal(refusal(() => parseSystemRights({ 'system.rot': {} })).code, 'UnknownRight')
    assert.equal(refusal(() => parseSystemRights({ 'system.api.event': { put: true } })).code, 'UnknownRightParam')
    assert.equal(refusal(() => parseSystemRights({ 'system.datamodel': { level: ['all'] } })).code, 'UnknownRightValue')
  })
})

describe('the catalogue', () => {
  test('has a right of each name once in every context', () => {
    for (const context of ['system', 'pool', 'object', 'collection', 'tag', 'user'] as const) {
      const names = rightsCatalogue[context].rights.map((right) => right.name)
      assert.ok(names.length > 0)
      assert.equal(new Set(names).size, names.length)
    }
  })
})

describe('sticky grants', () => {
  const sticky = grant('g9', 'read', { id: 1, sticky: true })
  const plain = grant('g9', 'write', { id: 2 })
  const editor = { userId: 5, groupIds: [3], root: false }

  test('stay when a save by others leaves them out or changes them', () => {
    assert.deepEqual(keepSticky(editor, [sticky, plain], [], noon), [sticky])
    const changed = { ...sticky, rights: {} }
    assert.deepEqual(keepSticky(editor, [sticky, plain], [plain, changed], noon), [plain, sticky])
  })

  test('go when root clears them', () => {
    assert.deepEqual(keepSticky({ ...editor, root: true }, [sticky], [], noon), [])
  })

  test('go when the caller has the same rights by another sticky grant, as grantable', () => {
    const key = grant('g3', { read: { _grantable: true } }, { id: 3, sticky: true })
    assert.deepEqual(keepSticky(editor, [sticky, key], [key], noon), [key])
    const suspended = { ...key, active: false as const }
    assert.deepEqual(keepSticky(editor, [sticky, suspended], [suspended], noon), [sticky, suspended])
    const other = grant('g3', { write: { _grantable: true } }, { id: 3, sticky: true })
    assert.deepEqual(keepSticky(editor, [sticky, other], [other], noon), [sticky, other])
  })
})
