import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json } from '../support/client.ts'
import { startService } from '../support/service.ts'

/** Tag documents as front ends, importers and configuration dumps send them (decisions.md, 29). */

const wrapped = (tag: object, rest: object = {}) => ({ _basetype: 'tag', tag, _acl: [], ...rest })
const tagsOf = (answer: Json) => answer.body.flatMap((group: Json) => group._tags)

test('wrapped tags keep their content', async () => {
  await using svc = await startService()
  const root = svc.as('root')
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
  await using svc = await startService()
  const root = svc.as('root')
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

test('a tag that is neither flat nor wrapped is refused', async () => {
  await using svc = await startService()
  const root = svc.as('root')
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
  assert.deepEqual((await root.get('tags')).body, [])
})
