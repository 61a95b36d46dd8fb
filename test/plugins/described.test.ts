// alone: sets its environment
import assert from 'node:assert/strict'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { after, before, test } from 'node:test'
import { picture, upload } from '../files/support.ts'
import type { Json } from '../support/client.ts'
import { startService, type TestService } from '../support/service.ts'
import { install } from './support.ts'

let svc: TestService
let folder: string
const path = process.env.PATH

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perl-'))
  // ExifTool runs in Perl: with this one it fails for every file.
  await writeFile(join(folder, 'perl'), '#!/bin/sh\necho broken >&2\nexit 2\n')
  await chmod(join(folder, 'perl'), 0o755)
  process.env.PATH = `${folder}${delimiter}${path}`
  svc = await startService()
})
after(async () => {
  await svc[Symbol.asyncDispose]()
  process.env.PATH = path
  await rm(folder, { recursive: true, force: true })
})

test('a file that cannot be read stays failed where only a plugin says something of it, which is kept', async () => {
  const args = ['-e', `require('fs').writeFileSync(process.argv[1], '{"Zoo": {"Animal": "okapi"}}')`]
  const command = { prog: 'node', args: [...args, { type: 'file_out', file: { name: 'found.json' } }] }
  const say = {
    class: '_metadata',
    metadata: [{ file: 'found.json' }],
    execs: [{ service: 'node', commands: [command] }],
  }
  await install(svc, 'sayer', {
    'manifest.yml': JSON.stringify({
      plugin: { name: 'sayer' },
      fas_config: { produce_config: 'produce.yml', cookbooks: ['book.yml'] },
    }),
    'produce.yml': JSON.stringify({ custommetadata: [{ recipename: 'sayer:book:say', extensions: ['jpg'] }] }),
    'book.yml': JSON.stringify({ name: 'book', recipes: { say } }),
  })
  const { body } = await upload(svc, 'root', [{ name: 'okapi.jpg', content: await picture() }], {
    produce_versions: 'true',
  })
  const id = body[0]._id
  await svc.drain()
  const { rows } = await svc.db.query<{ status: string; reason: string }>(
    `select status, reason from file_rendition where file_id = $1 and name = ':metadata'`,
    [id],
  )
  assert.equal(rows[0]?.status, 'failed')
  assert.match(rows[0]?.reason ?? '', /metadata cannot be read/)
  const root = svc.as('root')
  const found = (await root.get('/eas', { ids: JSON.stringify([id]), format: 'long' })).body[id]
  assert.deepEqual(
    found.metadata.groups.Zoo.map(({ name, value }: Json) => [name, value]),
    [['Animal', 'okapi']],
  )
  const events = (await root.get('/event/list', { type: 'FILE_METADATA_ERROR', object_id: id, basetype: 'file' })).body
  assert.deepEqual(
    events.objects.map(({ event }: Json) => [event.info.recipe, event.info.receipt.status]),
    [['metadata', 'failed']],
  )
})
