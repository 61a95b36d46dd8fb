import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { after, before, suite, test } from 'node:test'
import type { Json, Query } from '../support/client.ts'
import { assertEventFlags } from '../support/event-flags.ts'
import { attachService, startService, type TestService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { fetched, notePriorities, picture, sha256 } from './support.ts'

type Answer = (request: IncomingMessage, response: ServerResponse) => void

/** A web server whose answers the test says, by path. */
async function startWeb(resources: AsyncDisposableStack) {
  const answers = new Map<string, Answer>()
  const asked: string[] = []
  const server = createServer((request, response) => {
    const path = request.url?.split('?')[0] ?? ''
    asked.push(`${request.method} ${path}`)
    const answer = answers.get(path)
    if (answer) answer(request, response)
    else response.writeHead(404).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  resources.defer(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const { port } = server.address() as AddressInfo
  return { answers, asked, port, url: `http://127.0.0.1:${port}` }
}

suite('files from addresses', () => {
  const resources = new AsyncDisposableStack()
  let svc: TestService
  let web: Awaited<ReturnType<typeof startWeb>>
  before(async () => {
    web = await startWeb(resources)
    svc = resources.use(
      await startService({
        slowGrace: 1,
        leastRate: 1000,
        blockedFileHosts: ['localhost', '127.0.0.9', '127.7.0.0/16'],
      }),
    )
  })
  before(async () => {
    const groups = 'ADMIN DOWNLOAD EXPORT FRONTEND INDEX LOGIN_LOGOUT PLUGIN SYSTEM TASK UPLOAD'.split(' ')
    const { status } = await root().post('/config/system/config/user/user_in_event_group', groups)
    assert.equal(status, 200)
  })
  after(() => resources.disposeAsync())

  const root = () => svc.as('root')
  const rput = (query: Query, login: string | null = 'root') => svc.as(login).post('/eas/rput', undefined, query)
  const gives =
    (content: Buffer, headers: Record<string, string> = {}): Answer =>
    (_, response) =>
      response.writeHead(200, { 'content-length': content.length, ...headers }).end(content)
  const stored = async () =>
    (await readdir(join(svc.config.dataDir, 'files'), { recursive: true, withFileTypes: true }).catch(() => []))
      .filter((entry) => entry.isFile())
      .map(({ name }) => name)
  const eventsOf = async (id: number) =>
    (
      await svc.db.query<{ type: string; info: Json; user: number | null; pollable: boolean }>(
        `select type, info, user_id as user, pollable from event where basetype = 'file' and object_id = $1 order by id`,
        [id],
      )
    ).rows

  test('EVENT-023 one file is fetched, stored and answered; its name is in the header, the address or the type; the log says where it came from and where it lies', async () => {
    const content = await picture()
    web.answers.set('/a/header', gives(content, { 'content-disposition': 'attachment; filename="from header.jpg"' }))
    web.answers.set('/a/caf%C3%A9.jpg', gives(content))
    web.answers.set('/a/type', gives(content, { 'content-type': 'image/jpeg; x=y' }))
    web.answers.set('/', gives(content, { 'content-type': 'image/jpeg' }))
    web.answers.set('/moved', (_, response) => response.writeHead(302, { location: '/a/caf%C3%A9.jpg' }).end())
    const cases: [string, Query, string][] = [
      ['/a/header', {}, 'from header.jpg'],
      ['/a/caf%C3%A9.jpg?token=5', {}, 'café.jpg'],
      ['/a/type', {}, 'type.jpg'],
      ['/', {}, 'file.jpg'],
      ['/moved', {}, 'café.jpg'],
      ['/a/header', { filename: 'own' }, 'own.jpg'],
      ['/a/header', { filename: 'own.jpeg' }, 'own.jpeg'],
      ['/a/header', { filename: 'as it is', skip_head_request: true }, 'as it is'],
    ]
    for (const [path, more, name] of cases) {
      const { status, body } = await rput({ url: web.url + path, ...more })
      assert.equal(status, 200, JSON.stringify(body))
      assert.equal(body.length, 1)
      assert.equal(body[0].original_filename, name, path)
      assert.equal(body[0].hash, sha256(content))
      assert.ok((await fetched(svc, body[0].versions.original.url)).content.equals(content))
    }
    const { body } = await rput({
      url: `${web.url}/a/type`,
      reference: 'web:1',
      priority: 2,
      produce_versions: false,
      generate_metadata: true,
    })
    assert.deepEqual([body[0].status, Object.keys(body[0].versions)], ['done', ['original']])
    assert.equal(body[0].reference, 'web:1')
    const [first, second, ...others] = await eventsOf(body[0]._id)
    assert.deepEqual(others, [])
    assert.deepEqual(
      [first, second].map((event) => [event?.user, event?.pollable]),
      [
        [1, false],
        [null, false],
      ],
    )
    assert.equal(first?.type, 'FILE_UPLOAD_REMOTE')
    assert.equal(first?.info.file.remote_url, `${web.url}/a/type`)
    assert.equal(first?.info.file.leave, false)
    assert.equal(second?.type, 'FILE_MOVE')
    const { startet, took, ...info } = second?.info ?? {}
    assert.ok(Date.parse(startet) > 0 && took >= 0)
    assert.deepEqual(info, {
      remote_url: `${web.url}/a/type`,
      location_key: 'file',
      location_id: 1,
      size: content.length,
    })
    await assertEventFlags(svc, ['FILE_MOVE'], { userLogged: false, pollable: false })
  })

  test('leave: the content stays where it is, is delivered from there, and noticed when it is another', async () => {
    const content = await picture(40, 40)
    let now = content
    web.answers.set('/left.jpg', (request, response) => {
      const [, from, to] = /bytes=(\d+)-(\d+)/.exec(request.headers.range ?? '') ?? []
      if (from === undefined) return gives(now, { etag: `"${sha256(now)}"` })(request, response)
      const part = now.subarray(Number(from), Number(to) + 1)
      response.writeHead(206, { 'content-range': `bytes ${from}-${to}/${now.length}`, 'content-length': part.length })
      response.end(part)
    })
    web.answers.set('/same.jpg', gives(content))
    await svc.drain()
    const before = await stored()
    const { body, status } = await rput({ url: `${web.url}/left.jpg`, leave: true, produce_versions: false })
    assert.equal(status, 200, JSON.stringify(body))
    assert.equal((await rput({ url: `${web.url}/same.jpg`, leave: true, produce_versions: false })).status, 200)
    assert.deepEqual(await stored(), before)
    const [{ versions, hash, filesize, class: kind }] = body
    assert.deepEqual([hash, filesize, kind], [sha256(content), content.length, 'image'])
    assert.ok((await fetched(svc, versions.original.url)).content.equals(content))
    const part = await fetched(svc, versions.original.url, { range: 'bytes=10-19' })
    assert.equal(part.status, 206)
    assert.ok(part.content.equals(content.subarray(10, 20)))
    // The same content lies at a second address: one of both is enough, also where ranges are not known.
    now = await picture(41, 40)
    assert.ok((await fetched(svc, versions.original.url)).content.equals(content))
    const again = await fetched(svc, versions.original.url, { range: 'bytes=10-19' })
    assert.ok(again.content.equals(content.subarray(10, 20)))
    web.answers.delete('/same.jpg')
    assert.equal((await fetched(svc, versions.original.url)).status, 503)
    const [event] = await eventsOf(body[0]._id)
    assert.deepEqual([event?.type, event?.info.file.leave], ['FILE_UPLOAD_REMOTE', true])
    const { body: list } = await root().get('/system/location/list')
    assert.deepEqual(
      list.map(({ name }: Json) => name),
      ['file'],
    )
    const config = { location_defaults: { originals: ':remote' } }
    assert.equal((await root().post('/config/system/config', config)).status, 400)
  })

  test('leave: an address with a secret is stored sealed, also one of a release before, and asked as it is', async () => {
    const content = await picture(20, 20)
    const answers = new Set(['token=first', 'token=second', 'token=third'])
    web.answers.set('/signed.jpg', (request, response) => {
      if (answers.has(request.url?.split('?')[1] ?? '')) gives(content)(request, response)
      else response.writeHead(403).end()
    })
    const left = (token: string) =>
      rput({ url: `${web.url}/signed.jpg?token=${token}`, leave: true, produce_versions: false })
    const { body, status } = await left('first')
    assert.equal(status, 200, JSON.stringify(body))
    const places = async () => {
      const { rows } = await svc.db.query<{ url: string; whole: boolean }>(
        `select url, sealed is not null as whole from file_remote where url like '%signed.jpg%'`,
      )
      return rows
    }
    const shown = [{ url: `${web.url}/signed.jpg?token=***`, whole: true }]
    assert.deepEqual(await places(), shown)
    const { url } = body[0].versions.original
    assert.ok((await fetched(svc, url)).content.equals(content))
    assert.ok(!JSON.stringify(await eventsOf(body[0]._id)).includes('token=first'))
    // A later signature of the same address is the one that is asked with.
    assert.equal((await left('second')).status, 200)
    answers.delete('token=first')
    assert.deepEqual(await places(), shown)
    assert.ok((await fetched(svc, url)).content.equals(content))
    const plain = (tokens: readonly string[]) =>
      svc.db.query(
        `with former as (delete from file_remote where url like '%signed.jpg%' returning sha256)
         insert into file_remote (sha256, url) select sha256, $1 || t from former, unnest($2::text[]) as t`,
        [`${web.url}/signed.jpg?token=`, tokens],
      )
    await plain(['third', 'third&x=1'])
    const options = { dataDir: svc.config.dataDir }
    {
      await using next = await attachService(svc.dsn, options)
      assert.deepEqual(
        (await places()).map((place) => place.url).sort(),
        ['***', '***&x=1'].map((end) => `${web.url}/signed.jpg?token=${end}`),
      )
      assert.ok((await fetched(next, url)).content.equals(content))
    }
    const other = 'another key, of thirty-two letters'
    {
      await using lost = await attachService(svc.dsn, { ...options, secretKey: other })
      assert.equal((await fetched(lost, url)).status, 403, 'the signature of our own address ends, too')
      const authorization = `Bearer ${await root().token()}`
      assert.equal((await fetched(lost, url.split('?')[0], { authorization })).status, 503)
    }
    {
      await using changed = await attachService(svc.dsn, {
        ...options,
        secretKey: other,
        secretKeyBefore: svc.config.secretKey,
      })
      assert.ok((await fetched(changed, url)).content.equals(content))
    }
    await using only = await attachService(svc.dsn, { ...options, secretKey: other })
    assert.ok((await fetched(only, url)).content.equals(content), 'sealed anew')
  })

  test('each of many has its own name, place, renditions and versions; the priority is that of all', async () => {
    const contents = await Promise.all([0, 1, 2, 3].map(() => picture(14, 14)))
    for (const [index, content] of contents.entries()) web.answers.set(`/bulk/${index}.jpg`, gives(content))
    const url = (index: number) => `${web.url}/bulk/${index}.jpg`
    const bulk = (list: object[], query: Query = {}) => root().post('/eas/rput/bulk', list, query)
    const plain = { produce_versions: false }
    const { status, body } = await bulk([
      { ...plain, url: url(0), filename: 'own' },
      { ...plain, url: url(1), filename: 'as it is', skip_head_request: true, generate_metadata: true },
      { ...plain, url: url(2), leave: true },
    ])
    assert.equal(status, 200, JSON.stringify(body))
    const [first, , left] = body
    assert.deepEqual(
      body.map((file: Json) => file.original_filename),
      ['own.jpg', 'as it is', '2.jpg'],
    )
    const [event] = await eventsOf(left._id)
    assert.equal(event?.info.file.leave, true)
    await svc.drain()
    const versions = async () => Object.keys((await root().get(`/eas/${first._id}`)).body.versions).toSorted()
    assert.deepEqual(await versions(), ['original'])
    const below = await bulk([{ ...plain, url: url(3), id_parent: first._id }])
    assert.equal(below.body[0].eas_parent_id, first._id)
    const extra = await bulk([{ ...plain, url: url(3), id_parent: first._id, version_name: 'extra' }])
    assert.equal(extra.body[0]._id, first._id, JSON.stringify(extra.body))
    assert.deepEqual(await versions(), ['extra', 'original'])
    assert.equal((await bulk([{ url: url(0), generate_metadata: false }])).status, 400)

    await using priorities = await notePriorities(svc)
    const made = await picture(16, 16)
    web.answers.set('/bulk/made.jpg', gives(made))
    const query = { url: `${web.url}/bulk/made.jpg`, priority: -7 }
    assert.equal((await rput(query)).status, 200)
    assert.equal((await priorities.taken())[0], -7)
    web.answers.set('/bulk/made.jpg', gives(await picture(17, 17)))
    assert.equal((await bulk([{ url: query.url }], { priority: -8 })).status, 200)
    assert.equal((await priorities.taken())[0], -8)
  })

  test('blocked and private hosts are refused: by name, by address, behind a redirect, after resolution', async () => {
    web.answers.set('/ok.txt', gives(Buffer.from('text')))
    const to =
      (location: string): Answer =>
      (_, response) =>
        response.writeHead(307, { location }).end()
    web.answers.set('/to-name', to(`http://localhost:${web.port}/ok.txt`))
    web.answers.set('/to-address', to(`http://127.0.0.9:${web.port}/ok.txt`))
    web.answers.set('/to-network', to(`http://127.7.1.1:${web.port}/ok.txt`))
    web.answers.set('/to-file', to('file:///etc/passwd'))
    web.answers.set('/to-password', to(`http://a:b@127.0.0.1:${web.port}/ok.txt`))
    assert.equal((await rput({ url: `${web.url}/ok.txt` })).status, 200)
    const before = web.asked.length
    for (const url of [
      `http://localhost:${web.port}/ok.txt`,
      `http://LOCALHOST.:${web.port}/ok.txt`,
      `http://127.0.0.9:${web.port}/ok.txt`,
      `http://0x7f000009:${web.port}/ok.txt`,
      `http://127.7.255.1:${web.port}/ok.txt`,
    ]) {
      const { status, body } = await rput({ url })
      assert.deepEqual([status, body.code], [400, 'EasRputError'], url)
      assert.equal(body.parameters.msg, 'the address is not allowed')
    }
    assert.equal(web.asked.length, before, 'nothing was asked')
    for (const path of ['/to-name', '/to-address', '/to-network', '/to-file', '/to-password']) {
      const { status, body } = await rput({ url: web.url + path })
      assert.deepEqual([status, body.code], [400, 'EasRputError'], path)
    }
    assert.deepEqual(
      web.asked.slice(before).filter((line) => line.includes('ok.txt')),
      [],
    )
    await using strict = await startService({ allowPrivateFiles: false })
    for (const host of ['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]', '169.254.169.254', '10.0.0.1']) {
      const query = { url: `http://${host}:${web.port}/ok.txt` }
      const { status, body } = await strict.as('root').post('/eas/rput', undefined, query)
      assert.deepEqual([status, body.code], [400, 'EasRputError'], host)
    }
    assert.ok(!web.asked.slice(before).some((line) => line.includes('ok.txt')))
  })

  test('what cannot be fetched leaves nothing', async () => {
    web.answers.set('/broken', (_, response) => {
      response.writeHead(200, { 'content-length': 1_000_000 }).write('x'.repeat(200_000), () => response.destroy())
    })
    web.answers.set('/silent', () => {})
    web.answers.set('/slow.bin', (_, response) => {
      response.writeHead(200, { 'content-length': 1_000_000 }).write('x')
    })
    web.answers.set('/packed', gives(Buffer.from('x'), { 'content-encoding': 'gzip' }))
    web.answers.set('/empty', gives(Buffer.alloc(0)))
    web.answers.set('/loop', (_, response) => response.writeHead(301, { location: '/loop' }).end())
    web.answers.set('/nameless/', gives(Buffer.from('x')))
    await svc.drain()
    const before = await stored()
    const wrong: [Query, string][] = [
      [{ url: `${web.url}/missing` }, 'EasRputError'],
      [{ url: `${web.url}/broken` }, 'EasRputError'],
      [{ url: `${web.url}/slow.bin` }, 'EasRputError'],
      [{ url: `${web.url}/packed` }, 'EasRputError'],
      [{ url: `${web.url}/loop` }, 'EasRputError'],
      [{ url: 'http://127.0.0.1:1/a' }, 'EasRputError'],
      [{ url: `${web.url}/empty` }, 'EasRputErrorContentLength'],
      [{ url: `${web.url}/nameless/` }, 'EasEmptyFilename'],
      [{ url: `${web.url}/nameless/`, filename: '..' }, 'EasInvalidFilename'],
      [{ url: `${web.url}/a`, skip_head_request: true }, 'SkipHeadRequestError'],
      [{ url: `${web.url}/a`, id_parent: 99999 }, 'EasNoParentID'],
      [{ url: 'ftp://example.org/a' }, 'EasInvalidURL'],
      [{ url: 'a.jpg' }, 'EasInvalidURL'],
      [{ url: 'http://user:password@example.org/a' }, 'EasInvalidURL'],
      [{ url: `${web.url}/a`, generate_metadata: false }, 'ServerGeneric'],
      [{ url: `${web.url}/a`, version_name: 'extra' }, 'EasNoParentID'],
      [{ url: `${web.url}/a`, version_name: 'A b', id_parent: 1 }, 'ServerGeneric'],
    ]
    const loops = web.asked.length
    for (const [query, code] of wrong) {
      const { status, body } = await rput(query)
      assert.equal(body.code, code, JSON.stringify(query))
      assert.equal(status, 400)
    }
    assert.equal(web.asked.slice(loops).filter((line) => line.endsWith('/loop')).length, 6)
    const metadata = await root().post('/eas/rput', { _technical_metadata: { width: 5 } }, { url: `${web.url}/ok.txt` })
    assert.equal(metadata.status, 400)
    assert.deepEqual(await stored(), before)
    const { rows } = await svc.db.query(`select 1 from event where type = 'FILE_UPLOAD_ERROR'`)
    assert.ok(rows.length > 5)
  })

  test('EVENT-024 what could not be copied is told, of nobody, and not to those who poll', async () => {
    web.answers.set('/breaks.jpg', (_, response) => {
      response.writeHead(200, { 'content-length': 1000 }).write('x', () => response.destroy())
    })
    const { rows } = await svc.db.query<{ id: number }>('select max(id) as id from event')
    const since = rows[0]?.id ?? 0
    assert.equal((await rput({ url: `${web.url}/breaks.jpg`, leave: true })).body.code, 'EasRputError')
    const { body } = await rput({ url: `${web.url}/breaks.jpg` })
    assert.equal(body.code, 'EasRputError')
    let told: Json[] = []
    await until(async () => {
      const query = { id: `${since + 1}-999999999`, type: 'FILE_MOVE_ERROR' }
      told = (await root().get('/event/list', query)).body.objects
      return told.length > 0
    })
    assert.equal(told.length, 1, 'what was to stay where it is was not to be copied')
    const [{ event, ...rest }] = told as [Json]
    assert.deepEqual(event.info, {
      remote_url: `${web.url}/breaks.jpg`,
      location_key: 'file',
      location_id: 1,
      error: body.message,
    })
    assert.deepEqual([event.pollable, rest.user, event.user], [false, undefined, undefined])
    const polled = (await root().get(`/event/poll/${since}`, { limit: 1000 })).body
    assert.ok(polled.every((each: Json) => each.event.type !== 'FILE_MOVE_ERROR'))
    await assertEventFlags(svc, ['FILE_MOVE_ERROR'], { userLogged: false, pollable: false })
  })

  test('rights and limits are those of an upload, before anything is read', async () => {
    web.answers.set('/large.bin', (_, response) => {
      response.writeHead(200, { 'content-length': 500_000_000 })
      response.write(Buffer.alloc(1000))
    })
    web.answers.set('/noDeadline.bin', (_, response) => {
      response.writeHead(200)
      const noDeadline = new Readable({ read: () => noDeadline.push(Buffer.alloc(100_000)) })
      noDeadline.pipe(response).on('close', () => noDeadline.destroy())
    })
    const limit = { produce_config: { value: { uploadmaxfilesize: '1MB' } } }
    assert.equal((await root().post('/config/system/config', limit)).status, 200)
    for (const path of ['/large.bin', '/noDeadline.bin']) {
      const { status, body } = await rput({ url: web.url + path })
      assert.deepEqual([status, body.code], [400, 'FileLimitExceeded'], path)
    }
    await root().post('/config/system/config', { produce_config: { value: { uploadmaxfilesize: '0' } } })
    await root().post('/user', [{ user: { login: 'visitor' }, _password: 'visitor' }])
    const asked = web.asked.length
    const refused = await rput({ url: `${web.url}/ok.txt` }, 'visitor')
    assert.deepEqual([refused.status, refused.body.code], [403, 'RightRequired'])
    assert.equal((await rput({ url: web.url }, null)).status, 401)
    assert.equal(web.asked.length, asked)
  })

  test('many at once: all or none, in their order; a known reference stands for its file where that is asked for', async () => {
    const contents = await Promise.all(Array.from({ length: 9 }, () => picture(12, 12)))
    for (const [index, content] of contents.entries()) web.answers.set(`/many/${index}.jpg`, gives(content))
    const list = contents.map((_, index) => ({ url: `${web.url}/many/${index}.jpg`, reference: `many:${index}` }))
    await svc.drain()
    const before = await stored()
    const none = await root().post('/eas/rput/bulk', [...list, { url: `${web.url}/missing` }])
    assert.equal(none.body.code, 'EasRputError')
    assert.deepEqual(await stored(), before)
    const { status, body } = await root().post('/eas/rput/bulk', list)
    assert.equal(status, 200, JSON.stringify(body))
    assert.deepEqual(
      body.map(({ hash }: Json) => hash),
      contents.map(sha256),
    )
    const refused = await root().post('/eas/rput/bulk', list.slice(0, 2))
    assert.equal(refused.body.code, 'DatabaseUniqueKeyViolation')
    const asked = web.asked.length
    const again = [list[1], { url: `${web.url}/many/0.jpg`, reference: 'new' }, { url: web.url, reference: 'new' }]
    const mixed = await root().post('/eas/rput/bulk', again, { skip_duplicate_reference: true })
    assert.equal(mixed.status, 200, JSON.stringify(mixed.body))
    const ids = mixed.body.map(({ _id }: Json) => _id)
    assert.equal(ids[0], body[1]._id)
    assert.equal(ids[1], ids[2])
    for (const file of mixed.body) assert.deepEqual(file._duplicates, [{ _id: file._id, certainty: 1 }])
    assert.equal(web.asked.length, asked + 1)
    const { body: one } = await rput({ url: web.url, reference: 'new', skip_duplicate_reference: true })
    assert.equal(one[0]._id, ids[1])
    for (const wrong of [[], {}, [{}], [{ url: 5 }], [{ url: web.url, metadata: { width: 1 } }]]) {
      assert.equal((await root().post('/eas/rput/bulk', wrong)).status, 400, JSON.stringify(wrong))
    }
  })
})
