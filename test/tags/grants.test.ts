import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createPool } from '../pools/support.ts'
import { type People, seedPeople, toGroup, toUser, wireGrant } from '../rights/people.ts'
import type { Client, Json } from '../support/client.ts'
import { type Museum, startMuseum } from '../support/seed/museum.ts'

/** Grants on tags: who sees a tag as a choice, who applies it, who takes it off. */
let museum: Museum
let people: People
let pool: number

before(async () => {
  museum = await startMuseum()
  people = await seedPeople(museum.svc)
  const { _id } = await createPool(
    people.root,
    {},
    { _acl: [wireGrant(toGroup(people.ids.staff), 'read write create')] },
  )
  pool = _id
})
after(() => museum[Symbol.asyncDispose]())

/** Replaces the document by one group whose tags have these grants; gives them by reference. */
async function setTags(tags: Record<string, Json>): Promise<Record<string, Json>> {
  const _tags = Object.entries(tags).map(([reference, more]) => ({ reference, ...more }))
  const { status, body } = await people.root.post('/tags', [{ taggroup: { reference: crypto.randomUUID() }, _tags }], {
    delete_policy: 'remove_tags',
  })
  assert.equal(status, 200, JSON.stringify(body))
  return Object.fromEntries(body[0]._tags.map((tag: Json) => [tag.reference, tag]))
}

const save = (client: Client, more: object, block: object = {}) =>
  client.post('/db/work', [
    { _objecttype: 'work', _mask: 'work__standard', ...more, work: { _pool: { pool: { _id: pool } }, ...block } },
  ])

async function saved(client: Client, more: object, block: object = {}): Promise<Json> {
  const { status, body } = await save(client, more, block)
  assert.equal(status, 200, JSON.stringify(body))
  return body[0]
}

const ids = (...tags: Json[]) => tags.map(({ _id }) => ({ _id }))
const choices = async (client: Client): Promise<string[]> =>
  (await client.get('/tags')).body.flatMap((group: Json) => group._tags.map((tag: Json) => tag.reference))

describe('grants on tags', () => {
  test('are checked, stored with the tag, counted as a change of it, and shown to those who may change them', async () => {
    const grant = wireGrant(toUser(people.ids.editor), 'tag_add', { when: { to: '2099-01-01T00:00:00Z' } })
    const { secret } = await setTags({ secret: { _acl: [grant] } })
    assert.equal(secret._acl.length, 1)
    assert.deepEqual(secret._acl[0].rights, { tag_add: {} })
    assert.equal(secret._acl[0].when.to, '2099-01-01T00:00:00.000Z')
    const [group] = (await people.root.get('/tags')).body
    const again = await people.root.post('/tags', [group])
    assert.deepEqual(again.body, [group])
    // Who does not know of grants keeps them.
    const { _acl, ...plain } = group._tags[0]
    assert.deepEqual((await people.root.post('/tags', [{ ...group, _tags: [plain] }])).body, [group])
    const { body } = await people.root.post('/tags', [{ ...group, _tags: [{ ...plain, _acl: null }] }])
    assert.deepEqual([body[0]._tags[0]._acl, body[0]._tags[0]._version], [[], 2])
    const wrapped = { _basetype: 'tag', tag: { ...plain, _version: 2 }, _acl }
    const kept = await people.root.post('/tags', [{ ...group, _tags: [wrapped] }])
    assert.deepEqual(kept.body[0]._tags[0]._acl, [{ ..._acl[0], _id: kept.body[0]._tags[0]._acl[0]._id }])
    assert.equal((await people.reader.get('/tags')).body.length, 0)
    assert.equal((await people.editor.get('/tags')).body[0]._tags[0]._acl, undefined)
    const table: [string, Json, string][] = [
      ['right of objects', wireGrant(toUser(people.ids.editor), 'read'), 'UnknownRight'],
      ['parameter', { ...grant, rights: { tag_add: { mask_ids: {} } } }, 'UnknownRightParam'],
      ['sticky', { ...grant, sticky: true }, 'ServerGeneric'],
      ['tag filter', { ...grant, tagfilter: { all: [secret._id] } }, 'ServerGeneric'],
      ['the owner', { ...grant, who: { _owner: true } }, 'ServerGeneric'],
      ['unknown user', { ...grant, who: toUser(99_999) }, 'LookupNotFound'],
    ]
    for (const [what, wrong, code] of table) {
      const answer = await people.root.post('/tags', [{ ...group, _tags: [{ ...plain, _version: 3, _acl: [wrong] }] }])
      assert.deepEqual([what, answer.status, answer.body.code], [what, 400, code])
    }
    // Within the wrapped tag they are the same.
    const within = { _basetype: 'tag', tag: { ...plain, _version: 3, _acl: [] } }
    const emptied = await people.root.post('/tags', [{ ...group, _tags: [within] }])
    assert.deepEqual([emptied.body[0]._tags[0]._acl, emptied.body[0]._tags[0]._version], [[], 4])
  })

  test('say for whom a tag is a choice: by seeing, applying or taking off, in their time, while active', async () => {
    const to = toUser(people.ids.reader)
    const [past, future] = ['2001-01-01T00:00:00Z', '2099-01-01T00:00:00Z']
    const tags = await setTags({
      open: {},
      seen: { _acl: [wireGrant(to, 'tag_see')] },
      given: { _acl: [wireGrant(toGroup(people.ids.staff), 'tag_add')] },
      taken: { _acl: [wireGrant(to, 'tag_remove')] },
      other: { _acl: [wireGrant(toUser(people.ids.stranger), 'tag_see')] },
      ended: { _acl: [wireGrant(to, 'tag_see', { when: { to: past } })] },
      coming: { _acl: [wireGrant(to, 'tag_see', { when: { from: future } })] },
      held: { _acl: [wireGrant(to, 'tag_see', { active: false })] },
      now: { _acl: [wireGrant(to, 'tag_see', { when: { from: past, to: future } })] },
    })
    assert.deepEqual(await choices(people.reader), ['open', 'seen', 'given', 'taken', 'now'])
    assert.deepEqual(await choices(people.stranger), ['open', 'other'])
    assert.deepEqual(await choices(people.root), Object.keys(tags))
    const { body } = await people.reader.get('/objecttype')
    const work = body.find((each: Json) => each.objecttype.name === 'work')
    assert.deepEqual(
      work._compiled_tags.map((tag: Json) => tag.reference),
      ['open', 'seen', 'given', 'taken', 'now'],
    )
  })

  test('say who applies a tag and who takes it off; what an object has is told and kept', async () => {
    const { open, checked, locked } = await setTags({
      open: {},
      checked: { _acl: [wireGrant(toUser(people.ids.editor), 'tag_add tag_remove')] },
      locked: { _acl: [wireGrant(toUser(people.ids.editor), 'tag_add')] },
    })
    const refused = await save(people.reader, { _tags: ids(open, checked) })
    assert.deepEqual(
      [refused.status, refused.body.code, refused.body.parameters.right, refused.body.parameters.tag],
      [403, 'ObjectInsufficientRights', 'tag_add', checked._id],
    )
    const work = await saved(people.editor, { _tags: ids(open, checked, locked) })
    const [shown] = (await people.reader.get(`/db/work/work__standard/${work.work._id}`)).body
    assert.deepEqual(
      shown._tags.map((tag: Json) => tag._id).sort(),
      [open, checked, locked].map(({ _id }) => _id),
    )
    const at = (_version: number) => ({ _id: work.work._id, _version })
    await saved(people.reader, { _tags: ids(checked, locked) }, at(1))
    const { status, body } = await save(people.reader, { _tags: ids(locked) }, at(2))
    assert.deepEqual([status, body.parameters.right, body.parameters.tag], [403, 'tag_remove', undefined])
    await saved(people.editor, { _tags: ids(locked) }, at(2))
    assert.equal((await save(people.editor, { _tags: [] }, at(3))).body.parameters.right, 'tag_remove')
    await saved(people.reader, {}, at(3))
    await saved(people.root, { _tags: [] }, at(4))
  })

  test('leave the default tags of new objects to the service, which takes a right to go without', async () => {
    const { fresh } = await setTags({
      fresh: { is_default: true, _acl: [wireGrant(toUser(people.ids.editor), 'tag_remove')] },
    })
    for (const more of [{}, { _tags: ids(fresh) }]) {
      assert.deepEqual(
        (await saved(people.reader, more))._tags.map((tag: Json) => tag._id),
        [fresh._id],
      )
    }
    assert.equal((await save(people.reader, { _tags: [] })).body.parameters.right, 'tag_remove')
    assert.deepEqual((await saved(people.editor, { _tags: [] }))._tags ?? [], [])
  })
})

test('pools and object types switch a tag off, or on for what is new', async () => {
  const { off, usual } = await setTags({ off: { enabled: true }, usual: { enabled: true } })
  const { root } = people
  const [stored] = (await root.get(`/pool/${pool}`)).body
  const ofPool = (_tags: Json[], version: number) =>
    root.post('/pool', [{ pool: { _id: pool, _version: stored.pool._version + version }, _tags }])
  const tagsOf = (object: Json) => object._tags.map(({ _id }: Json) => _id)
  const refused = async (tag: Json) => (await save(root, { _tags: [{ _id: tag._id }] })).body.code

  const own = [
    { _id: off._id, enabled: false },
    { _id: usual._id, enabled: true, is_default: true },
  ]
  assert.equal((await ofPool(own, 0)).status, 200)
  assert.equal(await refused(off), 'TagNotEnabled')
  assert.deepEqual(tagsOf(await saved(root, {})), [usual._id])
  assert.equal((await ofPool([], 1)).status, 200)
  assert.deepEqual(tagsOf(await saved(root, {})), [])

  const settings = async (tags: Json[]) => {
    const { objecttype } = (await root.get('/objecttype')).body.find((one: Json) => one.objecttype.name === 'work')
    const block = { _id: objecttype._id, _version: objecttype._version + 1 }
    return root.post('/objecttype', [{ objecttype: block, tags }])
  }
  assert.equal((await settings([{ _id: usual._id, enabled: false }])).status, 200)
  assert.equal(await refused(usual), 'TagNotEnabled')
  assert.equal((await settings([])).status, 200)
  assert.deepEqual(tagsOf(await saved(root, { _tags: [{ _id: usual._id }] })), [usual._id])
})
