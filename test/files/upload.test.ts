import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { after, before, suite, test } from 'node:test'
import type { Json } from '../support/client.ts'
import { assertDocumented, assertNamed } from '../support/documented.ts'
import { startService, type TestService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { fetched, multipart, picture, type Sent, sha256, upload } from './support.ts'

suite('uploads', () => {
  let svc: TestService
  before(async () => {
    svc = await startService()
  })
  after(() => svc[Symbol.asyncDispose]())

  test('a file comes back from its signed address, whole and as what it is', async () => {
    const content = await picture()
    const { status, body } = await upload(svc, 'root', [{ name: 'C:\\pictures\\été.JPG', content }])
    assert.equal(status, 200, JSON.stringify(body))
    const [{ _id, date_uploaded, best_date, last_status_at, versions, ...record }] = body
    assert.ok(_id > 0)
    assert.ok(Date.parse(date_uploaded) > 0 && Date.parse(last_status_at) > 0)
    assert.equal(best_date, date_uploaded)
    const { upload_user, compiled, technical_metadata, ...rest } = record
    assert.equal(upload_user.user._id, 1)
    assert.match(compiled, /^JPG, /)
    assert.equal(technical_metadata.sha256_hash, sha256(content))
    assert.deepEqual(rest, {
      class: 'image',
      extension: 'jpg',
      class_extension: 'image.jpg',
      class_version_status: 'image.original.done',
      status: 'done',
      is_original: true,
      filesize: content.length,
      original_filename: 'été.JPG',
      original_filename_basename: 'été',
      original_filepath: 'été.JPG',
      eas_parent_id: null,
      reference: null,
      hash: sha256(content),
      compiled_props: record.compiled_props,
    })
    const { url, ...original } = versions.original
    assert.equal(original.filesize, `${content.length}`)
    assert.deepEqual([original._show_allowed, original._download_allowed], [true, true])
    const answer = await fetched(svc, url)
    assert.equal(answer.status, 200)
    assert.ok(answer.content.equals(content))
    assert.equal(answer.headers['content-type'], 'image/jpeg')
    assert.equal(answer.headers['x-content-type-options'], 'nosniff')
    assert.match(
      String(answer.headers['content-disposition']),
      /^inline; filename="ete\.JPG"; filename\*=UTF-8''%C3%A9t%C3%A9\.JPG$/,
    )
  })

  const root = () => svc.as('root')
  const bearer = async (login = 'root') => ({ authorization: `Bearer ${await svc.as(login).token()}` })
  const leftovers = async () => (await readdir(join(svc.config.dataDir, 'files', 'tmp')).catch(() => [])).length
  const blobs = async () =>
    Number((await svc.db.query<{ n: number }>('select count(*)::int as n from file_blob')).rows[0]?.n)

  test('several files in one request, in their order; names and references by query', async () => {
    const contents = await Promise.all([picture(), picture(10, 10, 'png'), picture()])
    const sent = contents.map((content, index) => ({ name: `${index}.jpg`, content }))
    const { status, body } = await upload(svc, 'root', sent, {
      filenames: [null, 'second.png', ''],
      references: ['museum:1', null],
      produce_versions: [false, false, false],
      priority: 2,
    })
    assert.equal(status, 200, JSON.stringify(body))
    assert.deepEqual(
      body.map((file: Json) => file.original_filename),
      ['0.jpg', 'second.png', '2.jpg'],
    )
    assert.deepEqual(
      body.map((file: Json) => file.reference),
      ['museum:1', null, null],
    )
    assert.deepEqual(
      body.map((file: Json) => file.hash),
      contents.map(sha256),
    )
    assert.deepEqual(body[0]['lookup:_id'], { reference: 'museum:1' })
    const derived = await upload(svc, 'root', [sent[0] as Sent], { id_parents: [body[0]._id] })
    assert.equal(derived.body[0].eas_parent_id, body[0]._id)
    const again = await upload(svc, 'root', [sent[0] as Sent], { references: ['museum:1'] })
    assert.equal(again.body.code, 'DatabaseUniqueKeyViolation')
    const orphan = await upload(svc, 'root', [sent[0] as Sent], { id_parents: [999_999] })
    assert.equal(orphan.body.code, 'EasNoParentID')
  })

  test('one file as the body itself, by PUT and POST, of any type, named by query or header', async () => {
    const content = Buffer.from('{"a": 1}')
    for (const method of ['PUT', 'POST'] as const) {
      const answer = await svc.inject({
        method,
        url: '/api/v1/eas/put?produce_versions=false',
        headers: {
          ...(await bearer()),
          'content-type': 'application/json',
          'content-disposition': "attachment; filename*=UTF-8''d%C3%A4ta.json",
        },
        payload: content,
      })
      const [file] = answer.json()
      assert.equal(answer.statusCode, 200, answer.body)
      assert.deepEqual([file.original_filename, file.class, file.extension], ['däta.json', 'unknown', 'json'])
      assert.ok((await fetched(svc, file.versions.original.url)).content.equals(content))
    }
    const unnamed = await svc.inject({
      method: 'PUT',
      url: '/api/v1/eas/put?produce_versions=false',
      headers: await bearer(),
      payload: content,
    })
    assert.equal(unnamed.json().code, 'EasEmptyFilename')
    const empty = await svc.inject({
      method: 'PUT',
      url: `/api/v1/eas/put?produce_versions=false&filenames=${encodeURIComponent('["empty.txt"]')}`,
      headers: { ...(await bearer()), 'content-type': 'text/plain' },
      payload: '',
    })
    assert.equal(empty.statusCode, 200, empty.body)
    assert.equal(empty.json()[0].filesize, 0)
    const nothing = await fetched(svc, empty.json()[0].versions.original.url)
    assert.deepEqual([nothing.status, nothing.content.length], [200, 0])
  })

  test('the same content twice lies there once', async () => {
    const content = await picture()
    const before = await blobs()
    const first = await upload(svc, 'root', [
      { name: 'a.jpg', content },
      { name: 'b.jpg', content },
    ])
    const second = await upload(svc, 'root', [{ name: 'c.jpg', content }])
    assert.deepEqual([first.status, second.status], [200, 200])
    assert.equal(await blobs(), before + 1)
    assert.equal(await leftovers(), 0)
    assert.equal(new Set([...first.body, ...second.body].map((file: Json) => file._id)).size, 3)
  })

  test('names: no folders, nothing invisible, nothing that turns the writing around, composed letters', async () => {
    const content = await picture()
    const names: [string, string][] = [
      ['../../etc/passwd.jpg', 'passwd.jpg'],
      ['/etc/cron.d/x.jpg', 'x.jpg'],
      ['..\\..\\x.jpg', 'x.jpg'],
      ['photo\u202Egpj.exe.jpg', 'photogpj.exe.jpg'],
      ['e\u0301te\u0301.jpg', 'été.jpg'],
      ['a\u0000b\u0007\u200bc.jpg', 'abc.jpg'],
      [`${'x'.repeat(400)}.jpg`, `${'x'.repeat(251)}.jpg`],
      ['  spaced .jpg ', 'spaced .jpg'],
    ]
    for (const [given, kept] of names) {
      const { status, body } = await upload(svc, 'root', [{ name: 'x.jpg', content }], {
        filenames: [given.replaceAll('\0', '')],
      })
      assert.equal(status, 200, JSON.stringify(body))
      assert.equal(body[0].original_filename, kept)
    }
    for (const [given, code] of [
      ['..', 'EasInvalidFilename'],
      ['a/..', 'EasInvalidFilename'],
      ['\u202e', 'EasInvalidFilename'],
      ['   ', 'EasEmptyFilename'],
    ] as const) {
      const refused = await upload(svc, 'root', [{ name: 'x.jpg', content }], { filenames: [given] })
      assert.equal(refused.body.code, code, JSON.stringify(given))
    }
  })

  test('the content says what a file is, not its name', async () => {
    const png = await picture(8, 8, 'png')
    const program = Buffer.concat([Buffer.from('MZ'), randomBytes(2000)])
    const page = Buffer.from('<html><script>alert(1)</script></html>')
    const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>')
    const cases: [string, Buffer, string, string, string][] = [
      ['a.jpg', png, 'image', 'png', 'inline'],
      ['program.jpg', program, 'unknown', 'exe', 'attachment'],
      ['page.jpg', page, 'unknown', 'jpg', 'attachment'],
      ['page.html', page, 'unknown', 'html', 'attachment'],
      ['page.svg', page, 'unknown', 'svg', 'attachment'],
      ['drawing.svg', svg, 'image', 'svg', 'inline'],
      ['noextension', png, 'image', 'png', 'inline'],
      ['notes.txt', page, 'office', 'txt', 'inline'],
    ]
    for (const [name, content, kind, extension, disposition] of cases) {
      const { body } = await upload(svc, 'root', [{ name, content }])
      assert.deepEqual([body[0].class, body[0].extension], [kind, extension], name)
      const { headers } = await fetched(svc, body[0].versions.original.url)
      assert.ok(String(headers['content-disposition']).startsWith(disposition), name)
      assert.match(String(headers['content-security-policy']), /^sandbox; default-src 'none'/)
      assert.doesNotMatch(String(headers['content-type']), name === 'page.html' ? /^$/ : /html/)
    }
  })

  test('what is no upload is refused, and nothing of it stays', async () => {
    const send = async (headers: Record<string, string>, payload: Buffer | string, query = '') =>
      (
        await svc.inject({
          method: 'POST',
          url: `/api/v1/eas/put${query}`,
          headers: { ...(await bearer()), ...headers },
          payload,
        })
      ).json()
    const before = await blobs()
    const { headers, payload } = multipart([{ name: 'a.jpg', content: await picture(200, 200) }])
    assert.match((await send(headers, payload.subarray(0, payload.length - 30))).message, /multipart/)
    assert.match((await send({ 'content-type': 'multipart/form-data' }, payload)).message, /boundary/)
    assert.equal((await send({ 'content-type': 'multipart/form-data; boundary=q' }, '--q--\r\n')).code, 'UploadError')
    const field = '--q\r\nContent-Disposition: form-data; name="file"\r\n\r\nno file\r\n--q--\r\n'
    assert.equal((await send({ 'content-type': 'multipart/form-data; boundary=q' }, field)).code, 'UploadError')
    const many = multipart(Array.from({ length: 101 }, () => ({ name: 'a.txt', content: Buffer.from('a') })))
    assert.match((await send(many.headers, many.payload)).message, /At most 100 files/)
    for (const query of ['filenames=x', 'filenames={}', 'references=[1]', 'id_parents=["1"]', 'id_parents=[-1]']) {
      assert.equal((await send(headers, payload, `?${encodeURI(query)}`)).parameters.param, query.split('=')[0])
    }
    assert.match(
      (await send(headers, payload, `?references=${encodeURIComponent('["a","b"]')}`)).message,
      /2 entries for 1/,
    )
    const recipes = await send(headers, payload, '?custom_produce_configs=[]')
    assert.equal(recipes.code, 'UrlParameterNotSupported')
    assert.equal((await send(headers, payload, '?collection=1')).code, 'CollectionUploadNoObjectFound')
    assert.equal(await blobs(), before)
    assert.equal(await leftovers(), 0)
  })

  test('LIM-013 limits by class and instance, 0 for the wider one or none: FileLimitExceeded, before the body where it says how long it is', async () => {
    const settings = (value: object) => root().post('/config', { system: { config: { produce_config: { value } } } })
    for (const page of ['files.md', 'administration.md']) assertNamed(page, ['uploadmaxfilesize'])
    try {
      const set = await settings({
        uploadmaxfilesize: '2KB',
        classes: { image: { uploadmaxfilesize: '1MB', uploadenabledextensions: ['jpg'] } },
      })
      assert.equal(set.status, 200, JSON.stringify(set.body))
      const image = { name: 'a.jpg', content: await picture(100, 100) }
      assert.equal((await upload(svc, 'root', [image])).status, 200, 'the limit of the class goes before the other')
      const large = await upload(svc, 'root', [{ name: 'a.bin', content: randomBytes(3000) }])
      assert.deepEqual([large.status, large.body.code, large.body.parameters.bytes], [400, 'FileLimitExceeded', 2000])
      const zero = { uploadmaxfilesize: '0', uploadenabledextensions: ['jpg'] }
      assert.equal((await settings({ uploadmaxfilesize: '2KB', classes: { image: zero } })).status, 200)
      assert.equal((await upload(svc, 'root', [image])).body.parameters.bytes, 2000, 'that of the instance')
      assert.equal((await settings({ uploadmaxfilesize: '0', classes: { image: zero } })).status, 200)
      assert.equal((await upload(svc, 'root', [image])).status, 200, 'none')
      await settings({ uploadmaxfilesize: '2KB', classes: { image: zero } })
      const off = await upload(svc, 'root', [{ name: 'a.png', content: await picture(5, 5, 'png') }])
      assert.equal(off.body.code, 'UploadError')
      const unread = await svc.inject({
        method: 'PUT',
        url: `/api/v1/eas/put?produce_versions=false&filenames=${encodeURIComponent('["a.bin"]')}`,
        headers: { ...(await bearer()), 'content-type': 'application/octet-stream', 'content-length': '999999999' },
        payload: Readable.from([Buffer.from('only this')]),
      })
      assert.deepEqual([unread.statusCode, unread.json().code], [400, 'FileLimitExceeded'])
      assert.equal((await settings({ uploadallowunknown: false })).status, 200)
      assert.equal((await upload(svc, 'root', [{ name: 'a.bin', content: randomBytes(30) }])).body.code, 'UploadError')
    } finally {
      await settings({})
    }
    assert.equal(await leftovers(), 0)
  })

  test('the right asset_upload, with its classes, extensions and limit', async () => {
    const grant = (rights: object) => ({ who: { _basetype: 'user', user: { _id: userId } }, rights })
    const [made] = (await root().post('/user', [{ user: { login: 'uma' }, _password: 'uma' }])).body
    const userId = made.user._id
    const image = { name: 'a.jpg', content: await picture() }
    assert.equal((await upload(svc, 'uma', [image])).body.code, 'RightRequired')
    const [pool] = (await root().get('/pool/1')).body
    const save = async (rights: object) => {
      const [stored] = (await root().get('/pool/1')).body
      const saved = await root().post('/pool', [
        { pool: { _id: 1, _version: stored.pool._version }, _acl: [...(pool._acl ?? []), grant(rights)] },
      ])
      assert.equal(saved.status, 200, JSON.stringify(saved.body))
    }
    await save({ asset_upload: { classes: ['image'], extensions: ['jpg', 'png'], limit: 100_000 } })
    assert.equal((await upload(svc, 'uma', [image])).status, 200)
    assert.equal(
      (await upload(svc, 'uma', [{ name: 'a.txt', content: Buffer.from('text') }])).body.code,
      'RightRequired',
    )
    const lying = { name: 'a.jpg', content: Buffer.concat([Buffer.from('%PDF-1.7\n'), randomBytes(100)]) }
    assert.equal((await upload(svc, 'uma', [lying])).body.code, 'RightRequired')
    const large = { name: 'a.png', content: Buffer.concat([await picture(5, 5, 'png'), randomBytes(100_000)]) }
    assert.equal((await upload(svc, 'uma', [large])).body.code, 'FileLimitExceeded')
    assert.equal(
      (await svc.inject({ method: 'PUT', url: '/api/v1/eas/put', payload: 'x' })).json().code,
      'UserRequired',
    )
    assert.equal(await leftovers(), 0)
  })

  test('READ-017 records by id; one’s own, and of others none', async () => {
    const { body } = await upload(svc, 'root', [{ name: 'a.jpg', content: await picture() }])
    const { _id } = body[0]
    const one = await root().get(`/eas/${_id}`)
    assert.deepEqual(one.body, body[0])
    const list = await root().get('/eas', { ids: JSON.stringify([_id, 999_999]), format: 'long' })
    assert.deepEqual(list.body, { [_id]: body[0] })
    const [second] = (await upload(svc, 'root', [{ name: 'b.jpg', content: await picture() }])).body
    const both = await root().get('/eas', { ids: JSON.stringify([second._id, _id]), format: 'long' })
    assert.deepEqual([both.status, both.body], [200, { [_id]: body[0], [second._id]: second }])
    const short = (await root().get(`/eas/${_id}`, { format: 'short' })).body
    assert.equal(short.upload_user, undefined)
    assert.deepEqual((await root().get('/eas', { ids: `[${_id}]`, format: 'short' })).body, { [_id]: short })
    assert.equal((await root().get(`/eas/${_id}`, { format: 'standard' })).body.technical_metadata, undefined)
    for (const [login, path] of [
      ['uma', `/eas/${_id}`],
      ['uma', `/eas?ids=[${_id}]`],
      ['uma', '/eas/999999'],
      [null, `/eas/${_id}`],
      [null, `/eas?ids=[${_id}]`],
    ] as const) {
      const refused = await svc.as(login).get(path)
      assert.deepEqual([refused.status, refused.body.code], [403, 'InsufficientRights'], `${login} ${path}`)
    }
    const own = await upload(svc, 'uma', [{ name: 'a.jpg', content: await picture() }])
    assert.equal((await svc.as('uma').get(`/eas/${own.body[0]._id}`)).status, 200)
    for (const ids of ['x', '[0]', '["1"]', '{}', `[${'1,'.repeat(1000)}1]`]) {
      assert.equal((await root().get('/eas', { ids })).status, 400, ids.slice(0, 20))
    }
    for (const parameter of ['objecttype=x', 'mask=x', 'pool_id=1']) {
      assert.equal((await root().get(`/eas/${_id}?${parameter}`)).body.code, 'UrlParameterNotSupported', parameter)
    }
  })

  test('READ-021 the record of one file: its parameters, and what each format has', async () => {
    const parameters = ['format', 'obj_uuid', 'check_for_duplicates', 'mapping', 'objecttype', 'mask', 'pool_id']
    await assertDocumented(svc, 'get /eas/{fileId}', parameters, 'files.md')
    const { body } = await upload(svc, 'root', [{ name: 'one.jpg', content: await picture() }], { references: ['o:1'] })
    const { _id } = body[0]
    const short =
      '_id class extension class_extension status class_version_status is_original filesize original_filename ' +
      'original_filename_basename versions'
    const more =
      'eas_parent_id reference original_filepath upload_user date_uploaded best_date last_status_at hash compiled ' +
      'compiled_props'
    const keys = {
      short: short.split(' '),
      standard: `${short} ${more}`.split(' '),
      long: `${short} ${more} technical_metadata`.split(' '),
    }
    for (const [format, expected] of Object.entries(keys)) {
      const { 'lookup:_id': lookup, ...record } = (await root().get(`/eas/${_id}`, { format })).body
      assert.deepEqual(Object.keys(record).sort(), [...expected].sort(), format)
      assert.deepEqual(lookup, format === 'short' ? undefined : { reference: 'o:1' })
      assertNamed('files.md', expected)
    }
    assert.equal((await root().get(`/eas/${_id}`)).body.technical_metadata.mime_type, 'image/jpeg')
    assert.equal((await root().get(`/eas/${_id}`, { format: 'full' })).status, 400)
    assert.deepEqual((await root().get(`/eas/${_id}`, { check_for_duplicates: true })).body._duplicates, undefined)
    for (const parameter of ['objecttype=x', 'mask=x', 'pool_id=1']) {
      assert.equal((await root().get(`/eas/${_id}?${parameter}`)).body.code, 'UrlParameterNotSupported', parameter)
    }
    const nowhere = await root().get(`/eas/${_id}`, { obj_uuid: '00000000-0000-4000-8000-000000000000' })
    assert.deepEqual([nowhere.status, nowhere.body.code], [403, 'InsufficientRights'])
  })

  test('READ-023 name and reference change for the uploader, not for others', async () => {
    await assertDocumented(svc, 'post /eas/{fileId}', ['permission_check_only'], 'files.md')
    assertNamed('files.md', ['filename', 'reference', 'custom_produce_config', 'acknowledged'])
    const { body } = await upload(svc, 'uma', [{ name: 'a.jpg', content: await picture() }])
    const path = `/eas/${body[0]._id}`
    const uma = svc.as('uma')
    assert.equal((await uma.post(path, { filename: 'b.jpg' }, { permission_check_only: true })).status, 200)
    assert.equal((await uma.get(path)).body.original_filename, 'a.jpg')
    const changed = await uma.post(path, { filename: '../new.jpg', reference: 'r:1' })
    assert.deepEqual(changed.body, { status: { acknowledged: 'ok' } })
    const after = (await uma.get(path)).body
    assert.deepEqual([after.original_filename, after.reference], ['new.jpg', 'r:1'])
    assert.equal((await uma.post(path, { reference: null })).status, 200)
    assert.equal((await uma.get(path)).body.reference, null)
    assert.equal((await uma.get(path)).body.original_filename, 'new.jpg')
    const [other] = (await upload(svc, 'root', [{ name: 'a.jpg', content: await picture() }])).body
    assert.equal((await uma.post(`/eas/${other._id}`, { filename: 'x.jpg' })).body.code, 'InsufficientRights')
    assert.equal((await uma.post('/eas/999999', { filename: 'x.jpg' })).body.code, 'InsufficientRights')
    assert.equal(
      (await uma.post(path, { custom_produce_config: { overwrites: [{ custom: { format: 'png' } }] } })).status,
      400,
    )
    assert.equal((await uma.post(path, { filename: '..' })).body.code, 'EasInvalidFilename')
    const nothing = await uma.post(path, { other: 'x' })
    assert.deepEqual([nothing.status, nothing.body.code], [400, 'ServerGeneric'])
    assert.equal((await uma.post(path, {}, { permission_check_only: true })).status, 200, 'it only asks')
  })

  test('EVENT-054 EVENT-058 the log says what was uploaded and downloaded, each in a group of its own', async () => {
    const content = await picture()
    const { body } = await upload(svc, 'root', [{ name: 'logged.jpg', content }])
    const { url } = body[0].versions.original
    await fetched(svc, url, { range: 'bytes=0-9' })
    await until(async () => {
      const { rows } = await svc.db.query<{ type: string; info: Json }>(
        `select type, info from event where basetype = 'file' and object_id = $1 order by id`,
        [body[0]._id],
      )
      if (rows.length < 2) return false
      assert.deepEqual(
        rows.map(({ type }) => type),
        ['FILE_UPLOAD', 'FILE_DOWNLOAD'],
      )
      const page = await readFile(join(import.meta.dirname, '..', '..', 'docs', 'events.md'), 'utf8')
      for (const row of ['| UPLOAD | `FILE_UPLOAD` |', '| DOWNLOAD | `FILE_DOWNLOAD` |']) assert.ok(page.includes(row))
      assert.equal(rows[0]?.info.file.original_filename, 'logged.jpg')
      assert.deepEqual([rows[1]?.info.bytes_count, rows[1]?.info.statuscode], [10, 206])
      assert.ok(!JSON.stringify(rows[1]?.info).includes('signature'), 'the log gives no addresses away')
      return true
    })
  })
})
