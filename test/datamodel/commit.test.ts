import assert from 'node:assert/strict'
import { test } from 'node:test'
import { holdIndexer } from '../search/support.ts'
import type { Client, Json } from '../support/client.ts'
import { attachService, startService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { commitModel, userWith } from './support.ts'

const text = (name: string, more: object = {}) => ({ name, type: 'text', ...more })
const types = (...columns: object[]) => [{ name: 'a', columns }]

async function save(root: Client, block: object, more: object = {}, objecttype = 'a'): Promise<Json> {
  const answer = await root.post(`/db/${objecttype}`, [
    { _objecttype: objecttype, _mask: '_all_fields', [objecttype]: block, ...more },
  ])
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body[0][objecttype]
}

async function read(root: Client, id: number, query: Record<string, string> = {}): Promise<Json[]> {
  const answer = await root.get(`/db/a/_all_fields/${id}`, query)
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body.map((object: Json) => object.a)
}

/** Puts tables into HEAD without committing. */
async function edit(root: Client, change: (tables: Json[]) => Json[] | undefined): Promise<void> {
  const head = (await root.get('/schema/user/HEAD')).body
  const saved = await root.post('/schema/user/HEAD', { ...head, tables: change(head.tables) ?? head.tables })
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
}

const current = async (root: Client): Promise<number> => (await root.get('/schema/user/CURRENT')).body.version

test('DM-022 DM-003 DM-007 SCHEMA-010 SVC-007 a commit answers ok and makes HEAD the next version', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  const edited = (await root.post('/schema/user/HEAD', { version: 1, tables: types(text('x')) })).body
  assert.deepEqual((await root.get('/schema/user/HEAD')).body, edited)
  assert.deepEqual([edited.tables[0].name, edited.committed_at, edited.based_on_version], ['a', null, 0])
  const none = (await root.get('/schema/user/CURRENT')).body
  assert.deepEqual([none.version, none.tables], [0, []], 'the working copy is edited, nothing else')
  const before = Date.now()
  const answer = await root.post('/schema/commit')
  assert.deepEqual([answer.status, answer.body], [200, { status: 'ok' }], 'the version is not in the body')
  const [logged] = (await root.get('/event/list', { type: 'DATAMODEL_COMMIT' })).body.objects
  assert.equal(logged.event.info.version, 1)
  const committed = (await root.get('/schema/user/CURRENT')).body
  assert.deepEqual([committed.version, committed.based_on_version], [1, 0])
  assert.ok(Date.parse(committed.committed_at) >= before)
  const head = (await root.get('/schema/user/HEAD')).body
  assert.deepEqual([head.version, head.based_on_version, head.committed_at], [2, 1, null])
  assert.deepEqual(head.tables, committed.tables)
  assert.deepEqual((await root.get('/schema/user/1')).body, committed)
  assert.equal((await root.get('/mask/CURRENT')).body.version, 1)
  await edit(root, ([a]) => [a, { name: 'b', columns: [text('y')] }])
  assert.deepEqual((await root.get('/schema/user/CURRENT')).body, committed)
  assert.equal((await root.post('/schema/commit')).status, 200)
  const next = (await root.get('/schema/user/CURRENT')).body
  assert.deepEqual([next.version, next.based_on_version, next.tables.length], [2, 1, 2])
  assert.deepEqual((await root.get('/schema/user/1')).body, committed, 'a version stays as it was committed')
})

test('DM-024 a commit needs system.datamodel with level commit', async () => {
  await using svc = await startService()
  await svc.as('root').post('/schema/user/HEAD', { version: 1, tables: types(text('x')) })
  const developer = await userWith(svc, 'developer', { 'system.datamodel': { level: ['development'] } })
  const refused = await developer.post('/schema/commit')
  assert.deepEqual([refused.status, refused.body.code], [403, 'SystemRightRequired'])
  assert.equal(refused.body.parameters.right, 'system.datamodel[level=commit]')
  assert.equal(await current(developer), 0)
  const reader = await userWith(svc, 'reader', { 'system.objecttypemanager': {} })
  assert.equal((await reader.post('/schema/commit')).status, 403)
  const committer = await userWith(svc, 'committer', { 'system.datamodel': { level: ['commit'] } })
  assert.equal((await committer.post('/schema/commit')).status, 200)
  assert.equal(await current(developer), 1)
  const boss = await userWith(svc, 'boss', { 'system.root': {} })
  assert.equal((await boss.post('/schema/commit')).status, 200)
  assert.equal(await current(developer), 2)
})

test('DM-027 a commit is logged, and each object type that it changes', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  const poll = async () =>
    (await root.get('/event/poll/0', { limit: 1000 })).body
      .map(({ event }: Json) => event)
      .filter(({ type }: Json) => type === 'DATAMODEL_COMMIT' || type === 'OBJECTTYPE_UPDATE')
  await commitModel(
    root,
    ['a', 'b', 'c'].map((name) => ({ name, columns: [text('x')] })),
  )
  assert.deepEqual(
    (await poll()).map(({ type, objecttype }: Json) => [type, objecttype ?? null]),
    [
      ['DATAMODEL_COMMIT', null],
      ['OBJECTTYPE_UPDATE', 'a'],
      ['OBJECTTYPE_UPDATE', 'b'],
      ['OBJECTTYPE_UPDATE', 'c'],
    ],
  )
  await edit(root, (tables) => tables.map((table) => (table.name === 'b' ? { ...table, comment: 'changed' } : table)))
  await root.post('/l10n/user/HEAD', { 'schema.c.name': { 'en-US': 'C' } })
  await root.post('/schema/commit')
  const events = (await poll()).slice(4)
  const committed = (await root.get('/schema/user/CURRENT')).body
  assert.deepEqual(events[0].info, { version: 2, committed_at: committed.committed_at })
  assert.equal(events[0].pollable, true)
  assert.deepEqual(
    events.slice(1).map(({ type, objecttype, info, pollable }: Json) => [type, objecttype, info ?? {}, pollable]),
    [
      ['OBJECTTYPE_UPDATE', 'b', {}, true],
      ['OBJECTTYPE_UPDATE', 'c', {}, true],
    ],
  )
})

test('SVC-006 what can be stored is what the committed datamodel defines: types, fields and masks', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  const save = (block: object, mask = '_all_fields') =>
    root.post('/db/coin', [{ _objecttype: 'coin', _mask: mask, coin: block }])
  const refused = async (...args: Parameters<typeof save>): Promise<string> => {
    const { status, body } = await save(...args)
    assert.equal(status, 400, JSON.stringify(body))
    return body.code
  }
  assert.equal(await refused({ metal: 'silver' }), 'UnknownObjecttype')
  const fields = (...names: string[]) => names.map((name) => ({ kind: 'field', column_name_hint: name }))
  await commitModel(
    root,
    [{ name: 'coin', columns: [text('metal'), text('mint')] }],
    [{ name: 'coin__metal', table_name_hint: 'coin', is_preferred: true, fields: fields('metal') }],
  )
  const read = async (object: Json, mask: string) => {
    const { metal, mint, ...rest } = (await root.get(`/db/coin/${mask}/${object.coin._id}`)).body[0].coin
    assert.ok(!('weight' in rest))
    return [metal, mint]
  }
  assert.equal(await refused({ metal: 'silver' }, 'coin__other'), 'MaskNotFound')
  const whole = (await save({ metal: 'gold', mint: 'Ephesus', weight: 3 })).body[0]
  assert.deepEqual([whole.coin.metal, whole.coin.mint, 'weight' in whole.coin], ['gold', 'Ephesus', false])
  assert.deepEqual(await read(whole, '_all_fields'), ['gold', 'Ephesus'])
  assert.deepEqual(await read(whole, 'coin__metal'), ['gold', undefined])
  const masked = (await save({ metal: 'silver', mint: 'Sardis' }, 'coin__metal')).body[0]
  assert.deepEqual([masked._mask, 'mint' in masked.coin], ['coin__metal', false])
  assert.deepEqual(await read(masked, '_all_fields'), ['silver', null])
})

test('other values of reindex and confirm are refused', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  for (const query of [{ reindex: 'yes' }, { reindex: '' }, { confirm: 'no' }, { confirm: 'resync' }] as Record<
    string,
    string
  >[]) {
    const answer = await root.post('/schema/commit', undefined, query)
    assert.deepEqual([answer.status, answer.body.code], [400, 'ServerGeneric'], JSON.stringify(query))
  }
  for (const reindex of ['skip', 'reindex', 'reindex_block']) {
    assert.equal((await root.post('/schema/commit', undefined, { reindex })).status, 200)
  }
  assert.equal(await current(root), 3, 'a commit without changes is a version too')
})

test('SCHEMA-007 reindex: skip leaves the index, reindex renews it in the background, reindex_block keeps front ends waiting', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  await commitModel(root, types(text('x')))
  await save(root, { x: 'one' })
  await save(root, { x: 'two' })
  const somebody = await userWith(svc, 'somebody', {})
  const waiting = async () => (await root.get('/system/status')).body.total_not_indexed
  const search = async () => (await somebody.post('/search', {})).body.code ?? 'found'
  for (const [reindex, expected] of [
    ['skip', [0, 'found']],
    ['reindex', [2, 'found']],
    ['reindex_block', [2, 'ReindexInProgress']],
  ] as const) {
    await svc.drain()
    assert.deepEqual([await waiting(), await search()], [0, 'found'])
    await edit(root, ([table]) => [{ ...table, columns: [...table.columns, text(`new_for_${reindex}`)] }])
    {
      using _ = await holdIndexer(svc.db)
      // It is answered although nothing can be indexed.
      assert.equal((await root.post('/schema/commit', undefined, { reindex })).status, 200)
      assert.deepEqual([await waiting(), await search()], expected, reindex)
    }
  }
  await svc.drain()
  assert.deepEqual([await waiting(), await search()], [0, 'found'])
  const version = await current(root)
  for (const reindex of ['yes', '', 'SKIP', 'reindex,skip']) {
    const refused = await root.post('/schema/commit', undefined, { reindex })
    assert.deepEqual([refused.status, refused.body.code], [400, 'ServerGeneric'], reindex)
  }
  assert.equal(await current(root), version)
})

test('SCHEMA-008 confirm=yes answers the questions of the 202: about the index, about rules, and both', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  await commitModel(root, types(text('x')))
  await save(root, { x: 'abc' })
  const titles = async () => {
    const asked = await root.post('/schema/commit')
    assert.equal(asked.status, 202)
    return asked.body.tasks.map((task: Json) => task.title)
  }
  const changes: [string[], (table: Json) => Json][] = [
    [['Reindex'], (table) => ({ ...table, columns: [...table.columns, text('y')] })],
    [['Constraints'], (table) => ({ ...table, columns: [{ ...table.columns[0], length_max: 2 }, table.columns[1]] })],
    [
      ['Reindex', 'Constraints'],
      (table) => ({ ...table, columns: [table.columns[0], { ...table.columns[1], not_null: true }, text('z')] }),
    ],
  ]
  for (const [index, [questions, change]] of changes.entries()) {
    await edit(root, ([table]) => [change(table)])
    assert.deepEqual((await titles()).toSorted(), questions.toSorted())
    assert.equal(await current(root), index + 1, 'nothing is committed')
    assert.equal((await root.post('/schema/commit', undefined, { confirm: 'yes' })).status, 200)
    assert.equal(await current(root), index + 2)
  }
})

test('DM-025 SCHEMA-009 a change that concerns indexed objects asks first', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  await commitModel(root, [...types(text('x')), { name: 'b', columns: [text('y')] }])
  await save(root, { x: 'one' })
  await edit(root, (tables) => tables.map((table) => ({ ...table, columns: [...table.columns, text('new')] })))
  const asked = await root.post('/schema/commit')
  assert.equal(asked.status, 202)
  assert.equal(asked.body.tasks.length, 1)
  const [task] = asked.body.tasks
  assert.match(task.message, /1 objects: a \(1\)\.$/)
  assert.equal(task.form[0].name, 'reindex')
  assert.deepEqual(
    task.form[0].options.map(({ value }: Json) => value),
    ['reindex', 'reindex_block', 'skip'],
  )
  assert.deepEqual([task.buttons[0].name, task.buttons[0].value], ['confirm', 'yes'])
  assert.equal(await current(root), 1, 'nothing is committed')
  assert.equal((await root.post('/schema/commit', undefined, { reindex: 'skip' })).status, 200)
  assert.equal(await current(root), 2)
  await edit(root, (tables) => tables.map((table) => ({ ...table, is_hierarchical: true })))
  assert.equal((await root.post('/schema/commit', undefined, { confirm: 'yes' })).status, 200)
  await edit(root, (tables) => tables.map((table) => ({ ...table, comment: 'no matter for the index' })))
  assert.equal((await root.post('/schema/commit')).status, 200)
})

test('DM-026 rules that stored objects break ask first, and say how many break them', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  await commitModel(root, types(text('x'), text('y'), { name: 'n', type: 'number' }))
  await save(root, { x: 'abc', n: 1 })
  await save(root, { y: 'a' })
  await save(root, { x: 'ABC', y: 'abcdef', n: 200 })
  const rules: Record<string, object> = {
    x: { not_null: true, check_regexp: '^[a-z]+$' },
    y: { length_max: 3 },
    n: { check_range_upper: 100, check: 'value <> 1' },
  }
  await edit(root, ([table]) => [
    { ...table, columns: table.columns.map((column: Json) => ({ ...column, ...rules[column.name] })) },
  ])
  const asked = await root.post('/schema/commit', undefined, { reindex: 'skip' })
  assert.equal(asked.status, 202, JSON.stringify(asked.body))
  assert.equal(asked.body.tasks.length, 1)
  assert.match(
    asked.body.tasks[0].message,
    /a\.x \(not_null, check_regexp\): 2 objects; a\.y \(length\): 1 object; a\.n \(check, check_range\): 2 objects\.$/,
  )
  assert.equal(await current(root), 1)
  assert.equal((await root.post('/schema/commit', undefined, { confirm: 'yes' })).status, 200)
  const broken = await root.post('/db/a', [{ _objecttype: 'a', _mask: '_all_fields', a: { x: 'ABC' } }])
  assert.equal(broken.body.code, 'ConstraintViolation')
})

test('rules that no object breaks are not asked about', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  await commitModel(root, types(text('x')))
  await save(root, { x: 'abc' })
  await edit(root, ([table]) => [{ ...table, columns: [{ ...table.columns[0], not_null: true, length_max: 3 }] }])
  assert.equal((await root.post('/schema/commit', undefined, { reindex: 'skip' })).status, 200)
})

test('questions are asked together, and reindex answers only its own', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  await commitModel(root, types(text('x'), text('y')))
  await save(root, { x: 'abc' })
  await edit(root, ([table]) => [
    {
      ...table,
      columns: [
        { ...table.columns[0], name: 'z' },
        { ...table.columns[1], not_null: true },
      ],
    },
  ])
  assert.equal((await root.post('/schema/commit')).body.tasks.length, 2)
  assert.equal(
    (await root.post('/schema/commit', undefined, { reindex: 'reindex' })).body.tasks[0].title,
    'Constraints',
  )
})

test('a new unique key asks about duplicates; afterwards the first object has the value', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  await commitModel(root, types({ name: 'code', type: 'string' }))
  for (const code of ['A', 'A', 'A', 'B']) await save(root, { code })
  await edit(root, ([table]) => [{ ...table, unique_keys: [{ columns: [{ column_name_hint: 'code' }] }] }])
  const asked = await root.post('/schema/commit')
  assert.equal(asked.status, 202)
  assert.match(asked.body.tasks[0].message, /unique key a__code_unique: 2 objects\.$/)
  assert.equal((await root.post('/schema/commit', undefined, { confirm: 'yes' })).status, 200)
  const twin = await root.post('/db/a', [{ _objecttype: 'a', _mask: '_all_fields', a: { code: 'A' } }])
  assert.equal(twin.body.code, 'DatabaseUniqueKeyViolation')
  const found = await root.post('/db/a', [{ _objecttype: 'a', _mask: '_all_fields', a: { code: 'C' } }])
  assert.equal(found.status, 200)
})

test('renaming and reordering touch no data, and old versions are read under the new names', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  await commitModel(root, types(text('x'), text('y')))
  const { _id } = await save(root, { x: 'one', y: 'two' })
  await save(root, { _id, _version: 1, x: 'three', y: 'four' })
  const contents = async () => (await svc.db.query('select content from object_version order by version')).rows
  const before = await contents()
  await edit(root, ([table]) => [
    {
      ...table,
      columns: [
        { ...table.columns[1], name: 'second' },
        { ...table.columns[0], name: 'first' },
      ],
    },
  ])
  await root.post('/schema/commit', undefined, { confirm: 'yes' })
  assert.deepEqual(await contents(), before)
  const [latest] = await read(root, _id)
  assert.deepEqual([latest.first, latest.second, latest.x], ['three', 'four', undefined])
  const versions = await read(root, _id, { all_versions: '1' })
  assert.deepEqual(versions.map(({ _version, first }) => [_version, first]).sort(), [
    [1, 'one'],
    [2, 'three'],
  ])
})

test('a removed column hides its values; the same column brings them back, another one cannot take its id', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  await commitModel(root, types(text('x'), text('y')))
  const { _id } = await save(root, { x: 'one', y: 'two' })
  const [x, y] = (await root.get('/schema/user/CURRENT')).body.tables[0].columns
  await edit(root, ([table]) => [{ ...table, columns: [x] }])
  await root.post('/schema/commit', undefined, { confirm: 'yes' })
  assert.deepEqual((await read(root, _id))[0].y, undefined)
  await edit(root, ([table]) => [{ ...table, columns: [x, { ...y, type: 'number' }] }])
  const wrong = await root.post('/schema/commit', undefined, { confirm: 'yes' })
  assert.deepEqual([wrong.status, wrong.body.code], [400, 'SchemaInconsistent'])
  assert.match(wrong.body.message, /was another column in version 1/)
  await edit(root, ([table]) => [{ ...table, columns: [x, { ...y, name: 'again' }] }])
  await root.post('/schema/commit', undefined, { confirm: 'yes' })
  assert.equal((await read(root, _id))[0].again, 'two')
})

test('SCHEMA-011 ERR-018 a type change that loses values is refused and named', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  await commitModel(root, [
    ...types(text('x'), { name: 'l', type: 'link', other_table_name_hint: 'a' }),
    { name: 'b', columns: [text('y')] },
  ])
  await edit(root, ([a, b]) => [{ ...a, columns: [{ ...a.columns[0], type: 'number' }, a.columns[1]] }, b])
  const refused = await root.post('/schema/commit', undefined, { confirm: 'yes' })
  assert.deepEqual([refused.status, refused.body.code], [400, 'TypeChangeUnsupported'])
  assert.deepEqual(refused.body.parameters, { table: 'a', column: 'x', from: 'text', to: 'number' })
  await edit(root, ([a, b]) => [
    {
      ...a,
      columns: [{ ...a.columns[0], type: 'text' }, a.columns[1]],
      foreign_keys: [{ ...a.foreign_keys[0], referenced_table: { table_id: 2 } }],
    },
    b,
  ])
  const target = await root.post('/schema/commit', undefined, { confirm: 'yes' })
  assert.deepEqual(target.body.parameters, { table: 'a', column: 'l', from: 'link', to: 'link' })
  assert.equal(await current(root), 1)
})

test('a type change that loses nothing converts all versions of all objects, in nested tables too', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  await commitModel(root, [
    ...types({ name: 'n', type: 'number' }, { name: 'd', type: 'date' }, text('t')),
    { name: 'a__row', owned_by: { other_table_name_hint: 'a' }, columns: [{ name: 'm', type: 'integer.2' }] },
  ])
  const { _id } = await save(root, { n: 12, d: { value: '1850-03' }, t: 'one', '_nested:a__row': [{ m: 1250 }] })
  await save(root, { _id, _version: 1, n: 13, t: 'two' })
  const to: Record<string, string> = { n: 'integer.2', d: 'daterange', t: 'text_l10n', m: 'double' }
  await edit(root, (tables) =>
    tables.map((table) => ({
      ...table,
      columns: table.columns.map((column: Json) => (to[column.name] ? { ...column, type: to[column.name] } : column)),
    })),
  )
  const answer = await root.post('/schema/commit', undefined, { confirm: 'yes' })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  const versions = await read(root, _id, { all_versions: '1' })
  const first = versions.find(({ _version }) => _version === 1)
  assert.equal(first.n, 1200)
  assert.deepEqual([first.d.from, first.d.to], ['1850-03', '1850-03'])
  assert.deepEqual(first.t, { 'en-US': 'one' })
  assert.equal(first['_nested:a__row'][0].m, 12.5)
  assert.equal(versions.find(({ _version }) => _version === 2).n, 1300)
})

test('a value that does not fit the new type stops the commit, and nothing has changed', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  await commitModel(root, types(text('x')))
  await save(root, { x: 'one\ntwo' })
  await save(root, { x: 'one' })
  await edit(root, ([a]) => [{ ...a, columns: [{ ...a.columns[0], type: 'text_oneline' }] }])
  const refused = await root.post('/schema/commit', undefined, { confirm: 'yes' })
  assert.equal(refused.body.code, 'TypeChangeUnsupported')
  assert.deepEqual(refused.body.parameters, { table: 'a', column: 'x', from: 'text', to: 'text_oneline', count: 1 })
  assert.equal(await current(root), 1)
  assert.equal((await svc.db.query('select 1 from datamodel_version')).rowCount, 1)
})

test('an object type is removed only without objects, those in the trash included; its ids are not given again', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  await commitModel(root, [...types(text('x')), { name: 'b', columns: [text('y')] }])
  const { _id } = await save(root, { x: 'one' })
  const removed = await root.delete('/db/a', [[_id, 1, null]], { delete_policy: 'remove' })
  assert.equal(removed.status, 200, JSON.stringify(removed.body))
  const [a, b] = (await root.get('/schema/user/CURRENT')).body.tables
  await edit(root, () => [b])
  const refused = await root.post('/schema/commit', undefined, { confirm: 'yes' })
  assert.deepEqual([refused.status, refused.body.code], [400, 'ObjecttypeNotEmpty'])
  assert.deepEqual(refused.body.parameters, { objecttype: 'a', table_id: 1, count: 1 })
  await root.delete('/db/a', [[_id, 2, null]], { delete_policy: 'purge' })
  assert.equal((await root.post('/schema/commit', undefined, { confirm: 'yes' })).status, 200)
  assert.deepEqual(
    (await root.get('/objecttype')).body.map(({ objecttype }: Json) => objecttype.name),
    ['b'],
  )
  assert.equal((await root.get(`/db/a/_all_fields/${_id}`)).status, 400)
  await edit(root, (tables) => [a, ...tables])
  await root.post('/schema/commit')
  assert.ok((await save(root, { x: 'two' }))._id > _id)
})

test('a column cannot move to another table, nor a nested table to another owner', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  await commitModel(root, [
    ...types(text('x')),
    { name: 'b', columns: [text('y')] },
    { name: 'a__n', owned_by: { other_table_name_hint: 'a' }, columns: [text('z')] },
  ])
  const { tables } = (await root.get('/schema/user/CURRENT')).body
  const [a, b, n] = tables
  await edit(root, () => [{ ...a, columns: [b.columns[0], a.columns[1]] }, { ...b, columns: [a.columns[0]] }, n])
  const moved = await root.post('/schema/commit')
  assert.deepEqual(
    [moved.body.code, moved.body.parameters.path],
    ['SchemaInconsistent', 'tables[0].columns[0].column_id'],
  )
  await edit(root, () => [{ ...a, columns: [a.columns[0]] }, b, { ...n, owned_by: { other_table_id: b.table_id } }])
  const owned = await root.post('/schema/commit')
  assert.deepEqual([owned.body.code, owned.body.parameters.path], ['SchemaInconsistent', 'tables[2].owned_by'])
  await edit(root, () => [{ ...a, columns: [a.columns[0]] }, b, { ...n, owned_by: undefined }])
  assert.equal((await root.post('/schema/commit')).body.parameters.path, 'tables[2].owned_by')
  assert.equal(await current(root), 1)
})

test('pools and single parents are rules as well', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  await commitModel(root, [{ name: 'a', polyhierarchical: true, columns: [text('x')] }])
  await save(root, { x: 'one' })
  await edit(root, ([table]) => [{ ...table, pool_link: true }])
  const asked = await root.post('/schema/commit', undefined, { reindex: 'skip' })
  assert.match(asked.body.tasks[0].message, /a \(pool required\): 1 object\.$/)
})

test('two commits at once make two versions, one after the other', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  await root.post('/schema/user/HEAD', { version: 1, tables: types(text('x')) })
  const answers = await Promise.all([1, 2, 3].map(() => root.post('/schema/commit')))
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200],
  )
  assert.equal(await current(root), 3)
})

test('another process works with a new version as soon as it is committed', async () => {
  await using one = await startService()
  await using two = await attachService(one.dsn)
  await commitModel(one.as('root'), types(text('x')))
  const other = two.as('root')
  await until(async () => (await other.get('/objecttype')).body.length === 1)
  await save(other, { x: 'one' })
  await commitModel(one.as('root'), types(text('x'), text('y')), null, { confirm: 'yes' })
  // A save that still used the old version is answered 423 and succeeds when it is sent again.
  await until(async () => {
    const answer = await other.post('/db/a', [{ _objecttype: 'a', _mask: '_all_fields', a: { x: 'two', y: 'new' } }])
    assert.ok([200, 400, 423].includes(answer.status), JSON.stringify(answer.body))
    return answer.status === 200 && answer.body[0].a.y === 'new'
  })
})
