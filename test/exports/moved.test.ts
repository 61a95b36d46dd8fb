import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { startMuseum } from '../support/seed/museum.ts'
import { addWorks, exported, fetchedFile } from './support.ts'

test('what exports have made moves between locations with what is made of files, and is read from there', async () => {
  await using museum = await startMuseum()
  const { svc } = museum
  const root = svc.as('root')
  await addWorks(museum, ['first', 'second'])
  const one = await exported(svc, { json: true, json_one_file_per_object: false })
  const read = async () => (await fetchedFile(svc, one.export._id, 'export.json')).body
  const before = await read()
  assert.equal(JSON.parse(before).length, 2)
  const config = { file: { dir: 'files/shelf' } }
  assert.equal((await root.post('/system/location/new', { name: 'shelf', kind: 'file', config })).status, 200)
  const location_defaults = { originals: 'shelf', versions: 'shelf' }
  assert.equal((await root.post('/config/system/config', { location_defaults })).status, 200)
  const move = async (contents: string) => {
    const started = await root.post('/system/location/1/move', { to: 'shelf', contents })
    assert.equal(started.status, 200, JSON.stringify(started.body))
    await svc.drain()
    const [{ status, moved }] = (await root.get('/system/location/move')).body
    return [status, moved]
  }
  const filesIn = async (folder: string): Promise<number> => {
    const entries = await readdir(join(svc.config.dataDir, folder), { recursive: true, withFileTypes: true })
    return entries.filter((entry) => entry.isFile() && !entry.parentPath.endsWith('/tmp')).length
  }
  assert.deepEqual(await move('originals'), ['done', 0])
  assert.deepEqual(await move('versions'), ['done', 1])
  assert.equal(await filesIn('files/shelf'), 1)
  // The janitor of files removes contents that nothing uses any more: those at the old place.
  await svc.app.tidy(new Date(Date.now() + 3 * 86_400_000))
  assert.equal(await filesIn('files/shelf'), 1)
  const { rows } = await svc.db.query('select distinct location_id from file_blob b')
  assert.equal(rows.length, 1)
  assert.equal(await read(), before)
})
