import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { link, mkdir, readdir, readFile, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { picture } from '../files/support.ts'
import type { Json } from '../support/client.ts'
import type { TestService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { ask, type Collected, hrefs, lockBody, namesIn, setShares, startDrives } from './support.ts'

suite('the hotfolder', () => {
  let svc: TestService
  let pool: number
  let collection: (settings?: object, login?: string) => Promise<Collected>
  let place: string

  before(async () => {
    const started = await startDrives()
    ;({ svc, pool, collection } = started)
    place = join(svc.config.dataDir, 'hotfolder')
  })
  after(() => svc[Symbol.asyncDispose]())

  const folderOf = ({ uuid }: Collected): string => join(place, uuid)

  async function dropTarget(settings: object = {}): Promise<Collected> {
    const made = await collection(settings)
    await mkdir(folderOf(made), { recursive: true })
    return made
  }

  const filesIn = async (folder: string): Promise<string[]> =>
    (await readdir(folder, { recursive: true })).filter((name) => !name.startsWith('.')).sort()

  async function imported({ id }: Collected, count: number): Promise<string[][]> {
    await until(async () => (await namesIn(svc, id)).length === count)
    return namesIn(svc, id)
  }

  /** The rows of the log; it is there, and empty, for a moment before its first rows are. */
  async function rowsOf(made: Collected): Promise<string[][]> {
    const path = join(folderOf(made), 'hotfolder.log')
    await until(async () => (await readFile(path, 'utf8')).endsWith('\n'))
    const text = await readFile(path, 'utf8')
    return text
      .slice(0, -1)
      .split('\n')
      .map((row) => row.split('\t'))
  }

  test('a file that is dropped becomes an object of the owner, leaves the folder, and stands in the log', async () => {
    const made = await dropTarget()
    const content = await picture()
    await mkdir(join(folderOf(made), 'Ships', '1907'), { recursive: true })
    await writeFile(join(folderOf(made), 'Ships', '1907', 'a.jpg'), content)
    assert.deepEqual(await imported(made, 1), [['a.jpg']])
    await until(async () => (await filesIn(folderOf(made))).join() === 'Ships,Ships/1907,hotfolder.log')
    const [header, row] = await rowsOf(made)
    assert.deepEqual(header, 'date user path file size system_object_id file_eas_id status msg'.split(' '))
    const { body } = await svc.as('editor').get(`/collection/objects/${made.id}`)
    const id = body.objects[0]._global_object_id.split('@')[0]
    const object = (await svc.as('root').get(`/db/photo/_all_fields/system_object_id/${id}`)).body[0]
    assert.equal(object._owner.user.login ?? object._owner.user._generated_displayname, 'editor')
    assert.equal(object._pool.pool._id, pool)
    const file = object.photo.image[0]
    assert.equal(file.filesize, content.length)
    assert.deepEqual(row?.slice(1), [
      'editor',
      'Ships/1907',
      'a.jpg',
      `${content.length}`,
      id,
      `${file._id}`,
      'done',
      '',
    ])
    const events = await svc.as('root').get('/event/list', { type: 'COLLECTION_UPLOAD', object_id: made.id, limit: 10 })
    assert.deepEqual(
      events.body.objects.map(({ event: { info } }: Json) => [info.path, info.file, info.file_eas_id]),
      [['Ships/1907', 'a.jpg', file._id]],
    )
  })

  test('empty files, files with a dot, links, what lies at the top and files of unknown collections stay', async () => {
    const made = await dropTarget()
    const folder = folderOf(made)
    const outside = join(svc.config.dataDir, 'secret.jpg')
    await writeFile(outside, await picture())
    await mkdir(join(svc.config.dataDir, 'secrets'))
    await writeFile(join(svc.config.dataDir, 'secrets', 'deep.jpg'), await picture())
    await symlink(outside, join(folder, 'link.jpg'))
    await symlink(join(svc.config.dataDir, 'secrets'), join(folder, 'linked'))
    await link(outside, join(folder, 'second-name.jpg'))
    await writeFile(join(folder, '.hidden.jpg'), await picture())
    await writeFile(join(folder, 'empty.jpg'), '')
    await writeFile(join(place, 'top.jpg'), await picture())
    const unknown = join(place, '00000000-0000-4000-8000-000000000000')
    await mkdir(unknown)
    await writeFile(join(unknown, 'nobody.jpg'), await picture())
    await writeFile(join(folder, 'good.jpg'), await picture())
    assert.deepEqual(await imported(made, 1), [['good.jpg']])
    await until(async () => (await filesIn(folder)).includes('hotfolder.log'))
    assert.deepEqual((await readdir(folder)).sort(), [
      '.hidden.jpg',
      'empty.jpg',
      'hotfolder.log',
      'link.jpg',
      'linked',
      'second-name.jpg',
    ])
    assert.deepEqual(await readdir(unknown), ['nobody.jpg'])
    assert.deepEqual(await readdir(join(svc.config.dataDir, 'secrets')), ['deep.jpg'])
    assert.ok((await readdir(place)).includes('top.jpg'))
    await rm(join(place, 'top.jpg'))
  })

  test('what is refused is called ERROR- and has a log beside it, which is not imported when the file is tried again', async () => {
    const made = await dropTarget({ update_mode: 'update', update_search_field: 'photo.files' })
    const folder = folderOf(made)
    const saved = await svc.as('editor').post(
      '/db/photo',
      [
        {
          _objecttype: 'photo',
          _mask: 'photo__standard',
          _pool: { pool: { _id: pool } },
          photo: { files: 'good.jpg, better.jpg' },
        },
      ],
      { await_index: 20 },
    )
    assert.equal(saved.status, 200, JSON.stringify(saved.body))
    await writeFile(join(folder, 'bad.jpg'), await picture())
    await writeFile(join(folder, 'good.jpg'), await picture())
    await until(async () => (await filesIn(folder)).join() === 'ERROR-bad.jpg,bad.jpg.log,hotfolder.log')
    assert.match(await readFile(join(folder, 'bad.jpg.log'), 'utf8'), /CollectionUploadNoObjectFound/)
    await until(async () => (await rowsOf(made)).length === 3)
    assert.deepEqual(
      (await rowsOf(made))
        .slice(1)
        .map((row) => [row[3], row[7]])
        .sort(),
      [
        ['bad.jpg', 'error'],
        ['good.jpg', 'done'],
      ],
    )
    assert.deepEqual(await namesIn(svc, made.id), [['good.jpg']])
    // One that failed before keeps its name; nothing is written over.
    await writeFile(join(folder, 'bad.jpg'), await picture())
    await until(async () => (await filesIn(folder)).includes('bad (2).jpg.log'))
    assert.ok((await filesIn(folder)).includes('ERROR-bad.jpg'))
    // The log of a file that somebody has renamed is no file to import.
    await rename(join(folder, 'ERROR-bad.jpg'), join(folder, 'better.jpg'))
    await until(async () => (await namesIn(svc, made.id))[0]?.length === 2)
    await until(async () => !(await filesIn(folder)).some((name) => name.includes('better')))
    assert.deepEqual(await filesIn(folder), ['ERROR-bad (2).jpg', 'bad (2).jpg.log', 'bad.jpg.log', 'hotfolder.log'])
  })

  test('a raw file comes before the JPEG of its name, also when it arrives later', async () => {
    const made = await dropTarget({ recognize_version: true })
    const folder = folderOf(made)
    await writeFile(join(folder, 'p.jpg'), await picture())
    await writeFile(join(folder, 'P.png'), await picture(30, 20, 'png'))
    assert.deepEqual(await imported(made, 1), [['P.png', 'p.jpg']])
    const { body } = await svc.as('editor').get(`/collection/objects/${made.id}`)
    const id = body.objects[0]._global_object_id.split('@')[0]
    const { photo } = (await svc.as('root').get(`/db/photo/_all_fields/system_object_id/${id}`)).body[0]
    assert.deepEqual(
      photo.image.map((file: Json) => [file.original_filename, file.preferred]),
      [
        ['P.png', true],
        ['p.jpg', false],
      ],
    )
  })

  test('a file that somebody still writes to waits, and its JPEG with it', async () => {
    const made = await dropTarget({ recognize_version: true })
    const folder = folderOf(made)
    await writeFile(join(folder, 'q.jpg'), await picture())
    const whole = await picture(30, 20, 'png')
    let passes = 0
    for (let at = 1; at <= 30; at++) {
      await writeFile(join(folder, 'q.png'), whole.subarray(0, Math.ceil((whole.length * at) / 30)))
      if (at === 1) await writeFile(join(folder, `sign.jpg`), await picture())
      await new Promise((done) => setTimeout(done, 100))
      passes = (await namesIn(svc, made.id)).length
    }
    // Meanwhile whatever has settled is imported.
    assert.equal(passes, 1)
    assert.deepEqual(await imported(made, 2), [['sign.jpg'], ['q.png', 'q.jpg']])
  })

  test('a locked file waits until its lock is given back', async () => {
    const made = await dropTarget()
    const taken = await ask(`${made.hotfolder}held.jpg`, 'LOCK', { timeout: 'Second-600' }, lockBody)
    assert.equal(taken.status, 201)
    const token = taken.headers.get('lock-token') ?? ''
    const content = await picture()
    assert.equal((await ask(`${made.hotfolder}held.jpg`, 'PUT', {}, content)).status, 423)
    assert.equal((await ask(`${made.hotfolder}held.jpg`, 'PUT', { if: `(${token})` }, content)).status, 204)
    await writeFile(join(folderOf(made), 'free.jpg'), await picture())
    assert.deepEqual(await imported(made, 1), [['free.jpg']])
    assert.equal((await ask(`${made.hotfolder}held.jpg`, 'UNLOCK', { 'lock-token': token })).status, 204)
    assert.deepEqual(await imported(made, 2), [['free.jpg'], ['held.jpg']])
  })

  test('many files at once are a few saves, whatever folders they lie in', async () => {
    const made = await dropTarget()
    const folder = folderOf(made)
    const content = await picture()
    for (let at = 0; at < 20; at++) await mkdir(join(folder, `f${at}`))
    for (let at = 0; at < 300; at++) await writeFile(join(folder, `f${at % 20}`, `n${at}.jpg`), content)
    const all = await imported(made, 300)
    assert.equal(new Set(all.map(([name]) => name)).size, 300)
    const { rows } = await svc.db.query<{ saves: number }>(
      `select count(distinct v.xmin::text)::int as saves from object_version v
         join collection_object e on e.object_id = v.system_object_id where e.collection_id = $1`,
      [made.id],
    )
    assert.ok((rows[0]?.saves ?? 99) <= 6, JSON.stringify(rows))
    await until(async () => (await rowsOf(made)).length === 301)
    assert.equal((await rowsOf(made)).filter((row) => row[7] === 'done').length, 300)
  })

  suite('after a process has ended in between', () => {
    const placeOf = (path: string): Buffer => createHash('sha256').update(path).digest()

    test('what had come into an object is taken away, and what had not comes in', async () => {
      const made = await dropTarget()
      const folder = folderOf(made)
      const content = await picture()
      const at = new Date('2026-01-02T03:04:05Z')
      for (const name of [
        'IMPORTING-done.jpg',
        'IMPORTING-begun.jpg',
        'IMPORTING-unclaimed.jpg',
        'IMPORTING-other.jpg',
      ]) {
        await writeFile(join(place, `.${name}`), content)
        await utimes(join(place, `.${name}`), at, at)
      }
      const claims: [name: string, bytes: number, done: Date | null][] = [
        ['done.jpg', content.length, at],
        ['begun.jpg', content.length, null],
        // Another content of the name.
        ['other.jpg', content.length + 1, at],
      ]
      for (const [name, bytes, done] of claims) {
        await svc.db.query(
          `insert into hotfolder_claim (collection_id, place, bytes, modified, run, done_at)
           values ($1, $2, $3, $4, gen_random_uuid(), $5)`,
          [made.id, placeOf(name), bytes, at.getTime(), done],
        )
      }
      for (const name of ['done', 'begun', 'unclaimed', 'other'])
        await rename(join(place, `.IMPORTING-${name}.jpg`), join(folder, `IMPORTING-${name}.jpg`))
      const names = (await imported(made, 3)).flat().sort()
      assert.deepEqual(names, ['begun.jpg', 'other.jpg', 'unclaimed.jpg'])
      await until(async () => (await filesIn(folder)).join() === 'hotfolder.log')
      await until(async () => (await svc.db.query('select from hotfolder_claim')).rowCount === 0)
      assert.deepEqual(await namesIn(svc, made.id), await imported(made, 3))
    })

    test('a process whose files another one has taken over writes no object', async () => {
      const made = await dropTarget()
      const folder = folderOf(made)
      // As soon as they are claimed, the claim is another one's.
      await svc.db.query(
        `create function steal() returns trigger language plpgsql as $$ begin new.run = '00000000-0000-4000-8000-000000000000';
           return new; end $$`,
      )
      await svc.db.query('create trigger steal before insert on hotfolder_claim for each row execute function steal()')
      await writeFile(join(folder, 'stolen.jpg'), await picture())
      await until(async () => (await filesIn(folder)).join() === 'IMPORTING-stolen.jpg')
      await until(async () => ((await svc.db.query('select from file')).rowCount ?? 0) > 0)
      await until(async () => ((await svc.db.query('select from hotfolder_claim')).rowCount ?? 0) === 1)
      await svc.db.query('drop trigger steal on hotfolder_claim')
      await svc.db.query('drop function steal')
      assert.deepEqual(await imported(made, 1), [['stolen.jpg']])
      await until(async () => (await filesIn(folder)).join() === 'hotfolder.log')
      assert.deepEqual(
        (await rowsOf(made)).slice(1).map((row) => row[7]),
        ['done'],
      )
    })
  })

  suite('the share', () => {
    /** Files wait for so many seconds; the function that is answered sets it back. */
    async function setWait(seconds: number): Promise<() => Promise<void>> {
      const set = (wait: number) =>
        setShares(svc, { read_write_access: true, hotfolder: true, hotfolder_wait_sec: wait })
      await set(seconds)
      return () => set(1)
    }

    test('DAV-023 it has a flag of its own', async () => {
      const made = await collection()
      await setShares(svc, { read_write_access: false, hotfolder: true, hotfolder_wait_sec: 1 })
      assert.equal((await ask(made.drive, 'OPTIONS')).status, 503)
      assert.equal((await ask(made.hotfolder, 'OPTIONS')).status, 200)
      await setShares(svc, { read_write_access: true, hotfolder: false, hotfolder_wait_sec: 1 })
      const off = await ask(`${made.hotfolder}x.jpg`, 'PUT', {}, 'x')
      assert.deepEqual([off.status, JSON.parse(off.text).code], [503, 'WebdavNotEnabled'])
      assert.equal((await ask(made.drive, 'OPTIONS')).status, 200)
      const { body } = await svc.as('editor').get(`/collection/${made.id}`)
      assert.deepEqual(
        body._hotfolder_upload_urls.map(({ type }: Json) => type),
        ['webdav'],
      )
      await setShares(svc, { read_write_access: true, hotfolder: true, hotfolder_wait_sec: 1 })
    })

    test('DAV-024 DAV-025: PUT drops a file, MKCOL makes a folder, reads show what waits and never what the collection has', async () => {
      const made = await collection()
      const { hotfolder } = made
      const kept = await setWait(3600)
      const content = await picture()
      assert.equal((await ask(`${hotfolder}a%20b.jpg`, 'PUT', {}, content)).status, 201)
      assert.equal((await ask(`${hotfolder}a%20b.jpg`, 'PUT', {}, content)).status, 204)
      assert.equal((await ask(`${hotfolder}none/c.jpg`, 'PUT', {}, content)).status, 409)
      assert.equal((await ask(`${hotfolder}Ships`, 'MKCOL')).status, 201)
      assert.equal((await ask(`${hotfolder}Ships/`, 'MKCOL')).status, 201)
      assert.equal((await ask(`${hotfolder}a%20b.jpg`, 'MKCOL')).status, 409)
      assert.equal((await ask(`${hotfolder}none/deep`, 'MKCOL')).status, 409)
      assert.equal((await ask(`${hotfolder}Ships/c.jpg`, 'PUT', {}, content)).status, 201)
      assert.equal((await ask(`${hotfolder}Ships`, 'PUT', {}, content)).status, 409)
      const got = await fetch(`${hotfolder}a%20b.jpg`)
      assert.deepEqual([got.status, got.headers.get('content-type')], [200, 'application/octet-stream'])
      assert.deepEqual(Buffer.from(await got.arrayBuffer()), content)
      const part = await fetch(`${hotfolder}a%20b.jpg`, { headers: { range: 'bytes=2-5' } })
      assert.deepEqual([part.status, Buffer.from(await part.arrayBuffer())], [206, content.subarray(2, 6)])
      const head = await ask(`${hotfolder}a%20b.jpg`, 'HEAD')
      assert.equal(head.headers.get('content-length'), `${content.length}`)
      const listed = await ask(hotfolder, 'PROPFIND', { depth: '1' })
      assert.equal(listed.status, 207)
      assert.deepEqual(hrefs(listed.text).slice(1), ['Ships', 'a b.jpg'])
      assert.match(listed.text, new RegExp(`<D:getcontentlength>${content.length}</D:getcontentlength>`))
      assert.equal((await ask(hotfolder, 'PROPFIND', { depth: 'infinity' })).status, 400)
      assert.match((await ask(hotfolder, 'GET')).text, /a b\.jpg/)
      assert.equal((await ask(`${hotfolder}nothing.jpg`, 'GET')).status, 404)
      assert.equal((await ask(`${hotfolder}a%20b.jpg`, 'COPY', { destination: `${hotfolder}c.jpg` })).status, 405)
      const moved = await ask(`${hotfolder}a%20b.jpg`, 'MOVE', { destination: `${hotfolder}Ships/d.jpg` })
      assert.equal(moved.status, 201)
      assert.equal(
        (await ask(`${hotfolder}Ships/d.jpg`, 'MOVE', { destination: `${hotfolder}Ships/c.jpg` })).status,
        409,
      )
      assert.equal((await ask(`${hotfolder}Ships`, 'MOVE', { destination: `${hotfolder}Ships/in` })).status, 409)
      assert.equal((await ask(`${hotfolder}Ships`, 'DELETE')).status, 409)
      assert.equal((await ask(`${hotfolder}Ships/d.jpg`, 'DELETE')).status, 204)
      assert.equal((await ask(`${hotfolder}Ships/d.jpg`, 'DELETE')).status, 404)
      await kept()
      assert.deepEqual(await imported(made, 1), [['c.jpg']])
      // The folder shows the log; the object is nowhere.
      await until(async () => hrefs((await ask(hotfolder, 'PROPFIND', { depth: '1' })).text).length === 3)
      assert.deepEqual(hrefs((await ask(hotfolder, 'PROPFIND', { depth: '1' })).text).slice(1), [
        'Ships',
        'hotfolder.log',
      ])
      assert.deepEqual(hrefs((await ask(`${hotfolder}Ships/`, 'PROPFIND', { depth: '1' })).text), ['Ships'])
      assert.match((await ask(`${hotfolder}hotfolder.log`, 'GET')).text, /\tc\.jpg\t/)
      assert.equal((await ask(`${hotfolder}Ships`, 'DELETE')).status, 204)
    })

    /** The status of an answer to a path that is sent as it stands. */
    async function rawPut(path: string): Promise<number | undefined> {
      const { hostname, port } = new URL((await collection()).hotfolder)
      const [answer] = (await once(httpRequest({ hostname, port, path, method: 'PUT' }).end('x'), 'response')) as [
        IncomingMessage,
      ]
      answer.resume()
      return answer.statusCode
    }

    test('names that mean something, paths that lead elsewhere, and addresses that nobody gave are refused', async () => {
      const made = await collection()
      const { hotfolder } = made
      const refused: [path: string, status: number, code: string][] = [
        ['.hidden', 400, 'DotFilenameNotAllowed'],
        ['._a.jpg', 400, 'DotFilenameNotAllowed'],
        ['hotfolder.log', 400, 'EasInvalidFilename'],
        ['IMPORTING-a.jpg', 400, 'EasInvalidFilename'],
        ['ERROR-a.jpg', 400, 'EasInvalidFilename'],
        ['nul.jpg', 400, 'EasInvalidFilename'],
        ['a%0Ab.jpg', 400, 'EasInvalidFilename'],
        [`${'x'.repeat(245)}.jpg`, 400, 'EasInvalidFilename'],
        ['..%2fa.jpg', 400, 'ServerGeneric'],
        ['..%5ca.jpg', 400, 'ServerGeneric'],
        ['a%00.jpg', 400, 'ServerGeneric'],
        [`${'d/'.repeat(30)}a.jpg`, 409, 'PathConflict'],
      ]
      const before = await filesIn(place)
      for (const [path, status, code] of refused) {
        const answer = await ask(`${hotfolder}${path}`, 'PUT', {}, 'x')
        assert.deepEqual([answer.status, JSON.parse(answer.text).code], [status, code], `${path} ${answer.text}`)
      }
      assert.deepEqual(await filesIn(place), [...before, made.uuid].sort())
      // Clients resolve such steps by themselves.
      assert.equal(await rawPut(`${new URL(hotfolder).pathname}%2e%2e/a.jpg`), 400)
      const elsewhere = hotfolder.replace(/[0-9a-f]{12}\/$/, '000000000000/')
      assert.equal((await ask(`${elsewhere}a.jpg`, 'PUT', {}, 'x')).status, 404)
      const { body } = await svc.as('editor').post('/collection', { collection: { displayname: { 'en-US': 'None' } } })
      const bare = hotfolder.replace(/[^/]+\/$/, `${body.collection.uuid}/`)
      const answer = await ask(`${bare}a.jpg`, 'PUT', {}, 'x')
      assert.deepEqual([answer.status, JSON.parse(answer.text).code], [400, 'CollectionUploadNoObjectFound'])
      await symlink(svc.config.dataDir, join(folderOf(made), 'out'))
      assert.equal((await ask(`${hotfolder}out/a.jpg`, 'PUT', {}, 'x')).status, 409)
      assert.equal((await ask(`${hotfolder}out/`, 'PROPFIND', { depth: '1' })).status, 404)
    })
  })
})
