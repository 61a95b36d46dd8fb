import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { AppError } from '../../src/platform/errors.ts'
import { assertChoices, checkTags, effectiveTags, withTag } from '../../src/tags/check.ts'
import { createSnapshot, type Tag, type TagGroup } from '../../src/tags/model.ts'

function tag(id: number, groupId: number, groupType: TagGroup['type'], settings: Partial<Tag> = {}): Tag {
  return {
    id,
    version: 1,
    groupId,
    groupType,
    displayname: {},
    description: {},
    frontendPrefs: {},
    enabled: true,
    isDefault: false,
    sticky: false,
    type: 'individual',
    displaytype: 'facet',
    reference: `tag${id}`,
    shortname: null,
    acl: [],
    ...settings,
  }
}

function group(id: number, type: TagGroup['type'], tags: Tag[]): TagGroup {
  return { id, version: 1, displayname: {}, reference: null, shortname: null, type, tags }
}

const [draft, review, published, featured, retired, embargoed] = [1, 2, 3, 4, 5, 6] as const
const snapshot = createSnapshot([
  group(1, 'choice', [
    tag(draft, 1, 'choice', { isDefault: true }),
    tag(review, 1, 'choice', { isDefault: true }),
    tag(published, 1, 'choice'),
  ]),
  group(2, 'checkbox', [
    tag(featured, 2, 'checkbox', { isDefault: true }),
    tag(retired, 2, 'checkbox', { enabled: false, isDefault: true }),
    tag(embargoed, 2, 'checkbox', { sticky: true }),
  ]),
])

function refused(code: string, parameters: object) {
  return (error: unknown): boolean => {
    assert.ok(error instanceof AppError)
    assert.equal(error.code, code)
    assert.deepEqual({ ...error.parameters, ...parameters }, error.parameters)
    return true
  }
}

test('a new object without tags gets the enabled default tags, one of each choice group', () => {
  assert.deepEqual(checkTags(snapshot, { tags: undefined, previous: null }), [draft, featured])
  assert.deepEqual(checkTags(snapshot, { tags: [], previous: null }), [])
})

test('a save that says nothing about tags keeps them, also those that are gone from the document', () => {
  assert.deepEqual(checkTags(snapshot, { tags: undefined, previous: [published, 99] }), [published, 99])
})

test('tags that are unknown or cannot be set are refused, unless the object has them already', () => {
  assert.throws(() => checkTags(snapshot, { tags: [99], previous: null }), refused('TagNotFound', { tag: 99 }))
  assert.throws(
    () => checkTags(snapshot, { tags: [retired], previous: [] }),
    refused('TagNotEnabled', { tag: retired }),
  )
  assert.deepEqual(checkTags(snapshot, { tags: [retired, featured], previous: [retired] }), [retired, featured])
})

test('several tags of one choice group are refused, with skip_constraints they are let through', () => {
  const check = { tags: [draft, featured, published], previous: null }
  assert.throws(
    () => checkTags(snapshot, check),
    refused('ConstraintViolation', { rule: 'choice', tags: [draft, published] }),
  )
  assert.deepEqual(checkTags(snapshot, { ...check, skipConstraints: true }), check.tags)
})

test('a tag sent twice is set once', () => {
  assert.deepEqual(checkTags(snapshot, { tags: [featured, featured], previous: null }), [featured])
})

test('setting a tag of a choice group takes the others of the group away, and nothing else', () => {
  assert.deepEqual(withTag(snapshot, [draft, featured], published), [featured, published])
  assert.deepEqual(withTag(snapshot, [draft], draft), [draft])
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 6 }), { maxLength: 20 }), (added) => {
      const tags = added.reduce<number[]>((current, id) => withTag(snapshot, current, id), [])
      assert.doesNotThrow(() => assertChoices(snapshot, tags))
      if (added.length > 0) assert.ok(tags.includes(added.at(-1) as number))
      assert.equal(new Set(tags).size, tags.length)
    }),
  )
})

test('layers: pools and object types narrow and change what can be set; sticky tags stay as they are', () => {
  const usable = (layers: Parameters<typeof effectiveTags>[1]) =>
    [...effectiveTags(snapshot, layers).values()].filter((entry) => entry.enabled).map((entry) => entry.id)
  assert.deepEqual(usable([]), [draft, review, published, featured, embargoed])
  assert.deepEqual(usable([{ private: false, tags: [{ id: published, enabled: false }] }]), [
    draft,
    review,
    featured,
    embargoed,
  ])
  assert.deepEqual(usable([{ private: true, tags: [{ id: published }] }]), [embargoed, published])
  assert.deepEqual(usable([{ private: true, tags: [{ id: embargoed, enabled: false }, { id: 99 }] }]), [embargoed])
  const below = [
    { private: true, tags: [{ id: draft }, { id: published }] },
    { private: false, tags: [{ id: draft, enabled: false }] },
  ]
  assert.deepEqual(usable(below), [embargoed, published])

  const available = effectiveTags(snapshot, [{ private: true, tags: [{ id: published, isDefault: true }] }])
  assert.deepEqual(checkTags(snapshot, { tags: undefined, previous: null, available }), [published])
  assert.throws(
    () => checkTags(snapshot, { tags: [draft], previous: [], available }),
    refused('TagNotEnabled', { tag: draft }),
  )
  assert.deepEqual(checkTags(snapshot, { tags: [draft], previous: [draft], available }), [draft])
})
