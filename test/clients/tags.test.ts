import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Client, Json } from '../support/client.ts'
import { startService, type TestService } from '../support/service.ts'

/** Tag documents as front ends, importers and configuration dumps send them (decisions.md, 29). */

let svc: TestService
let root: Client
before(async () => {
  svc = await startService()
  root = svc.as('root')
})
after(() => svc[Symbol.asyncDispose]())

const wrapped = (tag: object, rest: object = {}) => ({ _basetype: 'tag', tag, _acl: [], ...rest })
const tagsOf = (answer: Json) => answer.body.flatMap((group: Json) => group._tags)

test('wrapped tags keep their content', async () => {
  const document = [
    {
      _basetype: 'taggroup',
      taggroup: { displayname: { 'en-US': 'Editing' }, reference: 'editing', type: 'choice' },
      _tags: [
        wrapped(
          {
            type: 'individual',
            displayname: { 'de-DE': 'Entwurf', 'en-US': 'Draft' },
            displaytype: 'search',
            enabled: true,
            sticky: false,
            is_default: true,
            frontend_prefs: { webfrontend: { icon: null, color: 'green' } },
            reference: 'draft',
            shortname: null,
          },
          { _tag_identifier: 'Editing.Draft' },
        ),
        { tag: { displayname: { 'en-US': 'Public' }, reference: 'public', frontend_prefs: null } },
      ],
    },
  ]
  const saved = await root.post('tags', document)
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
  const [draft, open] = tagsOf(saved)
  assert.deepEqual(draft.displayname, { 'de-DE': 'Entwurf', 'en-US': 'Draft' })
  assert.deepEqual(draft.frontend_prefs, { webfrontend: { icon: null, color: 'green' } })
  assert.deepEqual([draft.displaytype, draft.is_default, draft.reference], ['search', true, 'draft'])
  assert.deepEqual([open.displayname, open.reference, open.frontend_prefs], [{ 'en-US': 'Public' }, 'public', {}])

  // Sent back wrapped, they are the same tags.
  const again = saved.body.map((group: Json) => ({ ...group, _tags: group._tags.map((tag: Json) => wrapped(tag)) }))
  const unchanged = await root.post('tags', again)
  assert.deepEqual([unchanged.status, unchanged.body], [200, saved.body])
})

test('entries that name what is stored by reference change it', async () => {
  const tag = { displayname: { 'en-US': 'Public' }, reference: 'public' }
  const taggroup = { displayname: { 'en-US': 'Access' }, reference: 'access' }
  const [group] = (await root.post('tags', [{ taggroup, _tags: [{ tag }] }])).body
  const lookup = (reference: string) => ({ 'lookup:_id': { reference } })
  const changed = {
    taggroup: { ...taggroup, ...lookup('access'), displayname: { 'en-US': 'Who may see it' } },
    _tags: [wrapped({ ...tag, ...lookup('public'), _version: 1, displayname: { 'en-US': 'Everybody' } })],
  }
  const saved = await root.post('tags', [changed])
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
  assert.equal(saved.body[0].taggroup._id, group.taggroup._id)
  assert.deepEqual(
    tagsOf(saved).map((entry: Json) => [entry._id, entry._version, entry.displayname['en-US']]),
    [[group._tags[0]._id, 2, 'Everybody']],
  )
  const unknown = await root.post('tags', [{ taggroup, _tags: [{ tag: { ...tag, ...lookup('nobody') } }] }])
  assert.deepEqual([unknown.status, unknown.body.code], [400, 'LookupNotFound'])
})

test('every field of a group and of a tag is kept, whether the tag is flat or wrapped, and changed by id or reference', async () => {
  const fields = {
    displayname: { 'en-US': 'Draft' },
    description: { 'en-US': 'Not yet' },
    frontend_prefs: { color: 'green' },
    enabled: false,
    is_default: true,
    sticky: true,
    type: 'all_versions',
    displaytype: 'editor',
  }
  const shapes = [
    ['flat', (tag: object) => tag],
    ['wrapped', (tag: object) => ({ _basetype: 'tag', tag })],
  ] as const
  const stored = (have: Json, expected: object) => assert.partialDeepStrictEqual(have, expected)
  for (const [name, shape] of shapes) {
    const taggroup = {
      displayname: { 'en-US': name },
      reference: `group-${name}`,
      shortname: `g-${name}`,
      type: 'choice',
    }
    const tag = { ...fields, reference: `tag-${name}`, shortname: `d-${name}` }
    const saved = await root.post('tags', [...(await root.get('tags')).body, { taggroup, _tags: [shape(tag)] }])
    assert.equal(saved.status, 200, JSON.stringify(saved.body))
    const before = saved.body.slice(0, -1)
    const made = saved.body.at(-1)
    stored(made.taggroup, taggroup)
    stored(made._tags[0], tag)

    const ids = { _id: made._tags[0]._id, _version: made._tags[0]._version }
    const same = { taggroup: made.taggroup }
    const change = async (entry: object) => root.post('tags', [...before, entry])
    for (const entry of [
      { ...same, _basetype: 'pool', _tags: [shape({ ...tag, ...ids })] },
      { ...same, _tags: [{ ...shape({ ...tag, ...ids }), _basetype: 'pool' }] },
    ]) {
      assert.equal((await change(entry)).body.code, 'ServerGeneric')
    }
    for (const entry of [
      { taggroup: { ...made.taggroup, _version: 7, displayname: {} }, _tags: [shape({ ...tag, ...ids })] },
      { ...same, _tags: [shape({ ...tag, ...ids, _version: 7, displayname: {} })] },
    ]) {
      assert.equal((await change(entry)).body.code, 'VersionMismatch')
    }
    const byId = await change({ ...same, _tags: [shape({ ...tag, ...ids, shortname: `by id, ${name}` })] })
    stored(byId.body.at(-1)._tags[0], { ...tag, ...ids, _version: 2, shortname: `by id, ${name}` })
    const lookup = { 'lookup:_id': { reference: `tag-${name}` }, _version: 2 }
    const byReference = await change({
      ...same,
      _tags: [shape({ ...tag, ...lookup, shortname: `by reference, ${name}` })],
    })
    stored(byReference.body.at(-1)._tags[0], { _id: ids._id, _version: 3, shortname: `by reference, ${name}` })
  }
})

test('a tag that is neither flat nor wrapped is refused', async () => {
  const { body: before } = await root.get('tags')
  const displayname = { 'en-US': 'Draft' }
  const taggroup = { displayname: { 'en-US': 'Editing' } }
  for (const tag of [
    {},
    { _basetype: 'tag' },
    { something: { displayname } },
    { tag: {} },
    { displayname, tag: { reference: 'draft' } },
    { _basetype: 'pool', displayname },
    wrapped({ displayname: 'Draft' }),
    wrapped({ displayname }, { _acl: [{ who: { _owner: true }, rights: { tag_see: {} } }] }),
    { tag: null },
    { tag: [] },
  ]) {
    const answer = await root.post('tags', [{ taggroup, _tags: [tag] }])
    assert.equal(answer.status, 400, JSON.stringify(tag))
  }
  assert.deepEqual((await root.get('tags')).body, before)
})

test('tags are answered flat and under tag, and sent back as they are they stay what they are (decisions.md, 89)', async () => {
  await root.post('tags', [
    { taggroup: { reference: 'both' }, _tags: [{ reference: 'a', shortname: 's' }, { reference: 'b' }] },
  ])
  const read = await root.get('tags')
  const [tag] = tagsOf(read)
  const { _basetype, tag: record, _acl, ...flat } = tag
  assert.deepEqual([_basetype, record], ['tag', flat])
  assert.deepEqual(_acl, [])
  const again = await root.post('tags', read.body)
  assert.deepEqual([again.status, again.body], [200, read.body])
})

test('of a tag in both forms, the one that was changed counts; two changes of one field are refused', async () => {
  const send = async (change: (tag: Json) => object) => {
    const { body } = await root.get('tags')
    const [group] = body
    const [first, ...others] = group._tags
    return root.post('tags', [{ ...group, _tags: [{ ...first, ...change(first) }, ...others] }])
  }
  const changed = async (change: (tag: Json) => object) => {
    const saved = await send(change)
    assert.equal(saved.status, 200, JSON.stringify(saved.body))
    return tagsOf(saved)[0]
  }
  assert.deepEqual((await changed(() => ({ displayname: { 'en-US': 'Flat' } }))).tag.displayname, { 'en-US': 'Flat' })
  const record = await changed(({ tag }) => ({ tag: { ...tag, displayname: { 'en-US': 'Record' }, sticky: true } }))
  assert.deepEqual([record.displayname, record.sticky], [{ 'en-US': 'Record' }, true])
  assert.equal((await changed(({ tag }) => ({ sticky: false, tag: { ...tag, enabled: false } }))).enabled, false)
  assert.equal((await changed(() => ({ shortname: undefined }))).shortname, undefined)
  const refusals = [
    ({ tag }: Json) => ({ displayname: { 'en-US': 'X' }, tag: { ...tag, displayname: { 'en-US': 'Y' } } }),
    ({ tag }: Json) => ({ tag: { _id: tag._id, _version: tag._version, displayname: {} } }),
  ]
  for (const change of refusals) {
    const { status, body } = await send(change)
    assert.deepEqual([status, body.parameters.name?.startsWith('0._tags.0')], [400, true], JSON.stringify(body))
  }
})
