import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { composed } from '../../../src/platform/values/text.ts'
import { commitModel } from '../../datamodel/support.ts'
import { multipart } from '../../files/support.ts'
import type { Json } from '../../support/client.ts'
import { attachService, startService } from '../../support/service.ts'

const one = 'Mu\u0308ller'
const other = 'M\u00fcller'

test('names in any form of Unicode are one name, and stay it', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      assert.equal(composed(text.normalize('NFD')), composed(text))
      assert.equal(composed(composed(text)), composed(text))
    }),
  )
})

const types = [
  {
    name: 'entry',
    columns: [{ name: 'code', type: 'string' }],
    unique_keys: [{ columns: [{ column_name_hint: 'code' }] }],
  },
  { name: 'note', columns: [{ name: 'entry', type: 'link', other_table_name_hint: 'entry' }] },
]

const entry = (code: string, more: object = {}) => ({
  _objecttype: 'entry',
  _mask: '_all_fields',
  entry: { code, ...more },
})
const note = (code: string) => ({
  _objecttype: 'note',
  _mask: '_all_fields',
  note: { entry: { _objecttype: 'entry', _mask: '_all_fields', entry: { 'lookup:_id': { code } } } },
})

test('unique values, references and names are the same in both forms, wherever they are unique', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  await commitModel(root, types)
  const long = (name: string): string => `${name} ${'x'.repeat(400)}`
  for (const write of [(name: string) => name, long]) {
    const saved = await root.post('/db/entry', [entry(write(one))])
    assert.equal(saved.status, 200, JSON.stringify(saved.body))
    assert.equal(saved.body[0].entry.code, write(one), 'a value comes back as it was sent')
    const twice = await root.post('/db/entry', [entry(write(other))])
    assert.deepEqual([twice.status, twice.body.code], [400, 'DatabaseUniqueKeyViolation'])
    const found = await root.post('/db/note', [note(write(other))])
    assert.equal(found.body[0].note.entry.entry._id, saved.body[0].entry._id)
  }
  const group = (name: string, reference: string) => [
    { _basetype: 'group', group: { name, reference, displayname: { 'en-US': 'x' } } },
  ]
  const tags = (key: 'reference' | 'shortname') => (name: string) => [
    {
      taggroup: { displayname: { 'en-US': name }, [key]: `g ${name}` },
      _tags: [{ tag: { displayname: { 'en-US': 'x' }, [key]: `t ${name}` } }],
    },
  ]
  const kinds: Readonly<Record<string, [string, (name: string) => unknown]>> = {
    'names of groups': ['/group', (name) => group(name, `r${name === one ? 1 : 2}`)],
    'references of groups': ['/group', (name) => group(`n${name === one ? 1 : 2}`, name)],
    'references of users': [
      '/user',
      (name) => [{ _basetype: 'user', user: { login: `u${name === one ? 1 : 2}`, reference: name } }],
    ],
    'references of pools': [
      '/pool',
      (name) => [{ _basetype: 'pool', pool: { name: { 'en-US': 'x' }, reference: name, _id_parent: 1 } }],
    ],
    'references of messages': [
      '/message',
      (name) => [
        { _basetype: 'message', message: { reference: name, title: { 'en-US': 'x' }, message: { 'en-US': 'x' } } },
      ],
    ],
  }
  for (const [what, [path, body]] of Object.entries(kinds)) {
    const first = await root.post(path, body(one))
    assert.equal(first.status, 200, `${what}: ${JSON.stringify(first.body)}`)
    const second = await root.post(path, body(other))
    assert.equal(second.status, 400, `${what}: ${JSON.stringify(second.body)}`)
  }
  for (const key of ['reference', 'shortname'] as const) {
    const both = await root.post('/tags', [...tags(key)(one), ...tags(key)(other)])
    assert.equal(both.status, 400, `tags by ${key}: ${JSON.stringify(both.body)}`)
  }
  const upload = async (reference: string): Promise<number> => {
    const { headers, payload } = multipart([{ name: 'a.txt', content: Buffer.from('x') }])
    const authorization = `Bearer ${await root.token()}`
    const query = new URLSearchParams({ references: JSON.stringify([reference]), produce_versions: 'false' })
    return (
      await svc.inject({
        method: 'POST',
        url: `/api/v1/eas/put?${query}`,
        headers: { ...headers, authorization },
        payload,
      })
    ).statusCode
  }
  assert.deepEqual([await upload(one), await upload(other)], [200, 400])
})

test('an upgrade brings what is there into one form, and says what collides', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  await commitModel(root, types)
  const long = `${one} ${'x'.repeat(400)}`
  const saved = await root.post(
    '/db/entry',
    ['A', 'B', 'C', 'D'].map((code) => entry(code)),
  )
  const ids = saved.body.map((object: Json) => object._system_object_id)
  // As the release before has stored it.
  const { rows } = await svc.db.query<{ key: string }>('select distinct key from object_unique')
  const column = (await root.get('/schema/user/CURRENT')).body.tables[0].columns[0].column_id
  const values = [one, other, `e${one}`, long]
  await svc.db.query('delete from object_unique')
  for (const [index, code] of values.entries()) {
    await svc.db.query(
      'update object_version set content = jsonb_build_object($1::text, $2::text) where system_object_id = $3',
      [`${column}`, code, ids[index]],
    )
    const value = code === long ? 'sha256:of-the-other-form' : JSON.stringify([code])
    await svc.db.query('insert into object_unique values ($1, $2, $3)', [rows[0]?.key, value, ids[index]])
  }
  for (const [id, name] of [
    [901, one],
    [902, other],
    [903, `z${one}`],
  ] as const) {
    await svc.db.query(
      `insert into "group" (id, type, name, reference, displayname) values ($1, 'native', $2, $3, '{}')`,
      [id, name, `${name}${id}`],
    )
  }
  await svc.db.query('drop table object_unique_due')
  const warnings: string[] = []
  const client = await svc.db.connect()
  client.on('notice', ({ message }) => warnings.push(message ?? ''))
  await client.query(
    await readFile(join(import.meta.dirname, '..', '..', '..', 'migrations', '0660_composed_names.sql'), 'utf8'),
  )
  client.release()
  assert.deepEqual(warnings, [
    `the name of group 901 is that of 902, written otherwise (${other}): give it another one`,
  ])
  const groups = await svc.db.query<{ name: string }>('select name from "group" where id > 900 order by id')
  assert.deepEqual(
    groups.rows.map(({ name }) => name),
    [one, other, `z${other}`],
  )

  await using next = await attachService(svc.dsn)
  const { rows: holders } = await next.db.query<{ value: string; id: number }>(
    'select value, system_object_id as id from object_unique order by 2',
  )
  assert.deepEqual(
    holders.map(({ value, id }) => [value.slice(0, 10), id]),
    [
      ['["M\u00fcller"]', ids[1]],
      ['["eM\u00fcller"', ids[2]],
      [holders[2]?.value.slice(0, 10), ids[3]],
    ],
    'the first one is told to have the value of another',
  )
  for (const taken of [other, `e${other}`, `${other} ${'x'.repeat(400)}`]) {
    const answer = await root.post('/db/entry', [entry(taken)])
    assert.equal(answer.body.code, 'DatabaseUniqueKeyViolation', taken)
  }
  assert.deepEqual((await svc.db.query('select from object_unique_due')).rows, [])
})
