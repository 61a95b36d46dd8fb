import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { dsnOf } from '../../torture/faults.ts'
import { createHttpClient, password } from '../../torture/http.ts'
import type { Client, Json } from '../support/client.ts'
import { invariants } from '../support/invariants.ts'
import { preparedFolder } from '../support/prepared-folder.ts'
import { type ServiceProcess, spawnService } from '../support/process.ts'
import { until } from '../support/until.ts'

const start = (dataDir: string): Promise<ServiceProcess> => spawnService(dataDir, { SVC_ROOT_PASSWORD: password })
const count = 300
const answers = { confirm: 'yes', reindex: 'reindex' }

async function ok(answer: Promise<{ status: number; body: Json }>): Promise<Json> {
  const { status, body } = await answer
  assert.equal(status, 200, JSON.stringify(body))
  return body
}

async function addColumn(client: Client, name: string): Promise<void> {
  const head = await ok(client.get('schema/user/HEAD'))
  head.tables[0].columns.push({ kind: 'column', name, type: 'string' })
  await ok(client.post('schema/user/HEAD', head))
}

/** The model is one of both, and everything is stored, indexed and found under it. */
async function assertWhole(
  client: Client,
  dataDir: string,
  version: number,
  columns: readonly string[],
): Promise<void> {
  const { tables, version: current } = await ok(client.get('schema/user/CURRENT'))
  assert.equal(current, version)
  assert.deepEqual(
    tables[0].columns.map(({ name }: Json) => name),
    columns,
  )
  await until(async () => (await ok(client.get('system/status'))).total_not_indexed === 0, 60)
  const found = await ok(client.post('search', { search: [{ type: 'match', mode: 'fulltext', string: 'noted' }] }))
  assert.equal(found.count, count)
  const [note] = await ok(client.get('db/note/_all_fields/7'))
  assert.deepEqual(
    Object.keys(note.note).filter((name) => !name.startsWith('_')),
    columns,
  )
  const db = new pg.Client(dsnOf(dataDir))
  await db.connect()
  try {
    for (const [what, text] of Object.entries(invariants)) assert.deepEqual((await db.query(text)).rows, [], what)
  } finally {
    await db.end()
  }
}

test('kill -9 in the middle of a commit of the datamodel: the old or the new one, and the index is whole', async () => {
  await using folder = await preparedFolder()
  let service = await start(folder.path)
  try {
    let client = createHttpClient(service.url)
    await ok(
      client.post('schema/user/HEAD', {
        version: 1,
        tables: [{ name: 'note', in_main_search: true, columns: [{ kind: 'column', name: 'mark', type: 'string' }] }],
      }),
    )
    await ok(client.post('schema/commit'))
    const notes = Array.from({ length: count }, (_, n) => ({
      _objecttype: 'note',
      _mask: '_all_fields',
      note: { mark: `noted ${n}` },
    }))
    await ok(client.post('db/note', notes))

    // Everything is written but the queue of the index, which somebody holds: then the service dies.
    const holder = new pg.Client(dsnOf(folder.path))
    holder.on('error', () => {})
    await holder.connect()
    await addColumn(client, 'first')
    await holder.query('begin; lock table index_queue in exclusive mode')
    const lost = client.post('schema/commit', undefined, answers).catch(() => null)
    await until(async () => {
      const { rows } = await holder.query(
        "select from pg_locks where not granted and relation = 'index_queue'::regclass",
      )
      return rows.length > 0
    }, 30)
    service.child.kill('SIGKILL')
    await service.exited
    assert.equal(await lost, null)
    await holder.query('rollback').catch(() => {})
    await holder.end().catch(() => {})
    service = await start(folder.path)
    client = createHttpClient(service.url)
    await assertWhole(client, folder.path, 1, ['mark'])

    // It dies as soon as the commit is answered, and a little later.
    const columns = ['mark', 'first']
    for (const [n, lapse] of [0, 100].entries()) {
      if (n > 0) {
        const name = `more${n}`
        await addColumn(client, name)
        columns.push(name)
      }
      await ok(client.post('schema/commit', undefined, answers))
      await sleep(lapse)
      service.child.kill('SIGKILL')
      await service.exited
      service = await start(folder.path)
      client = createHttpClient(service.url)
      await assertWhole(client, folder.path, 2 + n, columns)
    }
  } finally {
    service.child.kill('SIGTERM')
    await service.exited
  }
})
