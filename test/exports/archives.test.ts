import assert from 'node:assert/strict'
import { mkdir, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import sharp from 'sharp'
import { upload } from '../files/support.ts'
import type { Json } from '../support/client.ts'
import { inPool, type Museum, payload, startMuseum } from '../support/seed/museum.ts'
import { until } from '../support/until.ts'
import { addUser, addWorks, archiveBytes, exported, fetchedFile, inFolder, picture, ran, run } from './support.ts'

const asImages = { 'work.image': { files: true } }

suite('files and archives of exports', () => {
  let museum: Museum
  let works: Json[]
  before(async () => {
    museum = await startMuseum()
    works = await addWorks(museum, ['Älter', 'b/../c', 'con', 'd'], 3)
    await museum.svc.drain()
  })
  after(() => museum[Symbol.asyncDispose]())

  const pathsOf = (one: Json): string[] => one._files.map(({ path }: Json) => path)

  /** All files below a folder, by their paths. */
  async function unpacked(folder: string): Promise<Map<string, Buffer>> {
    const names = await readdir(folder, { recursive: true, withFileTypes: true })
    const files = names.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name))
    const read = files.map(async (path) => [path.slice(folder.length + 1), await readFile(path)] as const)
    return new Map(await Promise.all(read))
  }

  test('EXPAPI-018 SVC-012 ZIP and TAR.GZ hold what the addresses of single files give, for other programs', async () => {
    const one = await exported(museum.svc, { json: true, xml_one_file_per_object: true, eas_fields: asImages })
    assert.equal(one._state, 'done', JSON.stringify(one._log))
    const paths = pathsOf(one)
    assert.equal(paths.length, 3 + 4 + 1)
    const zip = await inFolder('a.zip', await archiveBytes(museum.svc, one.export._id, 'zip'))
    const tar = await inFolder('a.tar.gz', await archiveBytes(museum.svc, one.export._id, 'tar_gz'))
    await run('unzip', ['-tq', zip.path])
    for (const { folder, program, args } of [
      { ...zip, program: 'unzip', args: ['-q', zip.path, '-d', join(zip.folder, 'out')] },
      { ...tar, program: 'tar', args: ['-xzf', tar.path, '-C', join(tar.folder, 'out')] },
    ]) {
      await mkdir(join(folder, 'out'))
      await run(program, args)
      const files = await unpacked(join(folder, 'out'))
      assert.deepEqual([...files.keys()].sort(), [...paths].sort(), program)
      for (const [path, content] of files) {
        const single = await fetchedFile(museum.svc, one.export._id, path)
        assert.deepEqual([single.statusCode, single.rawPayload.equals(content)], [200, true], path)
      }
      assert.equal(JSON.parse(`${files.get('export.json')}`).length, 4)
      const pictures = paths.filter((path) => path.endsWith('.jpg')).map((path) => files.get(path) as Buffer)
      assert.deepEqual(
        pictures.map((content) => content.equals(pictures[0] as Buffer)),
        [true, false, false],
      )
      assert.ok((pictures[0] as Buffer).equals(await picture(0)))
    }
  })

  test('an archive of a folder holds that folder; an empty export has an empty archive', async () => {
    const one = await exported(museum.svc, { json: true, eas_fields: asImages })
    const token = await museum.svc.as('root').token()
    const get = (path: string) =>
      museum.svc.inject({
        url: `/api/v1/export/${one.export._id}/${path}`,
        headers: { authorization: `Bearer ${token}` },
      })
    for (const kind of ['zip', 'tar_gz']) {
      const [same, part] = [await get(`${kind}/export.json`), await get('file/export.json')]
      assert.deepEqual([same.statusCode, same.rawPayload.equals(part.rawPayload)], [200, true], 'a file of the archive')
      assert.equal(same.headers['content-type'], part.headers['content-type'])
      assert.equal((await get(`${kind}/export.json/`)).json().code, 'FileNotFound')
      assert.equal((await get(`${kind}/export.json?package=bagit`)).json().code, 'FileNotFound')
    }
    const zip = await inFolder('a.zip', (await get('zip/files/')).rawPayload)
    const { stdout } = await run('unzip', ['-Z1', zip.path])
    assert.deepEqual(
      stdout.trim().split('\n').sort(),
      pathsOf(one)
        .filter((path) => path.startsWith('files/'))
        .sort(),
    )
    // The log tells of the objects whose files were in it.
    const told = async () => {
      const { rows } = await museum.svc.db.query<{ id: number }>(
        `select system_object_id as id from event where type = 'OBJECT_DOWNLOAD' and info->>'url' like $1 order by id`,
        [`%/export/${one.export._id}/zip/files`],
      )
      return rows.map(({ id }) => id)
    }
    await until(async () => (await told()).length > 0)
    assert.deepEqual(
      await told(),
      works.slice(0, 3).map((work) => work._system_object_id),
    )
    assert.deepEqual([(await get('zip/nothing/')).statusCode, (await get('file/nothing/')).statusCode], [404, 404])
    const empty = await exported(museum.svc, { search: { objecttypes: ['loan'] } })
    assert.deepEqual(empty._files, [])
    const none = await inFolder('b.tar.gz', await archiveBytes(museum.svc, empty.export._id, 'tar_gz'))
    assert.equal((await run('tar', ['-tzf', none.path])).stdout, '')
    assert.equal((await archiveBytes(museum.svc, empty.export._id, 'zip')).length, 22)
  })

  test('HEAD of an archive says its type and its name, and counts as no download', async () => {
    const one = await exported(museum.svc, { name: 'only asked', json: true, eas_fields: asImages })
    const token = await museum.svc.as('root').token()
    for (const [kind, type, extension] of [
      ['zip', 'application/zip', 'zip'],
      ['tar_gz', 'application/gzip', 'tar.gz'],
    ] as const) {
      const { statusCode, headers, rawPayload } = await museum.svc.inject({
        method: 'HEAD',
        url: `/api/v1/export/${one.export._id}/${kind}/`,
        headers: { authorization: `Bearer ${token}` },
      })
      assert.deepEqual([statusCode, headers['content-type'], rawPayload.length], [200, type, 0])
      assert.equal(headers['content-length'], undefined)
      assert.match(`${headers['content-disposition']}`, new RegExp(`only asked\\.${extension}`))
    }
    await museum.svc.drain()
    const { _log } = (await museum.svc.as('root').get(`/export/${one.export._id}`)).body
    const types: string[] = _log.map(({ event }: Json) => event.type)
    assert.deepEqual(
      types.filter((type) => type.includes('DOWNLOAD')),
      [],
    )
  })

  test('single files take ranges and conditions, and have pages that show where they are', async () => {
    const one = await exported(museum.svc, { json: true, eas_fields: asImages })
    const { _id } = one.export
    const whole = await fetchedFile(museum.svc, _id, 'export.json')
    const part = await fetchedFile(museum.svc, _id, 'export.json', 'root', { range: 'bytes=5-14' })
    assert.deepEqual([part.statusCode, part.headers['content-range']], [206, `bytes 5-14/${whole.rawPayload.length}`])
    assert.ok(part.rawPayload.equals(whole.rawPayload.subarray(5, 15)))
    assert.equal(
      (await fetchedFile(museum.svc, _id, 'export.json', 'root', { range: 'bytes=999999-' })).statusCode,
      416,
    )
    const known = { 'if-none-match': `${whole.headers.etag}` }
    assert.equal((await fetchedFile(museum.svc, _id, 'export.json', 'root', known)).statusCode, 304)
    const token = await museum.svc.as('root').token()
    const head = await museum.svc.inject({
      method: 'HEAD',
      url: `/api/v1/export/${_id}/file/export.json`,
      headers: { authorization: `Bearer ${token}` },
    })
    assert.deepEqual(
      [head.statusCode, head.headers['content-length'], head.body],
      [200, `${whole.rawPayload.length}`, ''],
    )
    const linksIn = (body: string): string[] => [...body.matchAll(/href="([^"]*)"/g)].map(([, link = '']) => link)
    const index = await fetchedFile(museum.svc, _id, '')
    assert.match(`${index.headers['content-type']}`, /^text\/html/)
    assert.deepEqual(linksIn(index.body), ['files/', 'export.json'])
    assert.deepEqual(linksIn((await fetchedFile(museum.svc, _id, 'files/')).body), ['../', '0001/'])
    const inner = linksIn((await fetchedFile(museum.svc, _id, 'files/0001/')).body)
    assert.equal(inner.length, 4)
    for (const link of inner.slice(1)) {
      assert.equal((await fetchedFile(museum.svc, _id, `files/0001/${link}`)).statusCode, 200, link)
    }
    for (const path of [
      'nothing',
      '../export.json',
      '%2e%2e/export.json',
      'files',
      'files%2F0001',
      'a%00b',
      'EXPORT.JSON',
    ]) {
      const { statusCode } = await fetchedFile(museum.svc, _id, path)
      assert.ok(statusCode === 404 || statusCode === 400, `${path}: ${statusCode}`)
    }
  })

  test('names of files come from a template, from the upload, or as the object type says; each is safe, and there once', async () => {
    const namesOf = async (more: Json) => {
      const one = await exported(museum.svc, { eas_fields: asImages, flat: true, ...more })
      assert.equal(one._state, 'done', JSON.stringify(one._log.at(-2)))
      return pathsOf(one)
    }
    const template = '%work.title.en-US%'
    assert.deepEqual(await namesOf({ filename_template: template }), ['Älter.jpg', 'b_.._c.jpg', '_con.jpg'])
    const [second, third] = [works[1], works[2]].map(
      (object) => `${object._system_object_id}-${object.work.image[0]._id}`,
    )
    const same = ['same name.jpg', `same name-${second}.jpg`, `same name-${third}.jpg`]
    assert.deepEqual(await namesOf({ filename_original: true }), same)
    assert.deepEqual(await namesOf({}), same)
    const types = await museum.svc.as('root').get('/objecttype')
    const type = types.body.find(({ objecttype }: Json) => objecttype.name === 'work')
    assert.ok(type, JSON.stringify(types.body[0]))
  })

  test('folders hold as many objects as batch_size says', async () => {
    const foldersOf = async (more: Json) =>
      pathsOf(await exported(museum.svc, { eas_fields: asImages, ...more })).map((path) =>
        path.split('/').slice(0, -1).join('/'),
      )
    assert.deepEqual(await foldersOf({}), ['files/0001', 'files/0001', 'files/0001'])
    assert.deepEqual(await foldersOf({ batch_size: 2 }), ['files/0001', 'files/0001', 'files/0002'])
    assert.deepEqual(await foldersOf({ batch_size: 0 }), ['files', 'files', 'files'])
    assert.deepEqual(await foldersOf({ flat: true }), ['', '', ''])
  })

  test('which files: by column, preference, and rules for single ones', async () => {
    const files: number[] = []
    for (const red of [201, 202]) {
      const { body } = await upload(museum.svc, 'root', [{ name: `red ${red}.jpg`, content: await picture(red) }])
      files.push(body[0]._id)
    }
    const image = [{ _id: files[0] }, { _id: files[1], preferred: true }]
    const made = await museum.svc
      .as('root')
      .post('/db/work', [payload('work', { title: { 'en-US': 'two' }, image }, inPool(museum.pool))], {
        await_index: 60,
      })
    assert.equal(made.status, 200, JSON.stringify(made.body))
    const search = { search: [{ type: 'in', fields: ['_system_object_id'], in: [made.body[0]._system_object_id] }] }
    const [first, second] = files
    const namesOf = async (eas: Json, assets: Json = {}) =>
      pathsOf(await exported(museum.svc, { search, flat: true, eas_fields: { 'work.image': eas }, assets }))
    const [a, b] = ['red 201.jpg', 'red 202.jpg']
    assert.deepEqual(await namesOf({ files: true }), [b])
    assert.deepEqual(await namesOf({ files: true, include_non_preferred: true }), [a, b])
    assert.deepEqual(await namesOf({ files: false }), [])
    assert.deepEqual(await namesOf({ files: true, include_non_preferred: true }, { [`${first}`]: false }), [b])
    assert.deepEqual(await namesOf({ files: true, include_non_preferred: true }, { [`${second}`]: false }), [])
    assert.deepEqual(await namesOf({ files: true }, { [`${first}`]: true }), [a, b])
    assert.deepEqual(await namesOf({ files: false }, { [`${first}`]: { versions: [{ type: 'original' }] } }), [a])
  })

  test('pictures are made when they are fetched, as the export says', async () => {
    const custom = { format: 'png', size: 'custom', custom_size_pixel: 10 }
    const classes = {
      image: [
        { type: 'custom', custom },
        { type: 'original', metadata: 'keep' },
      ],
    }
    const one = await exported(museum.svc, { eas_fields: asImages, classes, flat: true, filename_original: true })
    const made = pathsOf(one).filter((path) => path.endsWith('.png'))
    assert.equal(made.length, works.length)
    const { rawPayload, headers } = await fetchedFile(museum.svc, one.export._id, encodeURIComponent(made[0] as string))
    assert.equal(headers['content-type'], 'image/png', `${rawPayload}`.slice(0, 500))
    const { width, height, format } = await sharp(rawPayload).metadata()
    assert.deepEqual([width, height, format, headers['content-type']], [10, 5, 'png', 'image/png'])
    const zip = await inFolder('a.zip', await archiveBytes(museum.svc, one.export._id, 'zip'))
    await run('unzip', ['-tq', zip.path])
    assert.equal((await run('unzip', ['-Z1', zip.path])).stdout.trim().split('\n').length, 2 * works.length)
  })

  test('documents say where the exported files lie', async () => {
    const data = [{ type: 'original', format: 'long' }]
    const one = await exported(museum.svc, {
      json: true,
      xml: true,
      eas_fields: { 'work.image': { files: true, data } },
    })
    const [first] = JSON.parse((await fetchedFile(museum.svc, one.export._id, 'export.json')).body)
    const { original } = first.work.image[0].versions
    assert.equal(original.path, pathsOf(one)[0])
    assert.match(original.url, /\/eas\/download\//)
    const { body } = await fetchedFile(museum.svc, one.export._id, 'export.xml')
    for (const path of pathsOf(one).filter((name) => name.endsWith('.jpg')))
      assert.ok(body.includes(`<path>${path}</path>`), path)
  })

  test('rights: what is listed at the run, what is delivered at the fetch', async () => {
    const ann = await addUser(museum.svc, 'ann')
    const grant = async (rights: Json) => {
      const { pool } = (await museum.svc.as('root').get(`/pool/${museum.pool}`)).body[0]
      const _acl = [{ who: { _basetype: 'user', user: { _id: ann } }, rights }]
      const answer = await museum.svc
        .as('root')
        .post('/pool', [{ pool: { _id: museum.pool, _version: pool._version }, _acl }])
      assert.equal(answer.status, 200, JSON.stringify(answer.body))
      await museum.svc.drain()
    }
    const settings = { json: true, eas_fields: asImages, flat: true, filename_original: true }
    const none = await exported(museum.svc, settings, {}, 'ann')
    assert.deepEqual([none._last_relevant_object_count, pathsOf(none)], [0, ['export.json']])
    await grant({ bag_read: {}, read: {}, asset_show: {}, asset_download: {} })
    const one = await ran(museum.svc, 'ann', none.export._id)
    assert.equal(one._last_relevant_object_count, works.length + 1)
    const first = encodeURIComponent(pathsOf(one)[0] as string)
    assert.equal((await fetchedFile(museum.svc, one.export._id, first, 'ann')).statusCode, 200)
    await grant({ bag_read: {}, read: {} })
    for (const login of ['ann', 'root']) {
      // Also for root, who fetches what is ann's.
      const answer = await fetchedFile(museum.svc, one.export._id, first, login)
      assert.deepEqual([answer.statusCode, answer.json().code], [403, 'InsufficientRights'])
    }
    const zip = await inFolder('a.zip', await archiveBytes(museum.svc, one.export._id, 'zip', 'ann'))
    await run('unzip', ['-tq', zip.path])
    const names = (await run('unzip', ['-Z1', zip.path])).stdout.trim().split('\n')
    assert.deepEqual(
      names.sort(),
      pathsOf(one)
        .map((path) => (path.endsWith('.jpg') ? `${path}.error.txt` : path))
        .sort(),
    )
    const token = await museum.svc.as('ann').token()
    const tar = await museum.svc.inject({
      url: `/api/v1/export/${one.export._id}/tar_gz/`,
      headers: { authorization: `Bearer ${token}` },
    })
    assert.deepEqual([tar.statusCode, tar.json().code], [403, 'InsufficientRights'])
  })
})
