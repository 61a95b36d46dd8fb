import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDatamodelService, hooksWithoutObjects } from '../../src/datamodel/service.ts'
import { createEventLog } from '../../src/events/service.ts'
import { AppError } from '../../src/platform/errors.ts'
import { openDb } from '../../src/platform/postgres/db.ts'
import { attachService, startService, type TestService } from '../support/service.ts'
import { openMemory } from '../support/snapshots.ts'
import { until } from '../support/until.ts'
import { commitModel } from './support.ts'

/** The datamodel service of a further process with one connection. */
async function otherProcess(svc: TestService) {
  const db = openDb({
    connectionString: svc.dsn,
    maxConnections: 1,
    applicationName: 'strongroom test',
    lockTimeout: 300,
    onError: () => {},
  })
  const memory = await openMemory(db)
  const datamodel = await createDatamodelService({
    db,
    bus: memory.bus,
    snapshots: memory.snapshots,
    events: createEventLog(),
    conventionOf: () => 'stored',
    hooks: hooksWithoutObjects,
    dataLanguage: () => 'en-US',
  })
  return {
    db,
    datamodel,
    deafen: () => memory.snapshots.close(),
    [Symbol.asyncDispose]: async () => {
      await memory[Symbol.asyncDispose]()
      await db.close()
    },
  }
}

const tables = (...names: string[]) => [{ name: 'a', columns: names.map((name) => ({ name, type: 'text' })) }]

test('a save under an old version is refused with 423, and finds the new one when it is sent again', async () => {
  await using svc = await startService()
  await commitModel(svc.as('root'), tables('x'))
  await using other = await otherProcess(svc)
  const { db, datamodel } = other
  const old = datamodel.current()
  await db.transaction((tx) => datamodel.assertCurrent(tx, old))
  other.deafen()
  await commitModel(svc.as('root'), tables('x', 'y'))
  assert.equal(datamodel.current(), old)
  await assert.rejects(
    db.transaction((tx) => datamodel.assertCurrent(tx, old)),
    (error) => error instanceof AppError && error.code === 'DatabaseLockError' && error.status === 423,
  )
  assert.equal(datamodel.current().version, 2)
  await db.transaction((tx) => datamodel.assertCurrent(tx, datamodel.current()))
})

test('a commit waits for saves under way, and answers 423 when they take too long', async () => {
  await using svc = await startService({ lockTimeout: 200 })
  const root = svc.as('root')
  await commitModel(root, tables('x'))
  await using other = await otherProcess(svc)
  await other.db.transaction(async (tx) => {
    await other.datamodel.assertCurrent(tx, other.datamodel.current())
    const answer = await root.post('/schema/commit')
    assert.deepEqual([answer.status, answer.body.code], [423, 'DatabaseLockError'])
  })
  assert.equal((await root.post('/schema/commit')).status, 200)
})

test('listeners hear of each new version, and former versions can be read', async () => {
  await using svc = await startService()
  await commitModel(svc.as('root'), tables('x'))
  await using other = await otherProcess(svc)
  const { datamodel } = other
  const heard = new Promise<number>((resolve) => datamodel.onChange((model) => resolve(model.version)))
  await commitModel(svc.as('root'), tables('x', 'y'))
  assert.equal(await heard, 2)
  const former = await datamodel.version(1)
  assert.deepEqual(
    former.objecttypes.get('a')?.columns.map(({ name }) => name),
    ['x'],
  )
  assert.equal(await datamodel.version(1), former)
  assert.equal(await datamodel.version(2), datamodel.current())
  await assert.rejects(
    datamodel.version(3),
    (error) => error instanceof AppError && error.code === 'DatamodelVersionNotFound',
  )
})

test('settings that one process saves are those of all', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  await commitModel(root, tables('x'))
  await using node = await attachService(svc.dsn)
  const saved = await root.post('/objecttype', [
    { objecttype: { _id: 1, _version: 2, description: { 'en-US': 'new' } } },
  ])
  assert.equal(saved.status, 200)
  const there = () => node.as('root').get('/objecttype')
  await until(async () => (await there()).body[0].objecttype.description['en-US'] === 'new')
  assert.equal((await there()).headers['x-svc-cache-id'], saved.headers['x-svc-cache-id'])
})
