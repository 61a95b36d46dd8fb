import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { mountSmallDisk } from '../../torture/disk.ts'
import { createHttpClient, password } from '../../torture/http.ts'
import { setScene } from '../../torture/scene.ts'
import type { Json } from '../support/client.ts'
import { spawnService } from '../support/process.ts'
import { payload } from '../support/seed/museum.ts'
import { until } from '../support/until.ts'

/** Bytes of texts in each version: so few of them fit where a disk is nearly full. */
const large = 600_000

test('a disk that gets full while the datamodel is committed: each version is there whole or not at all, and saving goes on with space', async (t) => {
  const disk = await mountSmallDisk(400)
  if (typeof disk === 'string') return t.skip(disk)
  await using _ = disk
  await using service = await spawnService(join(disk.path, 'data'), { SVC_ROOT_PASSWORD: password })
  const client = createHttpClient(service.url)
  const { pool } = await setScene(client)
  const current = async (): Promise<Json> => (await client.get('schema/user/CURRENT')).body
  const before = await current()

  const committed: string[] = []
  const unclear: string[] = []
  const statuses = new Set<number>()
  for (let n = 0; n < 8; n++) {
    const name = `kind${n}`
    const fill = n % 2 === 0 ? async () => {} : () => disk.fill()
    const status = await addTable(client, name, fill).catch(() => 0)
    statuses.add(status)
    if (status === 200) committed.push(name)
    else unclear.push(name)
    await disk.empty()
    // PostgreSQL may have ended, and is started again.
    await until(async () => (await client.get('schema/user/HEAD').catch(() => null))?.status === 200)
  }
  assert.ok(committed.length > 0 && unclear.length > 0, `${committed} were stored, ${unclear} were not`)
  assert.deepEqual(
    [...statuses].filter((status) => ![0, 200, 503].includes(status)),
    [],
  )

  const after = await current()
  const added = new Set<string>(after.tables.map(({ name }: Json) => name))
  for (const name of committed) assert.ok(added.has(name), `${name} was acknowledged`)
  const extra = [...added].filter((name) => name.startsWith('kind') && !committed.includes(name))
  assert.ok(
    extra.every((name) => unclear.includes(name)),
    'nothing is there that was not sent',
  )
  assert.equal(after.version, before.version + committed.length + extra.length)

  await until(async () => (await addTable(client, 'last').catch(() => 0)) === 200)
  const object = payload('last', { mark: 'after', _pool: { pool: { _id: pool } } })
  await until(async () => (await client.post('db/last', [object])).status === 200)
  const book = payload('book', { mark: 'after', code: 'after', _pool: { pool: { _id: pool } } })
  assert.equal((await client.post('db/book', [book])).status, 200)
})

/** Adds an object type with a long text to the working copy and commits it, after `meanwhile`; the status of what ended it. */
async function addTable(
  client: ReturnType<typeof createHttpClient>,
  name: string,
  meanwhile = async (): Promise<void> => {},
): Promise<number> {
  const { body: head } = await client.get('schema/user/HEAD')
  const { body: stored } = await client.get('schema/user/CURRENT')
  const book = stored.tables.find((table: Json) => table.name === 'book')
  const filler = name.repeat(large / name.length)
  const columns = [{ kind: 'column', name: 'mark', type: 'text_oneline', custom_settings: { filler } }]
  // What an earlier attempt has left in the working copy goes.
  const tables = [...stored.tables, { name, pool_link: book.pool_link, in_main_search: true, columns }]
  const written = await client.post('schema/user/HEAD', { ...head, tables })
  if (written.status !== 200) return written.status
  await meanwhile()
  const answer = await client.post('schema/commit', undefined, { confirm: 'yes', reindex: 'reindex' })
  return answer.status
}
