import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { fewestConnections } from '../../src/platform/config/connections.ts'
import { inPool, link, type Museum, payload, startMuseum } from '../support/seed/museum.ts'
import { attachService } from '../support/service.ts'
import { statementsOf } from '../support/statements.ts'

let museum: Museum
before(async () => {
  museum = await startMuseum({ lockTimeout: 300 })
})
after(() => museum[Symbol.asyncDispose]())

const root = () => museum.svc.as('root')

test('two writers on one object: exactly one wins', async () => {
  const created = await root().post('/db/person', [payload('person', { name: 'Contested' })])
  const id = created.body[0].person._id
  const attempts = await Promise.all(
    Array.from({ length: 6 }, (_, n) =>
      root().post('/db/person', [payload('person', { _id: id, _version: 1, name: `writer ${n}` })]),
    ),
  )
  const won = attempts.filter((answer) => answer.status === 200)
  assert.equal(won.length, 1)
  for (const answer of attempts) {
    if (answer.status !== 200)
      assert.ok(['VersionMismatch', 'DatabaseLockError'].includes(answer.body.code), answer.body.code)
  }
  const versions = await root().get(`/db/person/_all_fields/${id}`, { all_versions: 1 })
  assert.deepEqual(
    versions.body.map((object: { person: { _version: number } }) => object.person._version).sort(),
    [1, 2],
  )
})

test('ERR-024 a write that waits too long for a lock answers 423 and changes nothing', async () => {
  const created = await root().post('/db/person', [payload('person', { name: 'Locked' })])
  const { _system_object_id: systemObjectId, person } = created.body[0]
  const update = [payload('person', { _id: person._id, _version: 1, name: 'Retried' })]
  const client = await museum.svc.db.connect()
  try {
    await client.query('begin')
    await client.query('select 1 from object where system_object_id = $1 for update', [systemObjectId])
    const answer = await root().post('/db/person', update)
    assert.deepEqual([answer.status, answer.body.code], [423, 'DatabaseLockError'])
    const stored = (await root().get(`/db/person/_all_fields/${person._id}`)).body[0].person
    assert.deepEqual([stored.name, stored._version], ['Locked', 1])
  } finally {
    await client.query('rollback')
    client.release()
  }
  const again = await root().post('/db/person', update)
  assert.deepEqual([again.status, again.body[0].person.name], [200, 'Retried'], 'the identical request')
})

test('two requests cannot take the same unique value', async () => {
  const attempts = await Promise.all(
    Array.from({ length: 5 }, () => root().post('/db/person', [payload('person', { name: 'U', reference: 'raced' })])),
  )
  assert.equal(attempts.filter((answer) => answer.status === 200).length, 1)
})

test('saving costs a constant number of statements', async () => {
  const people = await root().post(
    '/db/person',
    [1, 2, 3, 4, 5].map((n) => payload('person', { name: `P${n}` })),
  )
  const ids = people.body.map((person: { _system_object_id: number }) => person._system_object_id)
  const rich = (n: number) =>
    payload('work', {
      ...inPool(museum.pool),
      title: { 'en-US': `Rich ${n}` },
      creator: link('person', ids[n % 5]),
      '_nested:work__material': [0, 1, 2].map((m) => ({
        name: `m${m}`,
        '_nested:work__material__supplier': [{ person: link('person', ids[(n + m) % 5]) }],
      })),
      '_reverse_nested:loan:work': [payload('loan', { borrower: 'A' }), payload('loan', { borrower: 'B' })],
    })
  const statements = (size: number, enough = 0): Promise<number> => {
    const save = async () => {
      const body = Array.from({ length: size }, (_, n) => rich(n))
      const answer = await root().post('/db/work', body, { format: 'short', skip_index: 1 })
      assert.equal(answer.status, 200, JSON.stringify(answer.body).slice(0, 500))
      assert.equal(answer.body.length, size)
    }
    return statementsOf(museum.svc, save, { enough })
  }
  const few = await statements(10)
  assert.equal(await statements(1000, few), few)
})

test('a save of one object: six statements if it is new, else eight', async () => {
  const save = async (objecttype: string, block: object) => {
    const answer = await root().post(`/db/${objecttype}`, [payload(objecttype, block)], { skip_index: 1 })
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    return answer.body[0]
  }
  const title = (text: string) => ({ ...inPool(museum.pool), title: { 'en-US': text } })
  const { _id } = (await save('work', title('First'))).work
  const created = await statementsOf(museum.svc, () => save('person', { name: 'New' }))
  const updated = await statementsOf(museum.svc, (run) => save('work', { _id, _version: 1 + run, ...title('Next') }))
  assert.deepEqual([created, updated], [6, 8])
})

test('more first saves at once than there are connections: none waits for another’s connection', async () => {
  // Nothing is in the memory of a new process: names, rights and the datamodel are read in the middle of the saves.
  await using fresh = await attachService(museum.svc.dsn, { dbMaxConnections: fewestConnections })
  const root = fresh.as('root')
  await root.token()
  const begun = performance.now()
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, n) => root.post('/db/person', [payload('person', { name: `At once ${n}` })])),
  )
  for (const answer of answers) assert.equal(answer.status, 200, JSON.stringify(answer.body))
  assert.ok(performance.now() - begun < 10_000)
})
