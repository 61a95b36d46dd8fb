import assert from 'node:assert/strict'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { pathOf } from '../../src/files/blobs/blob-store.ts'
import { runFilesCommand } from '../../src/maintenance/file-commands.ts'
import type { Json } from '../support/client.ts'
import { startService, type TestService } from '../support/service.ts'
import { fetched, sha256, upload } from './support.ts'

suite('fixity', () => {
  let svc: TestService
  before(async () => {
    svc = await startService()
  })
  after(() => svc[Symbol.asyncDispose]())

  const root = () => svc.as('root')
  const place = (content: Buffer, folder = 'files') => join(svc.config.dataDir, folder, pathOf(sha256(content)))
  const report = async () => (await root().get('/system/location/fixity')).body
  const put = async (name: string, content: Buffer) => (await upload(svc, 'root', [{ name, content }])).body[0]
  /** The next hour in which everything is due. */
  const nextRound = () => svc.db.query(`update file_blob set verified_at = now() - interval '91 days'`)
  async function hours(count: number) {
    for (let hour = 0; hour < count; hour++) {
      await svc.db.query(`select graphile_worker.add_job('files.fixity', queue_name := 'standard')`)
      await svc.drain()
    }
  }
  async function verify() {
    let text = ''
    const write = (line: string): boolean => {
      text += line
      return true
    }
    const out = { write } as NodeJS.WritableStream
    const code = await runFilesCommand(['verify'], svc.config, out)
    return { code, text }
  }

  test('what is damaged or lost is found, told and counted, and what is right again is no longer', async () => {
    const [good, damaged, lost] = ['good', 'damaged', 'lost'].map((text) => Buffer.from(text)) as [
      Buffer,
      Buffer,
      Buffer,
    ]
    for (const content of [good, damaged, lost]) await put('a.txt', content)
    assert.deepEqual((await verify()).code, 0)
    const [before] = (await report()).locations
    assert.deepEqual([before.location_key, before.count, before.damaged, before.missing], ['file', 3, 0, 0])
    assert.equal(before.size, 15)
    await writeFile(place(damaged), 'Damaged')
    await rm(place(lost))
    await nextRound()
    await hours(3)
    const { locations, contents } = await report()
    assert.deepEqual([locations[0].damaged, locations[0].missing], [1, 1])
    const found = new Map(contents.map((one: Json) => [one.hash, one]))
    assert.deepEqual([...found.keys()].toSorted(), [sha256(damaged), sha256(lost)].toSorted())
    const one = found.get(sha256(damaged)) as Json
    assert.deepEqual([one.fixity, one.location_id, one.size, one.file_ids.length], ['damaged', 1, 7, 1])
    assert.equal((found.get(sha256(lost)) as Json).fixity, 'missing')
    const { rows } = await svc.db.query<{ type: string; info: Json }>(
      `select type, info from event where type like 'JANITOR%' and info->>'type' = 'file_fixity' order by id`,
    )
    const errors = rows.filter(({ type }) => type === 'JANITOR_ERROR').map(({ info }) => info.error)
    assert.equal(errors.length, 2)
    assert.ok(errors.some((text) => text.includes(`${sha256(damaged)} in the location file is damaged`)))
    const measured = await svc.app.measures.find(({ name }) => name === 'file_contents_harmed')?.read()
    assert.deepEqual(measured, { file: 2 })
    const told = await verify()
    assert.equal(told.code, 1)
    assert.match(told.text, new RegExp(`${sha256(lost)} in file is missing`))
    assert.match(told.text, /3 contents read \(0\.0 MB\): 2 wrong, 0 restored/)
    // The same content comes once more: it is right again, and the next look says so.
    await put('b.txt', damaged)
    await put('b.txt', lost)
    assert.equal((await verify()).code, 0)
    assert.deepEqual((await report()).contents, [])
  })

  test('what another location has is restored from there', async () => {
    const content = Buffer.from('in two places')
    const file = await put('a.txt', content)
    const copy = { name: 'copy', kind: 'file', config: { file: { dir: 'files/copy' } } }
    const { body } = await root().post('/system/location/new', copy)
    await root().post('/config/system/config', { location_defaults: { originals: 'copy' } })
    await put('b.txt', content)
    await root().post('/config/system/config', { location_defaults: { originals: 'file' } })
    await writeFile(place(content), 'in one place!')
    await nextRound()
    await hours(5)
    assert.deepEqual((await report()).contents, [])
    assert.ok((await fetched(svc, file.versions.original.url)).content.equals(content))
    const { rows } = await svc.db.query(
      `select 1 from event where type = 'JANITOR_ERROR' and info->>'error' like '%restored%'`,
    )
    assert.equal(rows.length, 1)
    // Nothing is written to a location that is read-only.
    const readOnly = { ...body, read_only: true }
    assert.equal((await root().put(`/system/location/${body.id}`, readOnly)).status, 200)
    await rm(place(content, 'files/copy'))
    assert.match((await verify()).text, new RegExp(`${sha256(content)} in copy is missing`))
  })

  test('a location that cannot be reached says nothing about its contents', async () => {
    const before = (await report()).contents.length
    const folder = join(svc.config.dataDir, 'files')
    await rename(folder, `${folder}.away`)
    await mkdir(svc.config.dataDir, { recursive: true })
    await nextRound()
    await hours(1)
    assert.equal((await report()).contents.length, before)
    const { code, text } = await verify()
    assert.equal(code, 1)
    assert.match(text, /the location 1 cannot be read/)
    await rename(`${folder}.away`, folder)
  })

  test('only who manages locations is told', async () => {
    await root().post('/user', [{ user: { login: 'visitor' }, _password: 'visitor' }])
    const refused = await svc.as('visitor').get('/system/location/fixity')
    assert.deepEqual([refused.status, refused.body.code], [403, 'SystemRightRequired'])
    const folder = { location: 'nowhere' }
    await assert.rejects(runFilesCommand(['verify', '--location', folder.location], svc.config), /no location nowhere/)
  })
})
