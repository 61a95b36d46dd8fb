import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { pino } from 'pino'
import sharp from 'sharp'
import { createEventLog } from '../../src/events/service.ts'
import type { BlobStore } from '../../src/files/blobs/blob-store.ts'
import { createS3Store } from '../../src/files/blobs/s3.ts'
import { createJanitor } from '../../src/files/janitor.ts'
import type { Json } from '../support/client.ts'
import { sendRaw } from '../support/raw.ts'
import { startService, type TestService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { zip } from './documents.ts'
import { type S3Server, startS3 } from './s3-server.ts'
import { fetched, picture, sha256, upload } from './support.ts'

suite('a service whose files are in S3', () => {
  const resources = new AsyncDisposableStack()
  let svc: TestService
  let s3: S3Server
  let bucket: BlobStore
  let location: number
  let port: number
  before(async () => {
    s3 = resources.use(await startS3())
    svc = resources.use(await startService())
    port = Number(new URL(await svc.listen()).port)
    bucket = createS3Store(s3.config, 'museum/')
    resources.defer(() => bucket.close())
    const { body } = await root().post('/system/location/new', {
      name: 'bucket',
      kind: 's3',
      prefix: 'museum/',
      config: { s3: s3.config },
    })
    assert.equal(body.status, 'connected', body.status_msg)
    location = body.id
    const defaults = { location_defaults: { originals: 'bucket', versions: '' } }
    assert.equal((await root().post('/config/system/config', defaults)).status, 200)
  })
  after(() => resources.disposeAsync())

  const root = () => svc.as('root')
  async function contents(): Promise<Set<string>> {
    const found = new Set<string>()
    for await (const { sha256: hash } of bucket.list()) found.add(hash)
    return found
  }
  const record = async (id: number): Promise<Json> => (await root().get(`/eas/${id}`)).body
  const rows = async () => {
    const { rows: counted } = await svc.db.query<{ files: number; blobs: number }>(
      'select (select count(*)::int from file) as files, (select count(*)::int from file_blob) as blobs',
    )
    return counted[0]
  }

  test('upload, renditions, downloads with ranges, zoom, and what nobody has any more goes', async () => {
    const content = await sharp({ create: { width: 900, height: 600, channels: 3, background: '#336699' } })
      .jpeg()
      .toBuffer()
    const [file] = (await upload(svc, 'root', [{ name: 'a.jpg', content }], { produce_versions: 'true' })).body
    await svc.drain()
    const { versions } = await record(file._id)
    const made = Object.values(versions as Record<string, Json>)
    assert.ok(made.length > 2 && made.every(({ status }) => status === 'done'), JSON.stringify(made))
    const there = await contents()
    assert.deepEqual([...there].toSorted(), [...new Set(made.map(({ hash }) => hash))].toSorted())
    const local = await readdir(join(svc.config.dataDir, 'files')).catch(() => [])
    assert.deepEqual(local, [], 'nothing in the folder')
    for (const { url, hash } of made) assert.equal(sha256((await fetched(svc, url)).content), hash)
    const part = await fetched(svc, versions.original.url, { range: 'bytes=10-19' })
    assert.deepEqual([part.status, part.headers['content-range']], [206, `bytes 10-19/${content.length}`])
    assert.ok(part.content.equals(content.subarray(10, 20)))
    const end = await fetched(svc, versions.original.url, { range: 'bytes=-5' })
    assert.ok(end.content.equals(content.subarray(-5)))
    assert.equal((await fetched(svc, versions.original.url, { range: `bytes=${content.length}-` })).status, 416)
    const tile = await fetched(svc, `${versions.original.zoom_url}/zoom450/part1x1.jpg`)
    const { width, height } = await sharp(tile.content).metadata()
    assert.deepEqual([tile.status, width, height], [200, 194, 44])
    await svc.db.query('delete from file where id = $1', [file._id])
    await svc.db.query(`update file_blob set touched_at = now() - interval '2 days'`)
    const janitor = createJanitor({
      db: svc.db,
      events: createEventLog(),
      log: pino({ level: 'silent' }),
      locations: { all: () => [{ id: location, name: 'bucket', readOnly: false }], storeOf: () => bucket },
      formerFiles: () => async () => 0,
      settings: () => ({ active: true, file_expire_days: 30 }),
      paused: () => false,
    })
    await janitor.run()
    await janitor.close()
    assert.deepEqual([...(await contents())], [])
    assert.deepEqual(await rows(), { files: 0, blobs: 0 })
  })

  test('requests are signed for the region of the location, us-east-1 where none is said', async () => {
    assert.deepEqual([...s3.regions], ['us-east-1'])
    const { region: _, ...config } = s3.config
    const connect = (name: string, more: object) =>
      root().post('/system/location/new', { name, kind: 's3', prefix: name, config: { s3: { ...config, ...more } } })
    for (const [name, more, regions] of [
      ['nowhere', {}, ['us-east-1']],
      ['frankfurt', { region: 'eu-central-1' }, ['us-east-1', 'eu-central-1']],
    ] as const) {
      const { body } = await connect(name, more)
      assert.equal(body.status, 'connected', body.status_msg)
      assert.deepEqual([...s3.regions], regions)
      assert.equal((await root().delete(`/system/location/${body.id}`)).status, 200)
    }
  })

  test('an archive in S3 is read in parts, however many entries it has', async () => {
    const film = randomBytes(2_000_000)
    const many = Array.from({ length: 3000 }, (_, index) => [`pages/${index}.txt`, `page ${index}`])
    const archive = zip({ 'film.bin': film, ...Object.fromEntries(many) }, { plain: true })
    const [file] = (await upload(svc, 'root', [{ name: 'a.zip', content: archive }])).body
    const [place, query] = file.versions.original.url.split('?')
    let asked = 0
    s3.fault = ({ method }) => {
      if (method === 'GET') asked++
      return null
    }
    const page = await fetched(svc, `${place}/pages/2999.txt?${query}`)
    assert.deepEqual([page.status, page.content.toString()], [200, 'page 2999'])
    assert.ok(asked < 10, `${asked} requests`)
    const part = await fetched(svc, `${place}/film.bin?${query}`, { range: 'bytes=1500000-1500099' })
    assert.ok(part.content.equals(film.subarray(1_500_000, 1_500_100)))
    s3.fault = ({ method }) => (method === 'GET' ? 'error' : null)
    const failed = await fetched(svc, `${place}/film.bin?${query}`)
    assert.deepEqual([failed.status, JSON.parse(failed.content.toString()).code], [503, 'ServiceUnavailable'])
    s3.fault = () => null
    assert.equal((await fetched(svc, `${place}/pages?${query}`)).status, 200)
  })

  test('S3 that answers 500: the upload is told 503 and leaves nothing; others go on; renditions are made later', async () => {
    const content = await picture(800, 500)
    const before = await rows()
    s3.fault = ({ method }) => (method === 'GET' ? null : 'error')
    const failed = await upload(svc, 'root', [{ name: 'a.jpg', content }])
    assert.deepEqual([failed.status, failed.body.code], [503, 'ServiceUnavailable'], JSON.stringify(failed.body))
    assert.equal(failed.body.message, 'Files cannot be stored now.')
    assert.equal((await root().get('/pool')).status, 200)
    assert.deepEqual(await rows(), before)
    // The content has arrived, and cannot get its name.
    s3.fault = ({ method, url }) => (method === 'PUT' && !url.includes('/tmp/') ? 'error' : null)
    const unnamed = await upload(svc, 'root', [{ name: 'a.jpg', content }])
    assert.deepEqual([unnamed.status, unnamed.body.code], [503, 'ServiceUnavailable'])
    assert.equal((await rows())?.files, before?.files)
    s3.fault = () => null
    assert.equal(await bucket.sweep(new Date(Date.now() + 60_000)), 0)
    s3.fault = ({ method }) => (method === 'GET' ? 'error' : null)
    const [file] = (await upload(svc, 'root', [{ name: 'a.jpg', content }], { produce_versions: 'true' })).body
    await svc.drain()
    const waiting = Object.values((await record(file._id)).versions as Record<string, Json>)
    assert.ok(waiting.some(({ status }) => status !== 'done'))
    assert.ok(!waiting.some(({ status }) => status === 'failed'), JSON.stringify(waiting))
    s3.fault = () => null
    await until(async () => {
      await svc.app.idle({ hurry: true })
      return Object.values((await record(file._id)).versions as Record<string, Json>).every(
        ({ status }) => status === 'done',
      )
    })
  })

  test('S3 that loses a content, breaks off or answers 500: that download fails, and is logged', async () => {
    const content = await picture(400, 300)
    const [file] = (await upload(svc, 'root', [{ name: 'a.jpg', content }])).body
    const { url } = file.versions.original
    for (const fault of ['lost', 'error'] as const) {
      s3.fault = ({ method }) => (method === 'GET' ? fault : null)
      const answer = await fetched(svc, url)
      const { code, message } = JSON.parse(answer.content.toString())
      assert.deepEqual([answer.status, code], [503, 'ServiceUnavailable'], fault)
      assert.equal(message, 'The content of the file cannot be read now.')
    }
    // In the middle of the answer: the client sees that it has not all.
    s3.fault = ({ method }) => (method === 'GET' ? 'cut' : null)
    const { pathname, search } = new URL(url)
    const broken = sendRaw({ port, path: pathname + search, method: 'GET', headers: { connection: 'close' } })
    await once(broken.socket, 'close')
    const text = await broken.answer
    assert.match(text, new RegExp(`^HTTP/1.1 200 [^]*content-length: ${content.length}\r\n`, 'i'))
    assert.ok(text.length < content.length)
    s3.fault = () => null
    assert.ok((await fetched(svc, url)).content.equals(content))
    const { rows: logged } = await svc.db.query<{ type: string }>(
      `select type from event where type like 'FILE_DOWNLOAD%' and object_id = $1 order by id`,
      [file._id],
    )
    assert.deepEqual(logged.map(({ type }) => type).filter((type) => type === 'FILE_DOWNLOAD_ERROR').length >= 2, true)
  })

  test('S3 that never answers holds its request alone, and none of the database', async () => {
    const [file] = (await upload(svc, 'root', [{ name: 'a.txt', content: Buffer.from('waits') }])).body
    s3.fault = ({ method }) => (method === 'GET' ? 'hang' : null)
    const { pathname, search } = new URL(file.versions.original.url)
    const waiting = Array.from({ length: 30 }, () => sendRaw({ port, path: pathname + search, method: 'GET' }))
    await until(async () => {
      const { rows: busy } = await svc.db.query(
        `select from pg_stat_activity where datname = current_database() and state = 'idle in transaction'`,
      )
      return busy.length === 0
    })
    const answers = await Promise.all(Array.from({ length: 30 }, () => root().get(`/eas/${file._id}`)))
    assert.ok(answers.every(({ status }) => status === 200))
    for (const { socket } of waiting) socket.destroy()
    s3.fault = () => null
    assert.equal((await fetched(svc, file.versions.original.url)).content.toString(), 'waits')
  })
})
