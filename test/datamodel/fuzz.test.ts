import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { emptySnapshot } from '../../src/datamodel/store.ts'
import { picture, upload } from '../files/support.ts'
import type { Client, Json } from '../support/client.ts'
import { hostileValue, mutated } from '../support/hostile.ts'
import { startService, type TestService } from '../support/service.ts'
import { commitModel, everyType } from './support.ts'

let svc: TestService
let root: Client
const masks = [
  {
    name: 'thing__full',
    table_name_hint: 'thing',
    is_preferred: true,
    system_fields: { tags: { edit: { mode: 'edit' }, output: { mode: 'show' } } },
    custom_settings: { reverse_pool_changed_mode: 'ask' },
    fields: [
      {
        kind: 'field',
        column_name_hint: 'a_text',
        edit: { mode: 'edit' },
        output: { standard: { order: 1, format: 'comma' }, standard_eas: { order: 1 } },
        search: { fulltext: true },
        custom_settings: { required: 'true', default: '"x"' },
      },
      { kind: 'link', column_name_hint: 'where_it_is', mask_id: 'PREFERRED' },
      {
        kind: 'linked-table',
        other_table_name_hint: 'thing__part',
        nested_sort: [{ field: 'role', order: 'asc' }],
        mask: { fields: [{ kind: 'field', column_name_hint: 'role' }] },
      },
      {
        kind: 'reverse-linked-table',
        other_table_name_hint: 'loan',
        other_column_name_hint: 'thing',
        mask: { fields: [{ kind: 'field', column_name_hint: 'number' }] },
      },
    ],
  },
]

before(async () => {
  svc = await startService()
  root = svc.as('root')
  await commitModel(root, everyType, masks)
})
after(() => svc[Symbol.asyncDispose]())

/** What must not change when a request is refused. */
async function stored(): Promise<unknown> {
  const head = await svc.db.query('select * from datamodel_head')
  const versions = await svc.db.query('select version from datamodel_version')
  const settings = await svc.db.query('select * from objecttype order by id')
  return { head: head.rows, versions: versions.rows, settings: settings.rows }
}

/** Sends each body: the answer is 200, or a 4xx that says what is wrong and has changed nothing. */
async function neverBreaks(
  path: string,
  bodies: fc.Arbitrary<unknown>,
  valid: () => Promise<unknown>,
  numRuns: number,
): Promise<void> {
  let refused = 0
  await fc.assert(
    fc.asyncProperty(bodies, async (body) => {
      const before = await stored()
      const answer = await root.post(path, body)
      if (answer.status === 200) {
        assert.equal((await root.post(path, await valid())).status, 200)
        return
      }
      refused++
      assert.ok(answer.status >= 400 && answer.status < 500, `${answer.status} ${JSON.stringify(answer.body)}`)
      assert.equal(typeof answer.body.code, 'string')
      assert.notEqual(answer.body.message, '')
      assert.deepEqual(await stored(), before)
    }),
    { numRuns },
  )
  assert.ok(refused > numRuns / 10, `only ${refused} of ${numRuns} were refused`)
}

test('a hostile value at any place of a snapshot', async () => {
  const { schema } = (await svc.db.query<{ schema: Json }>('select schema from datamodel_head')).rows[0]!
  const valid = { ...schema, version: 2, based_on_version: 1 }
  await neverBreaks('/schema/user/HEAD', mutated(valid), async () => valid, 250)
})

test('a hostile value at any place of the masks', async () => {
  const valid = { masks }
  await neverBreaks('/mask/HEAD', mutated(valid), async () => valid, 250)
  const { masks: normal } = (await svc.db.query<{ masks: Json }>('select masks from datamodel_head')).rows[0]!
  await neverBreaks('/mask/HEAD', mutated({ ...normal, version: 2 }), async () => valid, 150)
})

test('a hostile value at any place of the localised names', async () => {
  const valid = { 'schema.thing.name': { 'de-DE': 'Ding', 'en-US': 'Thing' } }
  await neverBreaks('/l10n/user/HEAD', mutated(valid), async () => valid, 60)
})

test('a hostile value at any place of object type settings', async () => {
  await upload(svc, 'root', [{ name: 'mark.png', content: await picture(8, 8, 'png') }])
  const next = async () => (await root.get('/objecttype/2')).body[0].objecttype._version + 1
  const settings = {
    _basetype: 'objecttype',
    objecttype: {
      _id: 2,
      _version: 2,
      description: { 'en-US': 'x' },
      mapping_dc_export: 'none',
      show_in_collections: true,
      watermark: { gravity: 'c', dissolve: 3, image: { _id: 1 } },
      caption: { a_file: { text: 't', size: '10%', overlay: true } },
      janitor_policy: { file_link_delete: { keep_count: 1 } },
      custom_data: { a: 1 },
      contact: { user: { _id: 1 } },
    },
    _standard_masks: [1],
    _acl: [],
    _tags: [],
    _transitions: [],
    _maskfilters: { 1: { tagfilter: { all: [] } } },
    _columnfilters: [{}],
    _export_asset_filenames: { default: { 'en-US': '%thing.a_text%' } },
  }
  const valid = async () => [{ ...settings, objecttype: { ...settings.objecttype, _version: await next() } }]
  for (let round = 0; round < 4; round++) {
    const body = (await valid()) as Json[]
    await neverBreaks('/objecttype', mutated(body), valid, 60)
  }
})

test('hostile versions, formats and answers in paths and query strings', async () => {
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.string({ unit: 'binary' }), hostileValue.map(String)), async (text) => {
      const part = encodeURIComponent(text.toWellFormed()).slice(0, 2000)
      for (const path of ['/schema/user/', '/mask/', '/l10n/user/', '/mask/CURRENT/', '/objecttype/']) {
        const answer = await root.get(`${path}${part || 'x'}`)
        assert.ok(answer.status < 500, `${path} ${answer.status}`)
      }
      const before = await stored()
      const commit = await root.post(`/schema/commit?reindex=${part}x`)
      assert.equal(commit.status, 400)
      assert.deepEqual(await stored(), before)
    }),
    { numRuns: 40 },
  )
})

test('an empty body, no JSON, and a snapshot that is too deep or too large', async () => {
  const token = await root.token()
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const post = (payload: string) => svc.inject({ method: 'POST', url: '/api/v1/schema/user/HEAD', headers, payload })
  const deep = `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`
  for (const payload of [
    '',
    '{',
    'null',
    '[]',
    '"x"',
    '{"version":1e999,"tables":[]}',
    `{"version":2,"tables":[],"x":${deep}}`,
  ]) {
    const answer = await post(payload)
    assert.equal(answer.statusCode, 400, payload.slice(0, 50))
    assert.equal(typeof answer.json().code, 'string')
  }
  const many = Array.from({ length: 2001 }, (_, index) => ({ name: `t${index}` }))
  const answer = await root.post('/schema/user/HEAD', {
    ...emptySnapshot().schema,
    version: 2,
    based_on_version: 1,
    tables: many,
  })
  assert.deepEqual([answer.status, answer.body.code], [400, 'SchemaInconsistent'])
})

test('a snapshot of the largest size is stored and committed', async () => {
  await using large = await startService()
  const columns = Array.from({ length: 20 }, (_, index) => ({ name: `c${index}`, type: 'text' }))
  const tables = Array.from({ length: 1000 }, (_, index) => ({ name: `t${index}`, columns }))
  const start = performance.now()
  await commitModel(large.as('root'), tables)
  assert.ok(performance.now() - start < 20_000, `${performance.now() - start} ms`)
})
