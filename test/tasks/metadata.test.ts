import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { picture } from '../files/support.ts'
import { tagged } from '../mappings/exiftool.ts'
import { type Archive, startArchive, uploaded } from '../mappings/support.ts'
import type { Client, Json } from '../support/client.ts'
import { inPool } from '../support/seed/museum.ts'
import { now, ok } from './support.ts'

let archive: Archive
let root: Client
let file: number

before(async () => {
  archive = await startArchive()
  root = archive.svc.as('root')
  const said = ['-XMP-dc:Title=The lake', '-XMP-photoshop:City=Zürich', '-XMP-dc:Subject=lake', '-XMP-dc:Subject=dawn']
  file = (await uploaded(archive.svc, 'lake.jpg', await tagged(await picture(), said, 'lake.jpg')))._id
})
after(() => archive[Symbol.asyncDispose]())

async function photo(block: object): Promise<Json> {
  const [saved] = await ok(
    root.post('/db/photo', [
      {
        _objecttype: 'photo',
        _mask: '_all_fields',
        photo: { ...inPool(archive.pool), file: [{ _id: file, preferred: true }], ...block },
      },
    ]),
  )
  await archive.svc.drain()
  return saved
}

async function run(params: object): Promise<Json> {
  const task = {
    task_module: 'metadata',
    next_run_at: now,
    task_params: { search: { objecttypes: ['photo'], search: [] }, ...params },
  }
  const { task: saved } = await ok(root.post('/task', { task }, { confirm: 'yes' }))
  await archive.svc.drain()
  return (await ok(root.get(`/task/${saved._id}`))).task
}

const read = async (saved: Json): Promise<Json> =>
  (await ok(root.get(`/db/photo/_all_fields/${saved.photo._id}`)))[0].photo

const words = (block: Json): string[] =>
  block['_nested:photo__keywords'].map(({ keyword }: Json) => keyword._standard['1'].text['en-US'])

test('metadata of the file fills what is empty, and with override and merge the rest', async () => {
  const other = await ok(
    root.post('/db/keyword', [{ _objecttype: 'keyword', _mask: '_all_fields', keyword: { name: 'boat' } }]),
  )
  const rows = [{ keyword: { _objecttype: 'keyword', _system_object_id: other[0]._system_object_id }, remark: 'mine' }]
  const saved = await photo({ city: 'Bern', '_nested:photo__keywords': rows })
  const first = await run({})
  assert.deepEqual(
    [first.status, first.state.changed, first.status_msg],
    ['done', 1, '1 objects found, 1 changed, 0 failed.'],
  )
  const filled = await read(saved)
  assert.deepEqual(
    [filled.title, filled.city, filled['_nested:photo__keywords'].length],
    [{ 'en-US': 'The lake' }, 'Bern', 1],
  )
  assert.equal((await run({})).state.changed ?? 0, 0)
  await run({ merge_values: true })
  const merged = await read(saved)
  assert.deepEqual([merged.city, words(merged).toSorted()], ['Bern', ['boat', 'dawn', 'lake']])
  assert.equal(merged['_nested:photo__keywords'][0].remark, 'mine')
  assert.equal((await run({ merge_values: true })).state.changed ?? 0, 0)
  await run({ override_values: true })
  const overridden = await read(saved)
  assert.deepEqual([overridden.city, words(overridden).toSorted()], ['Zürich', ['dawn', 'lake']])
  assert.equal(overridden.file.length, 1)
})
