import { test } from 'node:test'
import { startMuseum } from '../support/seed/museum.ts'
import { addWorks, archiveBytes, exported, fetchedFile } from './support.ts'
test('x', async () => {
  await using museum = await startMuseum()
  const works = await addWorks(museum, ['a', 'b', 'c'], 2)
  console.log(works.length)
  const one = await exported(museum.svc, { json: true, xml: true, json_one_file_per_object: false, eas_fields: { 'work.image': { files: true } } })
  console.log(JSON.stringify(one, null, 1))
  for (const f of one._files) { const a = await fetchedFile(museum.svc, one.export._id, f.path); console.log(f.path, a.statusCode, a.headers['content-type'], a.body.slice(0,300)) }
  const idx = await fetchedFile(museum.svc, one.export._id, ''); console.log(idx.body)
  console.log((await archiveBytes(museum.svc, one.export._id, 'zip')).length, (await archiveBytes(museum.svc, one.export._id, 'tar_gz')).length)
})
