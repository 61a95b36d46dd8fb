import assert from 'node:assert/strict'
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { pathOf } from '../../src/files/blobs/blob-store.ts'
import { mountSmallDisk, type SmallDisk } from '../../torture/disk.ts'
import type { Json } from '../support/client.ts'
import { startService, type TestService } from '../support/service.ts'
import { startS3 } from './s3-server.ts'
import { fetched, picture, sha256, upload } from './support.ts'

suite('contents move between locations', () => {
  const resources = new AsyncDisposableStack()
  let svc: TestService
  let disk: SmallDisk | null = null
  before(async () => {
    const mounted = await mountSmallDisk(4)
    if (typeof mounted !== 'string') disk = resources.use(mounted)
    svc = resources.use(await startService({ fileFolders: disk ? [disk.path] : [] }))
    const s3 = resources.use(await startS3())
    for (const location of [
      { name: 'shelf', kind: 'file', config: { file: { dir: 'files/shelf' } } },
      { name: 'bucket', kind: 's3', config: { s3: s3.config } },
    ]) {
      const made = await root().post('/system/location/new', location)
      assert.equal(made.body.status, 'connected', made.body.status_msg)
      ids[location.name] = made.body.id
    }
  })
  after(() => resources.disposeAsync())

  const ids: Record<string, number> = { file: 1 }
  const root = () => svc.as('root')
  const defaults = (originals: string, versions = '') =>
    root().post('/config/system/config', { location_defaults: { originals, versions } })
  const place = (content: Buffer, folder: string) => join(svc.config.dataDir, folder, pathOf(sha256(content)))
  const move = (from: string, body: object) => root().post(`/system/location/${ids[from]}/move`, body)
  const latest = async (): Promise<Json> => (await root().get('/system/location/move')).body[0]
  async function moved(from: string, to: string, contents?: string): Promise<Json> {
    const started = await move(from, { to, ...(contents && { contents }) })
    assert.equal(started.status, 200, JSON.stringify(started.body))
    assert.deepEqual([started.body.status, started.body.from, started.body.to], ['running', from, to])
    await svc.drain()
    return latest()
  }
  const uses = async () => {
    const { rows } = await svc.db.query<{ name: string; location: number; count: number }>(
      `select l.name, v.location_id as location, count(*)::int as count from file_version v
       join file_location l on l.id = v.location_id group by 1, 2 order by 1`,
    )
    return Object.fromEntries(rows.map(({ name, count }) => [name, count]))
  }
  const events = async (type: string, after: number) => {
    const { rows } = await svc.db.query<{ objectId: number | null; info: Json }>(
      'select object_id as "objectId", info from event where type = $1 and id > $2 order by id',
      [type, after],
    )
    return rows
  }
  const lastEvent = async (): Promise<number> => {
    const { rows } = await svc.db.query<{ id: number }>('select coalesce(max(id), 0)::bigint as id from event')
    return rows[0]?.id ?? 0
  }

  test('from a folder to S3 and back: every file stays as it was, told with progress and FILE_MOVE', async () => {
    const contents = [await picture(60, 40), await picture(), Buffer.from('text'), Buffer.alloc(0)]
    const names = ['a.jpg', 'b.jpg', 'c.txt', 'd.txt', 'e.txt']
    const sent = names.map((name, index) => ({ name, content: contents[Math.min(index, 3)] as Buffer }))
    const { body: files } = await upload(svc, 'root', sent, { produce_versions: 'true' })
    await svc.drain()
    const before = await uses()
    assert.ok((before.file ?? 0) > 5, 'originals and renditions')
    const refused = await move('file', { to: 'bucket' })
    assert.deepEqual([refused.status, refused.body.parameters.id], [400, 1])
    assert.match(refused.body.message, /location_defaults\.originals/)
    assert.equal((await defaults('shelf')).status, 200)
    const since = await lastEvent()
    const run = await moved('file', 'bucket')
    assert.deepEqual(await uses(), { bucket: before.file })
    const { rows } = await svc.db.query<{ count: number; size: number }>(
      'select count(*)::int as count, sum(size)::bigint as size from file_blob where location_id = $1',
      [ids.bucket],
    )
    const [{ count, size } = { count: 0, size: 0 }] = rows
    const told = { status: 'done', percent_done: 100, total: count, total_size: size, moved: count, moved_size: size }
    const { id, started_at, finished_at, ...rest } = run
    assert.deepEqual(rest, { from: 'file', to: 'bucket', contents: 'all', error: '', failed: 0, ...told })
    assert.ok(Date.parse(finished_at) >= Date.parse(started_at) && id > 0)
    const logged = await events('FILE_MOVE', since)
    assert.equal(logged.length, count)
    const [{ objectId, info } = { objectId: null, info: {} as Json }] = logged
    assert.ok(files.some((file: Json) => file._id === objectId))
    assert.deepEqual([info.location_key, info.location_id], ['bucket', ids.bucket])
    assert.ok(Date.parse(info.startet) && info.took >= 0 && info.size >= 0)
    // The addresses that were given out before lead to the same contents.
    for (const [index, file] of (files as Json[]).entries()) {
      const answer = await fetched(svc, file.versions.original.url)
      assert.equal(answer.status, 200)
      assert.ok(answer.content.equals(sent[index]?.content as Buffer))
    }
    // It is there for a day where it was: then it goes, and only there.
    await svc.db.query(`update file_blob set touched_at = now() - interval '25 hours' where location_id = 1`)
    const back = await moved('bucket', 'file', 'originals')
    assert.equal(back.total, 4, 'a content that two files have is one')
    assert.deepEqual(await uses(), { file: 5, bucket: (before.file ?? 0) - 5 })
    assert.equal((await move('bucket', { to: 'file', contents: 'versions' })).status, 200)
    await svc.drain()
    assert.deepEqual(await uses(), before)
    const again = await moved('bucket', 'file')
    assert.deepEqual([again.status, again.total, again.percent_done], ['done', 0, 100])
  })

  test('what the other location has already is kept once; what is damaged there is put right', async () => {
    const both = Buffer.from('in both places')
    await defaults('shelf')
    await upload(svc, 'root', [{ name: 'a.txt', content: both }])
    await defaults('file')
    const [one] = (await upload(svc, 'root', [{ name: 'b.txt', content: both }])).body
    const [two] = (await upload(svc, 'root', [{ name: 'c.txt', content: Buffer.from('only here') }])).body
    await writeFile(place(both, 'files/shelf'), 'no longer so.')
    await defaults('bucket')
    const run = await moved('file', 'shelf', 'originals')
    assert.deepEqual([run.status, run.failed], ['done', 0])
    await defaults('file')
    for (const file of [one, two]) assert.equal((await fetched(svc, file.versions.original.url)).status, 200)
    assert.equal((await fetched(svc, one.versions.original.url)).content.toString(), 'in both places')
  })

  test('what is damaged or missing stays where it is, and is told', async () => {
    await defaults('file')
    const [good, bad, lost] = ['good', 'soon bad', 'soon lost'].map((text) => Buffer.from(text)) as Buffer[]
    for (const content of [good, bad, lost]) await upload(svc, 'root', [{ name: 'x.txt', content: content as Buffer }])
    await writeFile(place(bad as Buffer, 'files'), 'now bad!')
    await rm(place(lost as Buffer, 'files'))
    await defaults('shelf')
    const since = await lastEvent()
    const run = await moved('file', 'bucket', 'originals')
    assert.deepEqual([run.status, run.failed, run.error], ['done', 2, ''])
    const errors = (await events('FILE_MOVE_ERROR', since)).map(({ info }) => info)
    assert.equal(errors.length, 2)
    assert.ok(errors.some(({ error }) => error.includes(`${sha256(bad as Buffer)} in the location file is damaged`)))
    assert.ok(errors.some(({ error }) => error.includes(`${sha256(lost as Buffer)} in the location file is missing`)))
    const { contents } = (await root().get('/system/location/fixity')).body
    assert.deepEqual(
      contents.map((one: Json) => [one.location_id, one.fixity]).toSorted(),
      [
        [1, 'damaged'],
        [1, 'missing'],
      ].toSorted(),
    )
  })

  test('a location that cannot be written to: told, tried again, nothing half moved; a stopped run ends', async () => {
    await defaults('file')
    const content = Buffer.from('stays readable')
    const [file] = (await upload(svc, 'root', [{ name: 'a.txt', content }])).body
    await defaults('shelf')
    const made = await root().post('/system/location/new', {
      name: 'broken',
      kind: 'file',
      config: { file: { dir: 'files/broken' } },
    })
    ids.broken = made.body.id
    await rm(join(svc.config.dataDir, 'files/broken'), { recursive: true, force: true })
    await writeFile(join(svc.config.dataDir, 'files/broken'), 'no folder')
    const before = await uses()
    assert.equal((await move('file', { to: 'broken' })).status, 200)
    await svc.drain()
    const waiting = await latest()
    assert.equal(waiting.status, 'running')
    assert.notEqual(waiting.error, '')
    assert.deepEqual(await uses(), before)
    assert.equal((await fetched(svc, file.versions.original.url)).content.toString(), 'stays readable')
    assert.equal((await move('file', { to: 'broken' })).body.id, waiting.id, 'the same run')
    assert.match((await move('file', { to: 'bucket' })).body.message, /one run at a time/)
    await rm(join(svc.config.dataDir, 'files/broken'))
    await mkdir(join(svc.config.dataDir, 'files/broken'))
    assert.equal((await root().delete(`/system/location/move/${waiting.id}`)).status, 200)
    assert.equal((await latest()).status, 'stopped')
    assert.equal((await root().delete(`/system/location/move/${waiting.id}`)).status, 200, 'it is over')
    assert.equal((await root().delete('/system/location/move/999')).body.code, 'ResourceNotFound')
    const run = await moved('file', 'broken')
    assert.equal(run.status, 'done')
    assert.ok((await readdir(join(svc.config.dataDir, 'files/broken'))).length > 0)
    assert.equal((await fetched(svc, file.versions.original.url)).content.toString(), 'stays readable')
  })

  test('a full disk: uploads are told 503, a move waits; nothing is half stored, and all goes on with room', async (t) => {
    if (!disk) return t.skip('no small disk can be mounted')
    const path = join(disk.path, 'small')
    const made = await root().post('/system/location/new', {
      name: 'small',
      kind: 'file',
      config: { file: { dir: path } },
    })
    ids.small = made.body.id
    const stored = async () =>
      (await readdir(path, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile()).length
    await defaults('small')
    const [file] = (await upload(svc, 'root', [{ name: 'a.txt', content: Buffer.from('fits') }])).body
    const before = await uses()
    await disk.fill()
    for (const size of [300_000, 3_000_000]) {
      const refused = await upload(svc, 'root', [{ name: 'b.bin', content: Buffer.alloc(size, 'x') }])
      assert.deepEqual([refused.status, refused.body.code], [503, 'ServiceUnavailable'])
      assert.equal(refused.body.message, 'The disk for files is full.')
    }
    assert.equal(await stored(), 1)
    assert.equal((await fetched(svc, file.versions.original.url)).content.toString(), 'fits')
    await defaults('shelf')
    const large = Buffer.alloc(200_000, 'y')
    const [other] = (await upload(svc, 'root', [{ name: 'c.bin', content: large }])).body
    await defaults('file')
    assert.equal((await move('shelf', { to: 'small' })).status, 200)
    await svc.drain()
    const waiting = await latest()
    assert.deepEqual([waiting.status, /ENOSPC/.test(waiting.error)], ['running', true], waiting.error)
    assert.deepEqual(await uses(), { ...before, shelf: (before.shelf ?? 0) + 1 })
    await disk.empty()
    await svc.app.idle({ hurry: true })
    assert.equal((await latest()).status, 'done')
    assert.ok((await fetched(svc, other.versions.original.url)).content.equals(large))
    assert.equal((await upload(svc, 'root', [{ name: 'd.txt', content: Buffer.from('goes on') }])).status, 200)
  })

  test('read-only: nothing comes to such a location, and nothing goes that leaves it', async () => {
    await defaults('file')
    const content = Buffer.from('from a read-only place')
    const [file] = (await upload(svc, 'root', [{ name: 'a.txt', content }])).body
    await defaults('shelf')
    const change = async (name: string, read_only: boolean) => {
      const { body } = await root().get(`/system/location/${ids[name]}`)
      assert.equal((await root().put(`/system/location/${ids[name]}`, { ...body, read_only })).status, 200)
    }
    await change('file', true)
    await change('broken', true)
    assert.equal((await move('file', { to: 'broken' })).body.parameters.name, 'to')
    const run = await moved('file', 'bucket')
    assert.equal(run.status, 'done')
    assert.ok((await fetched(svc, file.versions.original.url)).content.equals(content))
    assert.equal((await readdir(join(place(content, 'files'), '..'))).length, 1)
    await change('file', false)
    await change('broken', false)
  })

  test('what does not fit is refused, and only root may ask', async () => {
    for (const [body, named] of [
      [{ to: 'file' }, 'to'],
      [{ to: 'nowhere' }, 'to'],
      [{ to: ':remote' }, 'to'],
    ] as const) {
      const refused = await move('file', body)
      assert.deepEqual([refused.status, refused.body.parameters.name], [400, named], JSON.stringify(body))
    }
    assert.equal((await move('file', { to: 'shelf', contents: 'some' })).status, 400)
    assert.equal((await move('file', {})).status, 400)
    assert.equal((await root().post('/system/location/999/move', { to: 'shelf' })).body.code, 'ResourceNotFound')
    await root().post('/user', [{ user: { login: 'paul' }, _password: 'paul' }])
    const paul = svc.as('paul')
    for (const { status, body } of [
      await paul.post('/system/location/1/move', { to: 'shelf' }),
      await paul.get('/system/location/move'),
      await paul.delete('/system/location/move/1'),
    ]) {
      assert.deepEqual([status, body.code], [403, 'SystemRightRequired'])
    }
  })
})
