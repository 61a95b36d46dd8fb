import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Json } from '../support/client.ts'
import { inPool, link, type Museum, payload, startMuseum } from '../support/seed/museum.ts'

let museum: Museum
before(async () => {
  museum = await startMuseum()
})
after(() => museum[Symbol.asyncDispose]())

const root = () => museum.svc.as('root')

async function save(objecttype: string, objects: object[]): Promise<Json[]> {
  const answer = await root().post(`/db/${objecttype}`, objects)
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body
}

/** Everything that a delete writes, as rows of text. */
async function stored(): Promise<string[]> {
  await museum.svc.drain()
  const { rows } = await museum.svc.db.query<{ row: string }>(
    `select row from (
       select 'object ' || object::text as row from object
       union all select 'version ' || object_version::text from object_version
       union all select 'link ' || object_link::text from object_link
       union all select 'unique ' || object_unique::text from object_unique
       union all select 'tombstone ' || object_tombstone::text from object_tombstone
       union all select 'event ' || event::text from event where type like 'OBJECT%'
       union all select 'last event ' || last_value from event_id_seq
     ) rows order by row`,
    [],
    'all-of-it',
  )
  return rows.map(({ row }) => row)
}

/** A person with a work that links to it and a loan that hangs below the work; `trashed` puts all into the trash. */
async function scene(trashed: boolean): Promise<[id: number, version: number, comment: null]> {
  const [person] = await save('person', [payload('person', { name: 'Kept' })])
  await save('work', [
    payload('work', {
      ...inPool(museum.pool),
      creator: link('person', person._system_object_id),
      '_reverse_nested:loan:work': [payload('loan', { borrower: 'Prado' })],
    }),
  ])
  const id = person.person._id
  if (!trashed) return [id, 1, null]
  assert.equal((await root().delete('/db/person', [[id, 1, null]], { delete_policy: 'remove' })).status, 200)
  return [id, 2, null]
}

for (const [policy, trashed] of [
  ['setnull', false],
  ['remove', false],
  ['undelete', true],
  ['purge', true],
] as const) {
  test(`a dry run of ${policy} answers what would happen and changes nothing`, async () => {
    const triple = await scene(trashed)
    const before = await stored()
    const query = { delete_policy: policy, await_index: 5 }
    const dry = await root().delete('/db/person', [triple], { ...query, dry_run: 1 })
    assert.equal(dry.status, 200, JSON.stringify(dry.body))
    assert.deepEqual(await stored(), before)
    const real = await root().delete('/db/person', [triple], query)
    assert.deepEqual([real.status, real.body], [200, dry.body])
    assert.notDeepEqual(await stored(), before)
  })
}

test('a dry run asks and refuses as the delete would', async () => {
  const [id, version] = await scene(false)
  const choice = await root().delete('/db/person', [[id, version, null]], { dry_run: 1 })
  assert.deepEqual([choice.status, choice.body.tasks[0].form[0].name], [202, 'delete_policy'])
  const stale = await root().delete('/db/person', [[id, version + 1, null]], { dry_run: 1, delete_policy: 'remove' })
  assert.deepEqual([stale.status, stale.body.code], [400, 'VersionMismatch'])
})

test('a misspelled dry_run deletes nothing', async () => {
  const [id, version] = await scene(false)
  const before = await stored()
  for (const name of ['dryrun', 'dry-run', 'dry_runs', 'DRY_RUN']) {
    const answer = await root().delete('/db/person', [[id, version, null]], { delete_policy: 'remove', [name]: 1 })
    assert.deepEqual([answer.status, answer.body.parameters.param], [400, name], name)
  }
  assert.deepEqual(await stored(), before)
})
