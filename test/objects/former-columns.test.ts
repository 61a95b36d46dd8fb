import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commitModel } from '../datamodel/support.ts'
import type { Client, Json } from '../support/client.ts'
import { invariants } from '../support/invariants.ts'
import { startService, type TestService } from '../support/service.ts'

const model = [
  { name: 'person', columns: [{ name: 'name', type: 'text' }] },
  {
    name: 'work',
    columns: [
      { name: 'title', type: 'text' },
      { name: 'maker', type: 'link', other_table_name_hint: 'person' },
    ],
  },
  {
    name: 'work__owner',
    owned_by: { other_table_name_hint: 'work' },
    columns: [
      { name: 'since', type: 'text' },
      { name: 'who', type: 'link', other_table_name_hint: 'person' },
    ],
  },
]

async function saved(root: Client, type: string, blocks: object[]): Promise<Json[]> {
  const answer = await root.post(
    `/db/${type}`,
    blocks.map((block) => ({ _objecttype: type, _mask: '_all_fields', [type]: block })),
  )
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body
}

const personLink = (object: Json) => ({
  _objecttype: 'person',
  _mask: '_all_fields',
  person: { _id: object.person._id },
})

async function commit(root: Client, tables: readonly Json[]): Promise<void> {
  const { version } = (await root.get('/schema/user/HEAD')).body
  const head = await root.post('/schema/user/HEAD', { version, tables })
  assert.equal(head.status, 200, JSON.stringify(head.body))
  const answer = await root.post('/schema/commit', undefined, { confirm: 'yes' })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
}

/** Takes the links and the nested table out of the datamodel; answers the tables as they were. */
async function withoutLinkColumns(root: Client): Promise<Json[]> {
  const { tables } = (await root.get('/schema/user/HEAD')).body
  const less = structuredClone(tables).filter(({ name }: Json) => name !== 'work__owner')
  for (const table of less) {
    table.columns = table.columns.filter(({ name }: Json) => name !== 'maker' && name !== 'work__owner')
    delete table.foreign_keys
  }
  await commit(root, less)
  return tables
}

/** A live and a lost person, and two works that link to both, in a column and in rows. */
async function scene(svc: TestService) {
  const root = svc.as('root')
  await commitModel(root, model)
  const [ada, bob] = await saved(root, 'person', [{ name: 'Ada' }, { name: 'Bob' }])
  const [first, second] = await saved(root, 'work', [
    {
      title: 'one',
      maker: personLink(bob),
      '_nested:work__owner': [
        { who: personLink(bob), since: '1900' },
        { who: personLink(bob) },
        { who: personLink(ada) },
      ],
    },
    { title: 'two', maker: personLink(ada) },
  ])
  return { root, ada, bob, first, second }
}

async function links(svc: TestService): Promise<number[][]> {
  const { rows } = await svc.db.query<{ from: number; to: number }>(
    'select from_id as "from", to_id as "to" from object_link order by 1, 2, column_id',
  )
  return rows.map(({ from, to }) => [from, to])
}

async function assertWhole(svc: TestService): Promise<void> {
  for (const [what, text] of Object.entries(invariants)) {
    assert.deepEqual((await svc.db.query(text)).rows, [], what)
  }
}

const works = async (root: Client, id: number) => (await root.get(`/db/work/_all_fields/${id}`)).body[0].work

test('setnull empties links in columns that the datamodel does not have, and they come back empty', async () => {
  await using svc = await startService()
  const { root, ada, bob, first } = await scene(svc)
  const tables = await withoutLinkColumns(root)
  const gone = await root.delete('/db/person', [[bob.person._id, 1, null]], { delete_policy: 'setnull' })
  assert.equal(gone.status, 200, JSON.stringify(gone.body))
  assert.deepEqual(gone.body.setnull, [first.work._id])
  await assertWhole(svc)
  await commit(root, tables)
  await assertWhole(svc)
  const work = await works(root, first.work._id)
  assert.equal(work.maker, null)
  assert.deepEqual(
    work['_nested:work__owner'].map((row: Json) => [row.since, row.who?._system_object_id ?? null]),
    [
      ['1900', null],
      [null, ada._system_object_id],
    ],
    'a row that held nothing but the link went with it',
  )
})

test('a column that comes back knows its links again, and has none to what went meanwhile', async () => {
  await using svc = await startService()
  const { root, ada, bob, first, second } = await scene(svc)
  const before = await links(svc)
  const tables = await withoutLinkColumns(root)
  // As a release left it that forgot links of columns which the datamodel did not have.
  await svc.db.query('delete from object_link')
  const answer = await root.delete('/db/person', [[bob.person._id, 1, null]], { delete_policy: 'setnull' })
  assert.deepEqual(answer.body.setnull, [])
  await root.delete('/db/person', [[bob.person._id, 2, null]], { delete_policy: 'purge' })
  await commit(root, tables)
  await assertWhole(svc)
  assert.deepEqual(
    await links(svc),
    before.filter(([, to]) => to === ada._system_object_id),
  )
  assert.equal((await works(root, first.work._id)).maker, null)
  assert.equal((await works(root, second.work._id)).maker._system_object_id, ada._system_object_id)
  const refused = await root.delete('/db/person', [[ada.person._id, 1, null]])
  assert.match(refused.body.tasks[0].message, /2 other objects link/)
})

test('an object that is purged while a column is away leaves no link of it', async () => {
  await using svc = await startService()
  const { root, first, second } = await scene(svc)
  await withoutLinkColumns(root)
  for (const { work } of [first, second]) {
    await root.delete('/db/work', [[work._id, 1, null]], { delete_policy: 'remove' })
    const purged = await root.delete('/db/work', [[work._id, 2, null]], { delete_policy: 'purge' })
    assert.equal(purged.status, 200, JSON.stringify(purged.body))
  }
  assert.deepEqual(await links(svc), [])
})
