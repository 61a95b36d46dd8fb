import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json } from '../support/client.ts'
import { attachService, startService, type TestService } from '../support/service.ts'
import { until } from '../support/until.ts'

const status = {
  _basetype: 'taggroup',
  taggroup: { displayname: { 'en-US': 'Status' }, reference: 'status', type: 'choice' },
  _tags: [
    { displayname: { 'en-US': 'Draft' }, reference: 'draft', is_default: true },
    { displayname: { 'en-US': 'Published' }, reference: 'published', shortname: 'pub', displaytype: 'detail' },
  ],
}
const flags = {
  taggroup: { displayname: { 'en-US': 'Flags', 'de-DE': 'Merkmale' } },
  _tags: [
    { displayname: { 'en-US': 'Featured' }, type: 'all_versions', sticky: true, frontend_prefs: { icon: 'star' } },
  ],
}

async function events(svc: TestService): Promise<Json[]> {
  const { body } = await svc.as('root').get('event/poll/0', { limit: 1000 })
  return body.map((entry: Json) => entry.event).filter((event: Json) => event.type.startsWith('TAG_'))
}

test('a new document is stored with ids, versions and defaults, and read back as it was answered', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  const saved = await root.post('tags', [status, flags])
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
  const [first, second] = saved.body
  const twice = (tag: object) => ({ ...tag, _acl: [], _basetype: 'tag', tag })
  assert.deepEqual(first, {
    _basetype: 'taggroup',
    taggroup: { _id: 1, _version: 1, displayname: { 'en-US': 'Status' }, reference: 'status', type: 'choice' },
    _tags: [
      twice({
        _id: 1,
        _version: 1,
        displayname: { 'en-US': 'Draft' },
        description: {},
        frontend_prefs: {},
        enabled: true,
        is_default: true,
        sticky: false,
        type: 'individual',
        displaytype: 'facet',
        reference: 'draft',
      }),
      twice({
        _id: 2,
        _version: 1,
        displayname: { 'en-US': 'Published' },
        description: {},
        frontend_prefs: {},
        enabled: true,
        is_default: false,
        sticky: false,
        type: 'individual',
        displaytype: 'detail',
        reference: 'published',
        shortname: 'pub',
      }),
    ],
  })
  assert.equal(second.taggroup.type, 'checkbox')
  assert.deepEqual(second._tags[0].frontend_prefs, { icon: 'star' })
  assert.deepEqual((await root.get('tags')).body, saved.body)
})

test('changes are logged as TAG_INSERT, TAG_UPDATE and TAG_DELETE, pollable, what is unchanged is not', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  const { body } = await root.post('tags', [status, flags])
  const inserted = await events(svc)
  assert.deepEqual(
    inserted.map(({ type, basetype, object_id: id, object_version: version }) => [type, basetype, id, version]),
    [
      ['TAG_INSERT', 'taggroup', 1, 1],
      ['TAG_INSERT', 'tag', 1, 1],
      ['TAG_INSERT', 'tag', 2, 1],
      ['TAG_INSERT', 'taggroup', 2, 1],
      ['TAG_INSERT', 'tag', 3, 1],
    ],
  )
  assert.deepEqual(inserted[2].info, {
    displayname: { 'en-US': 'Published' },
    shortname: 'pub',
    reference: 'published',
  })
  assert.ok(inserted.every((event) => event.pollable))

  body[0]._tags[1].displayname = { 'en-US': 'Public' }
  const next = await root.post('tags', [body[0]])
  assert.equal(next.status, 200, JSON.stringify(next.body))
  assert.equal(next.body[0]._tags[1]._version, 2)
  assert.equal(next.body[0]._tags[0]._version, 1)
  assert.deepEqual(
    (await events(svc))
      .slice(5)
      .map(({ type, basetype, object_id: id, object_version: version }) => [type, basetype, id, version]),
    [
      ['TAG_UPDATE', 'tag', 2, 2],
      ['TAG_DELETE', 'tag', 3, 1],
      ['TAG_DELETE', 'taggroup', 2, 1],
    ],
  )
})

test('reordering and moving keep ids; a reference can pass from one tag to another in one save', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  const { body } = await root.post('tags', [status, flags])
  const [draft, published] = body[0]._tags
  const [featured] = body[1]._tags
  const swapped = await root.post('tags', [
    { ...body[1], _tags: [{ ...published, reference: 'draft' }, featured] },
    { ...body[0], _tags: [{ ...draft, reference: 'published' }] },
  ])
  assert.equal(swapped.status, 200, JSON.stringify(swapped.body))
  assert.deepEqual(
    swapped.body.map((group: Json) => [
      group.taggroup._id,
      group._tags.map((tag: Json) => [tag._id, tag._version, tag.reference]),
    ]),
    [
      [
        2,
        [
          [2, 2, 'draft'],
          [3, 1, undefined],
        ],
      ],
      [1, [[1, 2, 'published']]],
    ],
  )
})

test('ids of deleted tags are not used again', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  await root.post('tags', [status])
  await root.post('tags', [])
  assert.deepEqual((await root.get('tags')).body, [])
  const { body } = await root.post('tags', [status])
  assert.deepEqual([body[0].taggroup._id, body[0]._tags[0]._id], [2, 3])
})

test('wrong documents are refused by name and change nothing', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  const { body: stored } = await root.post('tags', [status])
  const withTag = (change: object): Json => [{ ...stored[0], _tags: [{ ...stored[0]._tags[0], ...change }] }]
  const table: [string, Json, number, string][] = [
    ['stale version of a tag', withTag({ _version: 7 }), 400, 'VersionMismatch'],
    ['no version of a stored tag', withTag({ _version: undefined }), 400, 'VersionMismatch'],
    ['unknown tag', withTag({ _id: 99 }), 400, 'TagNotFound'],
    ['unknown group', [{ taggroup: { _id: 99 } }], 400, 'ServerGeneric'],
    ['same tag twice', [{ ...stored[0], _tags: [stored[0]._tags[0], stored[0]._tags[0]] }], 400, 'ServerGeneric'],
    ['same reference twice', [{ ...status, _tags: [{ reference: 'a' }, { reference: 'a' }] }], 400, 'ServerGeneric'],
    ['same shortname twice', [{ ...status, _tags: [{ shortname: 'a' }, { shortname: 'a' }] }], 400, 'ServerGeneric'],
    ['type of a group', [{ taggroup: { type: 'radio' } }], 400, 'ServerGeneric'],
    ['display type', withTag({ displaytype: 'everywhere' }), 400, 'ServerGeneric'],
    ['name that is no text', withTag({ displayname: { 'en-US': 1 } }), 400, 'ServerGeneric'],
    ['NUL in a name', withTag({ displayname: { 'en-US': 'a\0b' } }), 400, 'ServerGeneric'],
    ['lone surrogate in a preference', withTag({ frontend_prefs: { x: '\ud800' } }), 400, 'ServerGeneric'],
    ['grants', withTag({ _acl: [{}] }), 400, 'ServerGeneric'],
    ['not a list', {}, 400, 'ServerGeneric'],
    ['huge id', withTag({ _id: 1e15 }), 400, 'ServerGeneric'],
  ]
  for (const [what, body, expected, code] of table) {
    const answer = await root.post('tags', body)
    assert.deepEqual([what, answer.status, answer.body.code], [what, expected, code])
  }
  assert.deepEqual((await root.get('tags')).body, stored)
  const stale = await root.post('tags', withTag({ _version: 7 }))
  assert.deepEqual([stale.body.parameters.got, stale.body.parameters.expected], [7, 1])
})

test('reading needs a user, saving system.tagmanager, and neither works in read-only mode where it writes', async () => {
  await using svc = await startService()
  assert.equal((await svc.as(null).get('tags')).body.code, 'UserRequired')
  assert.equal((await svc.as(null).post('tags', [])).status, 401)
  await svc.as('root').post('tags', [status])
  await using reader = await attachService(svc.dsn, { readOnly: true })
  assert.equal((await reader.as('root').post('tags', [])).body.code, 'ReadOnlyMode')
  assert.equal((await reader.as('root').get('tags')).body.length, 1)
})

test('other processes see a new document', async () => {
  await using svc = await startService()
  await using other = await attachService(svc.dsn)
  await svc.as('root').post('tags', [status])
  await until(async () => (await other.as('root').get('tags')).body.length === 1)
})

test('two saves of the same document: one wins, the other is told', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  const { body } = await root.post('tags', [status])
  const change = (name: string): Json => {
    const copy = structuredClone(body)
    copy[0]._tags[0].displayname = { 'en-US': name }
    return copy
  }
  const answers = await Promise.all([root.post('tags', change('A')), root.post('tags', change('B'))])
  assert.deepEqual(answers.map((answer) => answer.status).sort(), [200, 400])
  assert.equal(answers.find((answer) => answer.status === 400)?.body.code, 'VersionMismatch')
})
