import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { after, before, suite, test } from 'node:test'
import { Upload, type UploadOptions } from 'tus-js-client'
import type { Json } from '../support/client.ts'
import { sendRaw } from '../support/raw.ts'
import { attachService, startService, type TestService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { startS3 } from './s3-server.ts'
import { fetched, picture, sha256 } from './support.ts'

const pieces = 'application/offset+octet-stream'
const tus = { 'tus-resumable': '1.0.0' }
const metadata = (values: Record<string, string>) =>
  Object.entries(values)
    .map(([key, value]) => `${key} ${Buffer.from(value).toString('base64')}`)
    .join(',')

suite('uploads in pieces', () => {
  const resources = new AsyncDisposableStack()
  let svc: TestService
  before(async () => {
    svc = resources.use(await startService())
    await svc.as('root').post('/user', [{ user: { login: 'visitor' }, _password: 'visitor' }])
  })
  after(() => resources.disposeAsync())

  async function send(
    method: 'POST' | 'PATCH' | 'HEAD' | 'DELETE' | 'OPTIONS',
    path: string,
    headers: Record<string, string | number> = {},
    payload?: Buffer,
    { login = 'root', at = svc } = {},
  ) {
    const authorization = `Bearer ${await at.as(login).token()}`
    const answer = await at.inject({
      method,
      url: path,
      headers: { ...tus, authorization, ...headers },
      ...(payload ? { payload } : {}),
    })
    const offset = answer.headers['upload-offset']
    const code = answer.body === '' ? '' : (answer.json() as Json).code
    return { status: answer.statusCode, headers: answer.headers, offset: Number(offset), code }
  }

  const start = (size: number, values: Record<string, string>, more: Record<string, string> = {}, payload?: Buffer) =>
    send('POST', '/api/v1/eas/tus', { 'upload-length': size, 'upload-metadata': metadata(values), ...more }, payload)
  const patch = (path: string, offset: number, payload: Buffer, login = 'root') =>
    send('PATCH', path, { 'upload-offset': offset, 'content-type': pieces }, payload, { login })
  const record = async (id: unknown) => (await svc.as('root').get(`/eas/${id}`)).body

  test('a client that can only POST says in X-HTTP-Method-Override what it means', async () => {
    const content = randomBytes(1000)
    const begun = await start(content.length, { filename: 'a.bin' })
    const path = String(begun.headers.location)
    const override = (method: string, more: Record<string, string | number> = {}, payload?: Buffer) =>
      send('POST', path, { 'x-http-method-override': method, ...more }, payload)
    const piece = { 'upload-offset': 0, 'content-type': pieces }
    const first = await override('PATCH', piece, content.subarray(0, 400))
    assert.deepEqual([first.status, first.offset], [204, 400])
    const looked = await override('head')
    assert.deepEqual([looked.status, looked.offset, looked.headers['upload-length']], [200, 400, '1000'])
    assert.equal((await send('HEAD', path)).offset, 400)
    for (const wrong of ['', 'GET', 'toString', 'POST']) {
      const refused = await override(wrong, piece, content.subarray(400))
      assert.deepEqual([refused.status, refused.code], [400, 'ServerGeneric'], wrong)
    }
    assert.equal((await send('POST', path)).status, 400)
    assert.equal((await send('DELETE', path, { 'x-http-method-override': 'HEAD' })).status, 400)
    const other = await send('POST', path, { 'x-http-method-override': 'DELETE' }, undefined, { login: 'visitor' })
    assert.equal(other.status, (await send('DELETE', path, {}, undefined, { login: 'visitor' })).status)
    assert.equal((await send('HEAD', path)).offset, 400, 'nothing of that has changed it')
    assert.equal((await override('DELETE')).status, 204)
    assert.equal((await send('HEAD', path)).status, 404)
  })

  test('a file comes in pieces, on any process, and becomes what one request would have made of it', async () => {
    await using other = await attachService(svc.dsn, { dataDir: svc.config.dataDir })
    const content = await picture(400, 400)
    const begun = await start(content.length, { filename: 'été.jpg', reference: 'tus:1', filetype: 'image/jpeg' })
    assert.equal(begun.status, 201)
    assert.equal(begun.headers['tus-resumable'], '1.0.0')
    const path = String(begun.headers.location)
    assert.match(path, /^\/api\/v1\/eas\/tus\/[\da-f-]{36}$/)
    assert.ok(Date.parse(String(begun.headers['upload-expires'])) > Date.now())
    const steps = [0, 1, 70_000, content.length]
    for (const [index, end] of steps.entries()) {
      if (index === 0) continue
      const from = Number(steps[index - 1])
      const at = index % 2 ? svc : other
      const headers = { 'upload-offset': from, 'content-type': pieces }
      const sent = await send('PATCH', path, headers, content.subarray(from, end), { at })
      assert.deepEqual([sent.status, sent.offset], [204, end], sent.code)
      const head = await send('HEAD', path)
      assert.deepEqual([head.status, head.offset, head.headers['upload-length']], [200, end, `${content.length}`])
      assert.equal(head.headers['cache-control'], 'no-store')
      assert.equal(head.headers['x-svc-file-id'] === undefined, end < content.length)
    }
    const id = (await send('HEAD', path)).headers['x-svc-file-id']
    const file = await record(id)
    assert.deepEqual(
      [file.original_filename, file.reference, file.class, file.hash],
      ['été.jpg', 'tus:1', 'image', sha256(content)],
    )
    assert.ok((await fetched(svc, file.versions.original.url)).content.equals(content))
    const { rows } = await svc.db.query(`select 1 from event where type = 'FILE_UPLOAD' and object_id = $1`, [id])
    assert.equal(rows.length, 1)
    // Sent again it is what it was.
    assert.equal((await patch(path, content.length, Buffer.alloc(0))).headers['x-svc-file-id'], id)
    assert.equal((await send('DELETE', path)).status, 204)
    assert.equal((await send('HEAD', path)).status, 404)
    assert.equal((await record(id))._id, Number(id))
  })

  test('what comes in one piece lies there once; an empty file has none', async () => {
    const content = await picture()
    const type = { 'content-type': pieces }
    const whole = await start(content.length, { name: 'a.jpg' }, type, content)
    assert.deepEqual([whole.status, whole.offset], [201, content.length])
    const file = await record(whole.headers['x-svc-file-id'])
    assert.ok((await fetched(svc, file.versions.original.url)).content.equals(content))
    const { rows } = await svc.db.query(`select 1 from file_blob where size = $1`, [content.length])
    assert.equal(rows.length, 1)
    const empty = await start(0, { filename: 'empty.txt' })
    assert.equal((await record(empty.headers['x-svc-file-id'])).filesize, 0)
  })

  test('a request that breaks off keeps what came, and the next goes on there', async () => {
    const content = randomBytes(600_000)
    const port = Number(new URL(await svc.listen()).port)
    const begun = await start(content.length, { filename: 'film.bin' })
    const path = String(begun.headers.location)
    const headers = {
      ...tus,
      authorization: `Bearer ${await svc.as('root').token()}`,
      'upload-offset': 0,
      'content-type': pieces,
      'content-length': content.length,
    }
    const broken = sendRaw({ port, method: 'PATCH', path, headers })
    broken.socket.write(content.subarray(0, 250_000))
    await until(async () => broken.socket.bytesWritten > 250_000)
    // All of it has left this side; the service keeps as much as has reached it.
    broken.socket.end()
    await once(broken.socket, 'close')
    await until(async () => (await send('HEAD', path)).offset > 0)
    const { offset } = await send('HEAD', path)
    assert.ok(offset <= 250_000)
    const rest = await patch(path, offset, content.subarray(offset))
    assert.equal(rest.status, 204, rest.code)
    const file = await record(rest.headers['x-svc-file-id'])
    assert.equal(file.hash, sha256(content))
  })

  test('pieces go on where it is, and nowhere else; two at a time make one', async () => {
    const content = randomBytes(5000)
    const begun = await start(content.length, { filename: 'a.bin' })
    const path = String(begun.headers.location)
    for (const wrong of [1, 5000, 9000]) {
      const answer = await patch(path, wrong, content)
      assert.deepEqual([answer.status, answer.code], [409, 'UploadConflict'])
    }
    const both = await Promise.all([patch(path, 0, content), patch(path, 0, content)])
    assert.ok(both.some(({ status }) => status === 204))
    const { headers, offset } = await send('HEAD', path)
    assert.equal(offset, 5000)
    const { rows } = await svc.db.query(`select 1 from file_version where sha256 = decode($1, 'hex')`, [
      sha256(content),
    ])
    assert.equal(rows.length, 1)
    assert.equal((await record(headers['x-svc-file-id'])).hash, sha256(content))
    const longer = await start(100, { filename: 'b.bin' })
    const tooMuch = await patch(String(longer.headers.location), 0, content)
    assert.deepEqual([tooMuch.status, tooMuch.code], [413, 'PayloadTooLarge'])
    assert.equal((await send('HEAD', String(longer.headers.location))).offset, 0)
  })

  test('rights and limits are those of any upload; nobody else sees it', async () => {
    const begun = await start(100, { filename: 'a.bin' })
    const path = String(begun.headers.location)
    for (const method of ['HEAD', 'DELETE'] as const) {
      assert.equal((await send(method, path, {}, undefined, { login: 'visitor' })).status, 404)
    }
    assert.equal((await patch(path, 0, Buffer.alloc(5), 'visitor')).status, 404)
    const headers = { 'upload-length': 5, 'upload-metadata': metadata({ filename: 'a.jpg' }) }
    const refused = await send('POST', '/api/v1/eas/tus', headers, undefined, { login: 'visitor' })
    assert.deepEqual([refused.status, refused.code], [403, 'RightRequired'])
    const limit = (size: string) =>
      svc.as('root').post('/config/system/config', {
        produce_config: { value: { uploadmaxfilesize: size, uploadallowunknown: size === '0' } },
      })
    assert.equal((await limit('1kB')).status, 200)
    const large = await start(2000, { filename: 'a.jpg' })
    assert.deepEqual([large.status, large.code], [413, 'PayloadTooLarge'])
    assert.equal((await start(100, { filename: 'a.xyz' })).code, 'UploadError')
    // Only the content tells that this is no picture: then the upload is gone.
    const program = Buffer.concat([Buffer.from('MZ'), randomBytes(300)])
    const lying = await start(program.length, { filename: 'a.jpg' })
    assert.equal((await patch(String(lying.headers.location), 0, program)).code, 'UploadError')
    assert.equal((await send('HEAD', String(lying.headers.location))).status, 404)
    await limit('0')
    assert.equal((await start(5, { filename: 'a.bin', id_parent: '99999' })).code, 'EasNoParentID')
    assert.equal((await start(5, { filename: '..' })).code, 'EasInvalidFilename')
    assert.equal((await start(5, {})).code, 'EasEmptyFilename')
    const again = await start(5, { filename: 'a.bin', reference: 'tus:1' })
    const twice = await patch(String(again.headers.location), 0, Buffer.from('12345'))
    assert.equal(twice.code, 'DatabaseUniqueKeyViolation')
  })

  test('OPTIONS tells which protocol is spoken, and how much of it', async () => {
    for (const path of ['/api/v1/eas/tus', `/api/v1/eas/tus/${crypto.randomUUID()}`]) {
      const told = await send('OPTIONS', path, {})
      assert.equal(told.status, 204)
      assert.equal(told.headers['tus-version'], '1.0.0')
      assert.equal(told.headers['tus-resumable'], '1.0.0')
      assert.equal(told.headers['tus-extension'], 'creation,creation-with-upload,expiration,termination')
      assert.match(String(told.headers['tus-max-size']), /^[1-9]\d+$/)
    }
    const most = String((await send('OPTIONS', '/api/v1/eas/tus', {})).headers['tus-max-size'])
    assert.equal(most, String(2 ** 40), 'what one user may announce')
    assert.equal((await start(Number(most) + 1, { filename: 'large.bin' })).code, 'QuotaExceeded')
  })

  test('an extension that is not spoken is named, and nothing is begun or taken', async () => {
    const begun = await start(5, { filename: 'a.bin' })
    const path = String(begun.headers.location)
    const asked = [
      ['POST', '/api/v1/eas/tus', { 'upload-defer-length': 1 }],
      ['POST', '/api/v1/eas/tus', { 'upload-length': 5, 'upload-concat': 'partial' }],
      ['PATCH', path, { 'upload-offset': 0, 'content-type': pieces, 'upload-checksum': 'sha1 xxx' }],
    ] as const
    for (const [method, at, headers] of asked) {
      const authorization = `Bearer ${await svc.as('root').token()}`
      const answer = await svc.inject({
        method,
        url: at,
        headers: { ...tus, authorization, ...headers },
        payload: 'abcde',
      })
      const name = Object.keys(headers).find((header) => /defer|concat|checksum/.test(header))
      assert.deepEqual([answer.statusCode, answer.json().parameters.name], [400, name])
      assert.equal(answer.headers['tus-extension'], 'creation,creation-with-upload,expiration,termination')
    }
    assert.equal((await send('HEAD', path)).offset, 0)
  })

  test('tus-js-client uploads, and goes on behind what has arrived', async () => {
    await using own = await startService()
    const origin = await own.listen()
    const content = await picture(300, 300)
    const headers = { authorization: `Bearer ${await own.as('root').token()}` }
    const stateOf = async (url: string) =>
      (await send('HEAD', new URL(url).pathname, {}, undefined, { at: own })).headers
    const upload = (uploadUrl: string | null, options: Partial<UploadOptions> = {}) =>
      new Promise<Upload>((resolve, reject) => {
        const client = new Upload(content, {
          endpoint: `${origin}/api/v1/eas/tus`,
          ...(uploadUrl === null ? {} : { uploadUrl }),
          chunkSize: 20_000,
          retryDelays: null,
          headers,
          metadata: { filename: 'été.jpg', filetype: 'image/jpeg' },
          onError: reject,
          onSuccess: () => resolve(client),
          ...options,
        })
        client.start()
      })
    // Broken off by its user after the second piece.
    const broken = await new Promise<string>((resolve, reject) => {
      const client: Upload = new Upload(content, {
        endpoint: `${origin}/api/v1/eas/tus`,
        chunkSize: 20_000,
        retryDelays: null,
        headers,
        metadata: { filename: 'été.jpg' },
        onError: reject,
        onChunkComplete(_size, accepted) {
          if (accepted < 40_000) return
          client.abort().then(() => resolve(client.url as string), reject)
        },
      })
      client.start()
    })
    const sent: number[] = []
    await upload(broken, { onChunkComplete: (size) => sent.push(size) })
    assert.ok(sent.reduce((sum, size) => sum + size, 0) <= content.length - 40_000, 'only what was missing is sent')
    const id = (await stateOf(broken))['x-svc-file-id']
    const file = (await own.as('root').get(`/eas/${id}`)).body
    assert.deepEqual([file.original_filename, file.hash], ['été.jpg', sha256(content)])
    const whole = await upload(null, { uploadDataDuringCreation: true, chunkSize: Number.POSITIVE_INFINITY })
    assert.equal(Number((await stateOf(String(whole.url)))['upload-offset']), content.length)
    await assert.rejects(upload(null, { uploadLengthDeferred: true }), /upload-defer-length belongs to the extension/)
  })

  test('what does not speak the protocol is told so', async () => {
    const spoken = await send('POST', '/api/v1/eas/tus', { 'tus-resumable': '0.2.2', 'upload-length': 5 })
    assert.deepEqual([spoken.status, spoken.code, spoken.headers['tus-version']], [412, 'TusVersion', '1.0.0'])
    assert.equal((await send('POST', '/api/v1/eas/tus', {})).status, 400)
    assert.equal((await send('POST', '/api/v1/eas/tus', { 'upload-length': '-1' })).status, 400)
    const begun = await start(5, { filename: 'a.bin' })
    const path = String(begun.headers.location)
    const typeless = await send('PATCH', path, { 'upload-offset': 0, 'content-type': 'text/plain' }, Buffer.from('1'))
    assert.equal(typeless.status, 415)
    assert.equal((await send('PATCH', path, { 'content-type': pieces }, Buffer.from('1'))).status, 400)
    assert.equal((await send('HEAD', '/api/v1/eas/tus/nothing')).status, 400)
    assert.equal((await send('HEAD', `/api/v1/eas/tus/${crypto.randomUUID()}`)).status, 404)
  })

  test('pieces lie in S3 as well', async () => {
    await using s3 = await startS3()
    const location = { name: 'bucket', kind: 's3', config: { s3: s3.config } }
    assert.equal((await svc.as('root').post('/system/location/new', location)).body.status, 'connected')
    const use = (originals: string) =>
      svc.as('root').post('/config/system/config', { location_defaults: { originals } })
    assert.equal((await use('bucket')).status, 200)
    const content = randomBytes(300_000)
    const path = String((await start(content.length, { filename: 'a.bin' })).headers.location)
    await use('file')
    assert.equal((await patch(path, 0, content.subarray(0, 100_000))).status, 204)
    const last = await patch(path, 100_000, content.subarray(100_000))
    const file = await record(last.headers['x-svc-file-id'])
    assert.ok((await fetched(svc, file.versions.original.url)).content.equals(content))
  })
})
