import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import type { Client, Json } from '../support/client.ts'
import { hostileValue, mutated } from '../support/hostile.ts'
import { inPool, type Museum, payload, startMuseum } from '../support/seed/museum.ts'

let museum: Museum
let root: Client
let tags: Json
let transitions: Json
let work: Json

before(async () => {
  museum = await startMuseum()
  root = museum.svc.as('root')
  tags = (
    await root.post('tags', [
      {
        _basetype: 'taggroup',
        taggroup: { displayname: { 'en-US': 'Status' }, reference: 'status', shortname: 's', type: 'choice' },
        _tags: [
          { displayname: { 'en-US': 'A' }, description: { 'en-US': 'B' }, frontend_prefs: { a: [1] }, reference: 'a' },
          { displaytype: 'hidden', type: 'all_versions', is_default: true, enabled: false, sticky: true },
        ],
      },
    ])
  ).body
  await root.post('config', {
    system: { config: { transition_webhook: { webhooks: [{ name: 'hook', url: 'https://a.invalid/' }] } } },
  })
  const id = tags[0]._tags[0]._id
  const user = { _basetype: 'user', user: { _id: 1 } }
  const answer = await root.post('transitions', [
    {
      type: 'process',
      trigger: 'manual',
      operations: ['INSERT'],
      displayname: { 'en-US': 'Run' },
      comment: 'c',
      confirm: { 'en-US': 'Sure?' },
      who: [user, { _owner: true }],
      objecttype_ids: [1],
      'tagfilter:before': { all: [id] },
      'tagfilter:after': { not: [id], changed: [id] },
      actions: [
        { type: 'set_tags', info: { tags: [{ _id: id, set: true }] } },
        { type: 'change_owner', info: { owner: user } },
        { type: 'email', info: { subject: { 'en-US': 's' }, message: {}, recipients: [user], batchable: true } },
        { type: 'webhook', info: { name: 'hook', callback: 'after_commit_async' } },
      ],
    },
    { type: 'process', trigger: 'event', event_types: ['TAG_UPDATE'] },
  ])
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  transitions = answer.body
  work = (await root.post('db/work', [payload('work', { ...inPool(museum.pool), title: { 'en-US': 'T' } })])).body[0]
})
after(() => museum[Symbol.asyncDispose]())

async function stored(): Promise<unknown> {
  const { rows } = await museum.svc.db.query(
    `select (select json_agg(t order by id) from tag t) as tags, (select json_agg(g order by id) from tag_group g) as groups,
            (select json_agg(t order by id) from transition t) as transitions,
            (select count(*) from event where type like 'TAG_%' or type like 'TRANSITION_%') as events`,
  )
  return rows
}

/** The document as a new one: each save of it is possible whatever was saved before. */
function unnumbered(document: Json): Json {
  const bare = ({ _id, _version, ...rest }: Json): Json => rest
  return document.map((entry: Json) =>
    entry.taggroup ? { ...entry, taggroup: bare(entry.taggroup), _tags: entry._tags.map(bare) } : bare(entry),
  )
}

for (const path of ['tags', 'transitions'] as const) {
  test(`hostile values at any place of ${path} never make a 500, and what is refused changes nothing`, async () => {
    await fc.assert(
      fc.asyncProperty(mutated(unnumbered(path === 'tags' ? tags : transitions)), async (body) => {
        const before = await stored()
        const answer = await root.post(path, body)
        assert.ok(
          [200, 202, 400].includes(answer.status),
          `${answer.status} ${JSON.stringify(answer.body).slice(0, 300)}`,
        )
        if (answer.status !== 200) return assert.deepEqual(await stored(), before)
        const now = (await root.get(path)).body
        assert.deepEqual(now, answer.body)
        if (path === 'transitions') transitions = now
        else tags = now
      }),
      { numRuns: 250 },
    )
  })
}

/** Any value as a part of an address. */
const asText = (value: unknown) =>
  (typeof value === 'string' ? value : (JSON.stringify(value) ?? '')).slice(0, 200).toWellFormed()

test('hostile runs and questions never make a 500', async () => {
  const run = [{ _system_object_id: work._system_object_id, _version: 1 }]
  const id = transitions[0]?._id ?? 1
  await fc.assert(
    fc.asyncProperty(mutated(run), fc.oneof(fc.constant(id), hostileValue), hostileValue, async (body, at, token) => {
      const text = encodeURIComponent(asText(at))
      const query = { confirmTransition: asText(token) }
      const answers = [
        await root.post(`transitions/${text}/run`, body, query),
        await root.get('transitions/manual', { objecttype_id: text, pool_id: query.confirmTransition }),
        await root.post('tags', tags, { delete_policy: text }),
      ]
      for (const { status, body: answer } of answers) assert.ok(status < 500, `${status} ${JSON.stringify(answer)}`)
    }),
    { numRuns: 120 },
  )
})
