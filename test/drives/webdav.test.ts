import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { createClient, type WebDAVClient } from 'webdav'
import { picture } from '../files/support.ts'
import { toUser, wireGrant } from '../rights/people.ts'
import type { Json } from '../support/client.ts'
import { attachService, type TestService } from '../support/service.ts'
import { ask, hrefs, setShares, startDrives } from './support.ts'

suite('WebDAV', () => {
  let svc: TestService
  let ids: Record<string, number>
  let drives: Awaited<ReturnType<typeof startDrives>>
  let pool: number
  let base: string
  const root = () => svc.as('root')

  before(async () => {
    drives = await startDrives()
    ;({ svc, ids, pool, base } = drives)
    await setDrives(true)
  })
  after(() => svc[Symbol.asyncDispose]())

  const setDrives = (on: boolean): Promise<void> => setShares(svc, { read_write_access: on })

  async function drive(
    settings: object = {},
  ): Promise<{ id: number; url: string; client: WebDAVClient; collection: Json }> {
    const { id, drive: url, body } = await drives.collection(settings)
    return { id, url, client: createClient(url), collection: body }
  }

  test('a client uploads, lists, reads, overwrites and deletes files', async () => {
    const { client, id } = await drive()
    const [one, two] = [await picture(), await picture()]
    assert.equal(await client.putFileContents('/a b.jpg', one), true)
    const listed = await client.getDirectoryContents('/')
    assert.deepEqual(
      (listed as Json[]).map(({ basename, type, size, mime }) => [basename, type, size, mime]),
      [['a b.jpg', 'file', one.length, 'image/jpeg']],
    )
    assert.deepEqual(await client.getFileContents('/a b.jpg'), one)
    await client.putFileContents('/a b.jpg', two)
    assert.deepEqual(await client.getFileContents('/a b.jpg'), two)
    const { body } = await svc.as('editor').get(`/collection/objects/${id}`)
    assert.equal(body.count, 1)
    await client.deleteFile('/a b.jpg')
    assert.equal(await client.exists('/a b.jpg'), false)
    const after = await svc.as('editor').get(`/collection/objects/${id}`)
    assert.equal(after.body.count, 0)
  })

  const lockBody =
    '<?xml version="1.0"?><d:lockinfo xmlns:d="DAV:"><d:lockscope><d:exclusive/></d:lockscope><d:locktype><d:write/></d:locktype><d:owner>Ada &amp; Ben</d:owner></d:lockinfo>'

  test('DAV-001 DAV-002 DAV-012: folders are collections, files are files of their objects, paths are made of display names', async () => {
    const { url, id } = await drive()
    const child = await svc
      .as('editor')
      .post('/collection', { collection: { displayname: { 'en-US': 'Sub folder' }, _id_parent: id } })
    assert.equal(child.status, 200, JSON.stringify(child.body))
    const content = await picture()
    assert.equal((await ask(`${url}Sub%20folder/x%26y.jpg`, 'PUT', {}, content)).status, 201)
    const top = await ask(url, 'PROPFIND', { depth: '1' })
    assert.equal(top.status, 207)
    assert.match(top.headers.get('content-type') ?? '', /^application\/xml/)
    assert.match(top.text, /<D:multistatus xmlns:D="DAV:">/)
    assert.deepEqual(hrefs(top.text).slice(1), ['Sub folder'])
    assert.deepEqual(hrefs((await ask(`${url}Sub%20folder`, 'PROPFIND', { depth: '1' })).text), [
      'Sub folder',
      'x&y.jpg',
    ])
    assert.equal((await ask(url.replace(/\/$/, ''), 'PROPFIND', { depth: '0' })).status, 207)
    const list = await svc.as('editor').get(`/collection/objects/${child.body.collection._id}`)
    const [entry] = list.body.objects
    const object = await root().get(`/db/photo/_all_fields/system_object_id/${entry._global_object_id.split('@')[0]}`)
    assert.equal(object.body[0].photo.image[0].original_filename, 'x&y.jpg')
  })

  test('DAV-003 ERR-025: switched off, every request is 503 WebdavNotEnabled', async () => {
    const { url } = await drive()
    await setDrives(false)
    try {
      const requests: [method: string, headers?: Record<string, string>, body?: string][] = [
        ['GET'],
        ['HEAD'],
        ['POST'],
        ['OPTIONS'],
        ['PUT', {}, 'x'],
        ['DELETE'],
        ['PROPFIND', { depth: '0' }],
        ['PROPPATCH'],
        ['MKCOL'],
        ['MOVE'],
        ['COPY'],
        ['LOCK', {}, lockBody],
        ['UNLOCK'],
      ]
      for (const [method, headers, body] of requests) {
        const answer = await ask(`${url}a.jpg`, method, headers, body)
        assert.equal(answer.status, 503, method)
        if (method !== 'HEAD') assert.equal(JSON.parse(answer.text).code, 'WebdavNotEnabled', method)
      }
    } finally {
      await setDrives(true)
    }
  })

  test('DAV-004: the address alone opens it, whatever a client sends of itself; what is made belongs to the owner', async () => {
    const { url, id } = await drive()
    const content = await picture()
    const headers = { authorization: 'Basic Z3Vlc3Q6', 'x-svc-authorization': 'Bearer no-token' }
    assert.equal((await ask(`${url}mine.jpg`, 'PUT', headers, content)).status, 201)
    const { body } = await root().get(`/collection/objects/${id}`)
    const object = await root().get(
      `/db/photo/_all_fields/system_object_id/${body.objects[0]._global_object_id.split('@')[0]}`,
    )
    assert.equal(object.body[0]._owner.user._id, ids.editor)
    // A key that nobody was given opens nothing.
    for (const key of ['00000000-0000-4000-8000-000000000000', 'x', '../..']) {
      const other = url.replace(/[^/]+\/$/, `${encodeURIComponent(key)}/`)
      assert.equal((await ask(other, 'PROPFIND', { depth: '0' })).status, 404, key)
    }
  })

  test('DAV-005: nothing is written in read-only mode, and everything is read', async () => {
    const { url } = await drive()
    const content = await picture()
    assert.equal((await ask(`${url}a.jpg`, 'PUT', {}, content)).status, 201)
    assert.equal((await ask(`${url}f`, 'MKCOL')).status, 201)
    await using readOnly = await attachService(svc.dsn, { readOnly: true, dataDir: svc.config.dataDir })
    const at = `${await readOnly.listen()}${new URL(url).pathname}`
    const writes: [method: string, path: string, headers?: Record<string, string>, body?: string][] = [
      ['PUT', 'a.jpg', {}, 'x'],
      ['PUT', 'new.jpg', {}, 'x'],
      ['DELETE', 'a.jpg'],
      ['MKCOL', 'g'],
      ['MOVE', 'f', { destination: `${at}g` }],
      ['PROPPATCH', 'a.jpg'],
      ['LOCK', 'a.jpg', {}, lockBody],
      ['UNLOCK', 'a.jpg', { 'lock-token': '<opaquelocktoken:00000000-0000-4000-8000-000000000000>' }],
    ]
    for (const [method, path, headers, body] of writes) {
      const answer = await ask(at + path, method, headers, body)
      assert.deepEqual([answer.status, JSON.parse(answer.text).code], [400, 'ReadOnlyMode'], method)
    }
    assert.deepEqual(Buffer.from(await (await fetch(`${at}a.jpg`)).arrayBuffer()), content)
    assert.deepEqual(hrefs((await ask(at, 'PROPFIND', { depth: '1' })).text).slice(1), ['f', 'a.jpg'])
  })

  test('uploads of one name at once are one file, and folders that are made at once are one', async () => {
    const { url, id } = await drive()
    const contents = ['one', 'two', 'three', 'four', 'five']
    const puts = await Promise.all(contents.map((content) => ask(`${url}same.txt`, 'PUT', {}, content)))
    assert.deepEqual(puts.map(({ status }) => status).toSorted(), [201, 204, 204, 204, 204])
    assert.equal(new Set(puts.map(({ headers }) => headers.get('x-svc-system-object-id'))).size, 1)
    assert.ok(contents.includes((await ask(`${url}same.txt`, 'GET')).text))
    assert.equal((await root().get(`/collection/objects/${id}`)).body.count, 1)
    // With `If-None-Match: *` the later ones are refused.
    const only = await Promise.all(
      contents.map((content) => ask(`${url}only.txt`, 'PUT', { 'if-none-match': '*' }, content)),
    )
    assert.deepEqual(only.map(({ status }) => status).toSorted(), [201, 412, 412, 412, 412])
    const made = await Promise.all(contents.map(() => ask(`${url}folder`, 'MKCOL')))
    assert.deepEqual(new Set(made.map(({ status }) => status)), new Set([201]))
    await ask(`${url}other`, 'MKCOL')
    const moved = await Promise.all(
      ['folder', 'other'].map((name) => ask(url + name, 'MOVE', { destination: `${url}moved` })),
    )
    assert.deepEqual(moved.map(({ status }) => status).toSorted(), [201, 409])
    const below = await svc.as('editor').get(`/collection/list/${id}`)
    const names = below.body.map((one: Json) => one.collection.displayname['en-US']).toSorted()
    assert.deepEqual([names.length, names.includes('moved')], [2, true])
    assert.deepEqual(hrefs((await ask(url, 'PROPFIND', { depth: '1' })).text).slice(-2), ['same.txt', 'only.txt'])
  })

  test('a drive is found without the prefix of the interface as well, and names what is in it by that address', async () => {
    const { url } = await drive()
    const { pathname } = new URL(url.replace('/api/v1', ''))
    assert.match(pathname, /^\/WebDAV\/[0-9a-f-]{36}\/$/)
    const short = base + pathname
    assert.equal((await ask(`${short}f`, 'MKCOL')).status, 201)
    assert.equal((await ask(`${short}a.txt`, 'PUT', {}, 'text')).status, 201)
    assert.equal((await ask(`${short}f`, 'MOVE', { destination: `${short}g` })).status, 201)
    const listed = await ask(short, 'PROPFIND', { depth: '1' })
    assert.deepEqual(
      [...listed.text.matchAll(/<D:href>([^<]*)</g)].map(([, href]) => href),
      [pathname, `${pathname}g/`, `${pathname}a.txt`],
    )
    assert.equal((await ask(`${url}a.txt`, 'GET')).text, 'text')
    const client = createClient(short)
    assert.deepEqual(((await client.getDirectoryContents('/')) as Json[]).map(({ basename }) => basename).toSorted(), [
      'a.txt',
      'g',
    ])
  })

  test('DAV-006 DAV-007 DAV-008: GET, POST and HEAD read a file and list a folder as a page', async () => {
    const { url, client } = await drive()
    const content = await picture()
    await client.createDirectory('/<b>').catch(() => client.createDirectory('/b'))
    await client.putFileContents('/one.jpg', content)
    for (const method of ['GET', 'POST']) {
      const answer = await fetch(`${url}one.jpg`, { method })
      assert.equal(answer.status, 200)
      assert.deepEqual(Buffer.from(await answer.arrayBuffer()), content)
      const page = await ask(url, method)
      assert.equal(page.status, 200)
      assert.match(page.headers.get('content-type') ?? '', /^text\/html/)
      assert.match(page.text, /<a href="\.\/one\.jpg">one\.jpg<\/a>/)
      assert.match(page.text, /<a href="\.\/b\/">b\/<\/a>/)
    }
    const head = await ask(`${url}one.jpg`, 'HEAD')
    assert.deepEqual(
      [head.status, head.headers.get('content-length'), head.headers.get('content-type'), head.text],
      [200, String(content.length), 'image/jpeg', ''],
    )
    assert.ok(head.headers.get('etag'))
    assert.ok(head.headers.get('last-modified'))
    assert.equal((await ask(`${url}two.jpg`, 'HEAD')).status, 404)
    const part = await fetch(`${url}one.jpg`, { headers: { range: 'bytes=2-9' } })
    assert.equal(part.status, 206)
    assert.deepEqual(Buffer.from(await part.arrayBuffer()), content.subarray(2, 10))
    assert.equal((await ask(`${url}one.jpg`, 'GET', { 'if-none-match': head.headers.get('etag') ?? '' })).status, 304)
  })

  test('DAV-009: PUT makes an object of the file, links it and names it; names that begin with a dot are refused', async () => {
    const { url, id } = await drive()
    const put = await ask(`${url}new.jpg`, 'PUT', {}, await picture())
    assert.equal(put.status, 201)
    const { body } = await root().get(`/collection/objects/${id}`)
    assert.equal(`${put.headers.get('x-svc-system-object-id')}`, body.objects[0]._global_object_id.split('@')[0])
    const dot = await ask(`${url}._new.jpg`, 'PUT', {}, 'x')
    assert.deepEqual([dot.status, JSON.parse(dot.text).code], [400, 'DotFilenameNotAllowed'])
    const nowhere = await ask(`${url}no/new.jpg`, 'PUT', {}, 'x')
    assert.equal(nowhere.status, 409)
    // Finder and Explorer send an empty file first.
    assert.equal((await ask(`${url}later.jpg`, 'PUT', {}, '')).status, 201)
    assert.ok(hrefs((await ask(url, 'PROPFIND', { depth: '1' })).text).includes('later.jpg'))
    assert.equal((await ask(`${url}later.jpg`, 'PUT', {}, await picture())).status, 201)
    assert.equal((await root().get(`/collection/objects/${id}`)).body.count, 2)
    const none = await drive({})
    const cleared = await svc.as('editor').post(`/collection/${none.id}`, {
      collection: { _id: none.id, _version: none.collection.collection._version, create_object: null },
    })
    assert.equal(cleared.status, 200, JSON.stringify(cleared.body))
    const refused = await ask(`${none.url}new.jpg`, 'PUT', {}, 'x')
    assert.deepEqual([refused.status, JSON.parse(refused.text).code], [400, 'CollectionUploadNoObjectFound'])
  })

  test('DAV-009: PUT on an object of several names each of them in a header', async () => {
    const { body } = await svc.as('editor').post(
      '/db/photo',
      ['a', 'b'].map(() => ({
        _objecttype: 'photo',
        _mask: 'photo__standard',
        _pool: { pool: { _id: pool } },
        photo: { title: 'both.jpg' },
      })),
      { await_index: 20 },
    )
    const { url } = await drive({ update_mode: 'update', update_search_field: 'title' })
    const put = await ask(`${url}both.jpg`, 'PUT', {}, await picture())
    assert.equal(put.status, 201, put.text)
    const named = `${put.headers.get('x-svc-system-object-id')}`.split(',').map(Number)
    assert.deepEqual(named.toSorted(), body.map((one: Json) => one._system_object_id).toSorted())
  })

  test('DAV-010: DELETE takes the file; its object goes to the trash when an upload made it and nothing else is in it', async () => {
    const { url, id } = await drive()
    const put = await ask(`${url}gone.jpg`, 'PUT', {}, await picture())
    const own = Number(put.headers.get('x-svc-system-object-id'))
    assert.equal((await ask(`${url}gone.jpg`, 'DELETE')).status, 204)
    assert.equal((await ask(`${url}gone.jpg`, 'GET')).status, 404)
    const { rows } = await svc.db.query(
      'select deleted_at is not null as trash from object where system_object_id = $1',
      [own],
    )
    assert.deepEqual(rows, [{ trash: true }])
    // Of an object that somebody made, only the file goes.
    const made = await svc.as('editor').post('/db/photo', [
      {
        _objecttype: 'photo',
        _mask: 'photo__standard',
        _pool: { pool: { _id: pool } },
        photo: { title: 'kept', image: [] },
      },
    ])
    const object = made.body[0]._system_object_id
    const objects = [{ _global_object_id: `${object}@${svc.config.databaseName}` }]
    const pushed = await svc.as('editor').post(`/collection/push/${id}`, { objects })
    assert.equal(pushed.status, 200, JSON.stringify(pushed.body))
    const sent = await fetch(
      `${base}/api/v1/eas/put?filenames=${encodeURIComponent('["kept.jpg"]')}&produce_versions=false`,
      {
        method: 'POST',
        headers: { authorization: `Bearer ${await svc.as('editor').token()}`, 'content-type': 'image/jpeg' },
        body: new Uint8Array(await picture()),
      },
    )
    const [file] = (await sent.json()) as Json[]
    const { _id, _version } = made.body[0].photo
    const linked = await svc
      .as('editor')
      .patch('/db/photo', [
        { _objecttype: 'photo', _mask: 'photo__standard', photo: { _id, _version, image: [{ _id: file?._id }] } },
      ])
    assert.equal(linked.status, 200, JSON.stringify(linked.body))
    assert.equal((await ask(`${url}kept.jpg`, 'DELETE')).status, 204)
    const after = await root().get(`/db/photo/_all_fields/system_object_id/${object}`)
    assert.deepEqual([after.body[0].photo.title, after.body[0].photo.image], ['kept', []])
    assert.equal((await ask(`${url}nothing.jpg`, 'DELETE')).status, 404)
  })

  test('a folder is deleted when it is empty', async () => {
    const { url } = await drive()
    assert.equal((await ask(`${url}f`, 'MKCOL')).status, 201)
    assert.equal((await ask(`${url}f/a.jpg`, 'PUT', {}, await picture())).status, 201)
    assert.equal((await ask(`${url}f/`, 'DELETE')).status, 409)
    assert.equal((await ask(`${url}f/a.jpg`, 'DELETE')).status, 204)
    assert.equal((await ask(`${url}f/`, 'DELETE')).status, 204)
    assert.equal((await ask(url, 'DELETE')).status, 409)
  })

  test('DAV-011: OPTIONS tells the methods, COPY and PROPPATCH among them', async () => {
    const { url } = await drive()
    const answer = await ask(url, 'OPTIONS')
    assert.equal(answer.status, 200)
    assert.equal(answer.headers.get('dav'), '1, 2')
    const methods = `${answer.headers.get('allow')}`.split(', ').toSorted()
    assert.deepEqual(
      methods,
      'COPY DELETE GET HEAD LOCK MKCOL MOVE OPTIONS POST PROPFIND PROPPATCH PUT UNLOCK'.split(' '),
    )
  })

  test('DAV-013 LIM-008: the depth of a PROPFIND is 0 or 1', async () => {
    const { url } = await drive()
    await ask(`${url}d`, 'MKCOL')
    assert.equal(hrefs((await ask(url, 'PROPFIND', { depth: '0' })).text).length, 1)
    assert.equal(hrefs((await ask(url, 'PROPFIND', { depth: '1' })).text).length, 2)
    for (const headers of [{ depth: 'infinity' }, { depth: '2' }, { depth: '' }, {}]) {
      assert.equal((await ask(url, 'PROPFIND', headers as Record<string, string>)).status, 400, JSON.stringify(headers))
    }
  })

  test('DAV-014: PROPPATCH stores nothing and answers as PROPFIND does', async () => {
    const { url } = await drive()
    await ask(`${url}p`, 'MKCOL')
    const body =
      '<propertyupdate xmlns="DAV:" xmlns:x="urn:x"><set><prop><x:color>red</x:color><displayname>other</displayname></prop></set></propertyupdate>'
    const patched = await ask(`${url}p`, 'PROPPATCH', {}, body)
    assert.equal(patched.status, 207)
    assert.match(patched.text, /<D:displayname>p<\/D:displayname>/)
    assert.match(patched.text, /<D:resourcetype><D:collection\/><\/D:resourcetype>/)
    const asked = '<propfind xmlns="DAV:" xmlns:x="urn:x"><prop><x:color/><displayname/></prop></propfind>'
    const found = await ask(`${url}p`, 'PROPFIND', { depth: '0' }, asked)
    assert.doesNotMatch(found.text, /red|other/)
    assert.match(found.text, /<color xmlns="urn:x"\/><\/D:prop><D:status>HTTP\/1\.1 404/)
  })

  test('DAV-015 DAV-016: MKCOL makes a collection, twice is once; without a parent or over a file it is 409', async () => {
    const { url, id } = await drive()
    assert.equal((await ask(`${url}made`, 'MKCOL')).status, 201)
    assert.equal((await ask(`${url}made`, 'MKCOL')).status, 201)
    const below = await svc.as('editor').get(`/collection/list/${id}`)
    assert.deepEqual(
      below.body.map((one: Json) => one.collection.displayname['en-US']),
      ['made'],
    )
    assert.equal((await ask(`${url}no/made`, 'MKCOL')).status, 409)
    await ask(`${url}file.jpg`, 'PUT', {}, await picture())
    assert.equal((await ask(`${url}file.jpg`, 'MKCOL')).status, 409)
  })

  test('DAV-017 DAV-018 DAV-019: MOVE renames a collection within its parent, and moves nothing else', async () => {
    const { url, id } = await drive()
    await ask(`${url}one`, 'MKCOL')
    await ask(`${url}two`, 'MKCOL')
    await ask(`${url}file.jpg`, 'PUT', {}, await picture())
    assert.equal((await ask(`${url}one`, 'MOVE', { destination: `${url}first` })).status, 201)
    const below = await svc.as('editor').get(`/collection/list/${id}`)
    assert.deepEqual(below.body.map((one: Json) => one.collection.displayname['en-US']).toSorted(), ['first', 'two'])
    const cases: [from: string, to: string][] = [
      ['nothing', 'other'],
      ['first', 'two'],
      ['first', 'file.jpg'],
      ['file.jpg', 'other.jpg'],
      ['first', 'two/first'],
    ]
    for (const [from, to] of cases) {
      assert.equal((await ask(`${url}${from}`, 'MOVE', { destination: `${url}${to}` })).status, 409, `${from} ${to}`)
    }
    assert.deepEqual(
      hrefs((await ask(url, 'PROPFIND', { depth: '1' })).text)
        .slice(1)
        .toSorted(),
      ['file.jpg', 'first', 'two'],
    )
  })

  test('DAV-020 DAV-021: LOCK takes and refreshes, UNLOCK gives back; others are refused with 423', async () => {
    const { url } = await drive()
    await ask(`${url}l.jpg`, 'PUT', {}, await picture())
    const taken = await ask(`${url}l.jpg`, 'LOCK', { depth: '0', timeout: 'Second-100' }, lockBody)
    assert.equal(taken.status, 201)
    const token = taken.headers.get('lock-token') ?? ''
    assert.match(token, /^<opaquelocktoken:[0-9a-f-]{36}>$/)
    assert.match(taken.text, /<D:lockdiscovery><D:activelock>.*<D:owner>Ada &amp; Ben<\/D:owner><D:timeout>Second-100</)
    assert.ok(taken.text.includes(token.slice(1, -1)))
    const refreshed = await ask(`${url}l.jpg`, 'LOCK', { if: `(${token})`, timeout: 'Second-200' })
    assert.equal(refreshed.status, 200)
    assert.equal(refreshed.headers.get('lock-token'), token)
    assert.match(refreshed.text, /<D:lockdiscovery>.*Second-(200|199)</)
    for (const [method, headers, body] of [
      ['PUT', {}, await picture()],
      ['DELETE', {}, undefined],
      ['PROPPATCH', {}, '<propertyupdate xmlns="DAV:"/>'],
      ['LOCK', { depth: '0' }, lockBody],
      ['UNLOCK', { 'lock-token': '<opaquelocktoken:00000000-0000-4000-8000-000000000000>' }, undefined],
    ] as const) {
      const refused = await ask(`${url}l.jpg`, method, headers as Record<string, string>, body)
      assert.deepEqual([refused.status, JSON.parse(refused.text).code], [423, 'ResourceLocked'], method)
    }
    assert.equal((await ask(`${url}l.jpg`, 'PUT', { if: `(${token})` }, await picture())).status, 204)
    assert.equal((await ask(`${url}l.jpg`, 'UNLOCK', { 'lock-token': token })).status, 204)
    assert.equal((await ask(`${url}l.jpg`, 'DELETE')).status, 204)
  })

  test('DAV-022: COPY is 405', async () => {
    const { url } = await drive()
    const answer = await ask(url, 'COPY', { destination: `${url}x` })
    assert.equal(answer.status, 405)
    assert.ok(answer.headers.get('allow'))
  })

  test('REC-007: a collection tells its upload addresses, by type, to who may upload; renewed ones are void', async () => {
    const { url, id, collection } = await drive()
    assert.deepEqual(
      collection._hotfolder_upload_urls.map(({ type }: Json) => type),
      ['webdav'],
    )
    assert.ok(!url.includes(collection.collection.uuid))
    await root().post(`/collection/${id}`, {
      collection: { _id: id, _version: collection.collection._version },
      _acl: [wireGrant(toUser(ids.reader as number), 'bag_read link')],
    })
    const shown = await svc.as('reader').get(`/collection/${id}`)
    assert.equal(shown.status, 200, JSON.stringify(shown.body))
    assert.equal(shown.body._hotfolder_upload_urls, undefined)
    const current = await svc.as('editor').get(`/collection/${id}`)
    const renewed = await svc.as('editor').post(`/collection/${id}`, {
      collection: { _id: id, _version: current.body.collection._version },
      _renew_upload_urls: true,
    })
    assert.equal(renewed.status, 200, JSON.stringify(renewed.body))
    const after = await svc.as('editor').get(`/collection/${id}`)
    const fresh = base + new URL(after.body._hotfolder_upload_urls[0].url).pathname
    assert.notEqual(fresh, url)
    assert.equal((await ask(url, 'PROPFIND', { depth: '0' })).status, 404)
    assert.equal((await ask(fresh, 'PROPFIND', { depth: '0' })).status, 207)
  })

  test('the uuid of a collection opens it until somebody else has a grant on it or above it', async () => {
    const { url, id, collection } = await drive()
    const below = await svc.as('editor').post('/collection', { collection: { _id_parent: id } })
    assert.equal(below.status, 200, JSON.stringify(below.body))
    const opened = async ({ uuid }: Json): Promise<number> =>
      (await ask(url.replace(/[^/]+\/$/, `${uuid}/`), 'PROPFIND', { depth: '0' })).status
    assert.deepEqual([await opened(collection.collection), await opened(below.body.collection)], [207, 207])
    const shared = await root().post(`/collection/${id}`, {
      collection: { _id: id, _version: collection.collection._version },
      _acl: [wireGrant(toUser(ids.reader as number), 'bag_read')],
    })
    assert.equal(shared.status, 200, JSON.stringify(shared.body))
    assert.deepEqual([await opened(collection.collection), await opened(below.body.collection)], [404, 404])
    assert.equal((await ask(url, 'PROPFIND', { depth: '0' })).status, 207)
  })

  test('hostile paths and bodies are refused, and nothing is a 500', async () => {
    const { url } = await drive()
    for (const path of ['a%2Fb.jpg', 'a%00.jpg', '%FF.jpg', 'a%5Cb', 'con', 'a:b', 'x.', `${'y'.repeat(300)}.jpg`]) {
      const answer = await ask(url + path, 'PUT', {}, 'x')
      assert.equal(answer.status, 400, `${path} ${answer.status}`)
    }
    const bodies = [
      '<!DOCTYPE a [<!ENTITY x "y">]><propfind xmlns="DAV:">&x;</propfind>',
      '<propfind',
      '<propfind xmlns="other:"/>',
      '<a:propfind xmlns:b="DAV:"/>',
      `${'<a xmlns="DAV:">'.repeat(200)}`,
      `<propfind xmlns="DAV:"><prop>${'<x/>'.repeat(500)}</prop></propfind>`,
      '\ud800\udfff\u0000',
    ]
    for (const body of bodies) {
      assert.equal((await ask(url, 'PROPFIND', { depth: '0' }, body)).status, 400, body.slice(0, 60))
    }
    assert.equal((await ask(url, 'PROPFIND', { depth: '0' }, 'x'.repeat(70_000))).status, 413)
    for (const header of ['(', '(<a>', '(Nope)', 'x', `(${'<a>'.repeat(5000)})`]) {
      assert.equal((await ask(`${url}i.jpg`, 'PUT', { if: header }, 'x')).status, 400, header.slice(0, 20))
    }
  })
})
