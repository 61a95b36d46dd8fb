import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { startS3 } from '../files/s3-server.ts'
import type { Json } from '../support/client.ts'
import { type Museum, startMuseum } from '../support/seed/museum.ts'
import { startFtp, startSftp, startSmtp, startWeb } from './servers.ts'
import { addUser, addWorks, codeOf, draft, exported, ran, run, saved } from './support.ts'

suite('transports of exports', () => {
  let museum: Museum
  before(async () => {
    museum = await startMuseum()
    await addWorks(museum, ['a', 'b'], 2)
    await addUser(museum.svc, 'ann')
    await addUser(museum.svc, 'bob')
  })
  after(() => museum[Symbol.asyncDispose]())

  const root = () => museum.svc.as('root')
  const settings = { json: true, eas_fields: { 'work.image': { files: true } } }
  const brought = async (options: Json, name: string): Promise<Json> =>
    exported(museum.svc, { ...settings, name }, { _transports: [{ plugin: '', options }] })
  const filesIn = async (folder: string): Promise<string[]> => {
    const found = await readdir(folder, { recursive: true, withFileTypes: true })
    return found
      .filter((one) => one.isFile())
      .map((one) => join(one.parentPath, one.name).slice(folder.length + 1))
      .sort()
  }
  const entriesOf = async (path: string): Promise<string[]> => {
    await run('unzip', ['-tq', path])
    return (await run('unzip', ['-Z1', path])).stdout.trim().split('\n').sort()
  }
  const pathsOf = (one: Json): string[] => one._files.map(({ path }: Json) => path).sort()
  const lastOf = ({ _log }: Json, type: string): Json =>
    _log.findLast((one: Json) => one.event.type === type)?.event.info

  test('EXP-025 have options, recipients, an address and a uuid; what is secret is not shown', async () => {
    const ann = (await root().get('/user', {})).body.find(({ user }: Json) => user.login === 'ann').user._id
    const who = { _basetype: 'user', user: { _id: ann } }
    const group = { _basetype: 'group', group: { 'lookup:_id': { reference: ':all' } } }
    const transport = {
      plugin: '',
      options: {
        type: 'webdav',
        url: 'https://example.org/in/',
        username: 'u',
        password: 'the-first-secret',
        'pw:password': 'the-second-secret',
      },
      email: { message: 'Here it is', recipients: [who, group] },
    }
    const first = await saved(museum.svc, 'root', draft({}, { _transports: [transport, {}] }))
    const [one, plain] = first._transports
    assert.equal(one.plugin, '')
    assert.deepEqual(one.options, { ...transport.options, password: '***', 'pw:password': '***' })
    assert.equal(one.email.message, 'Here it is')
    assert.deepEqual(
      one.email.recipients.map((each: Json) => each._basetype),
      ['user', 'group'],
    )
    assert.equal(one.email.recipients[0].user._id, ann)
    assert.match(one.uuid, /^[0-9a-f-]{36}$/)
    assert.notEqual(one.uuid, plain.uuid)
    assert.ok(one.external_url.endsWith(`/api/v1/export/${first.export._id}/uuid/${one.uuid}/zip/`), one.external_url)
    const { rows } = await museum.svc.db.query<Json>('select transports::text as kept from export where id = $1', [
      first.export._id,
    ])
    assert.ok(!/the-first|the-second|example/.test(rows[0].kept))
    // What is answered can be sent back: it keeps its uuid and its secrets.
    const second = await root().post(`/export/${first.export._id}`, first)
    assert.deepEqual(second.body._transports, first._transports)
    const moved = structuredClone(second.body)
    moved._transports[0].options.url = 'https://elsewhere.example.org/in/'
    assert.deepEqual(codeOf(await root().post(`/export/${first.export._id}`, moved)), [400, 'ServerGeneric'])
    const fresh = await root().post('/export', { ...moved, export: { ...draft().export } })
    assert.deepEqual(codeOf(fresh), [400, 'ServerGeneric'])
    for (const wrong of [
      { options: { type: 'pigeon' } },
      { options: { type: 'webdav' } },
      { options: { type: 'webdav', url: 'file:///etc/passwd' } },
      { options: { type: 'http', url: 'https://u:p@example.org/' } },
      { options: { type: 'http', url: 'https://example.org/', method: 'GET' } },
      { options: { type: 'http', url: 'https://example.org/', packer: 'files' } },
      { options: { type: 'ftp', host: 'example.org', username: 'u', port: 0 } },
      { options: { type: 'ftp', host: 'a/b', username: 'u' } },
      { options: { type: 'ftp', host: 'example.org', username: 'u', directory: '../up' } },
      { options: { type: 'sftp', host: 'example.org', username: 'u' } },
      { options: { type: 's3', bucket: 'b' } },
      { options: { type: 'download', url: 'https://example.org/' } },
      { options: { type: 'email' } },
      { email: { recipients: [{ user: { _id: 4711 } }] } },
      { plugin: 'nothing:there' },
      { options: { type: 'download', packer: 'rar' } },
    ]) {
      const answer = await root().post('/export', draft({}, { _transports: [wrong] }))
      assert.equal(answer.status, 400, JSON.stringify([wrong, answer.body]))
    }
  })

  test('whoever has the uuid of a transport fetches what its user may, until it is removed', async () => {
    const one = await exported(museum.svc, settings, {
      _transports: [{ options: { type: 'download', packer: 'tar_gz' } }],
    })
    const [{ uuid, external_url: url }] = one._transports
    assert.match(url, /\/tar_gz\/$/)
    const base = `/api/v1/export/${one.export._id}/uuid/${uuid}`
    const get = (path: string, method: 'GET' | 'HEAD' = 'GET') => museum.svc.inject({ method, url: `${base}/${path}` })
    for (const path of ['zip/', 'tar_gz/', 'file/', 'file/export.json']) {
      assert.equal((await get(path)).statusCode, 200, path)
    }
    assert.equal((await get('file/export.json', 'HEAD')).statusCode, 200)
    const log = (await root().post('/event/list', {})).body
    assert.ok(!JSON.stringify(log).includes(uuid), 'the log does not say what opens it')
    const { status } = await root().post(`/export/${one.export._id}`, { ...one, _transports: [] })
    assert.equal(status, 200)
    await ran(museum.svc, 'root', one.export._id)
    for (const path of ['zip/', 'file/export.json']) assert.equal((await get(path)).statusCode, 403, path)
  })

  test('http: one request has the archive', async () => {
    await using web = await startWeb()
    const url = `http://127.0.0.1:${web.port}/in`
    const one = await brought({ type: 'http', url, username: 'u', password: 'sécret' }, 'by http')
    assert.equal(one._state, 'done', JSON.stringify(one._log.at(-2)))
    assert.deepEqual(web.requests, [{ method: 'POST', path: '/in', user: 'u:sécret', type: 'application/zip' }])
    assert.deepEqual(await entriesOf(join(web.folder, 'in')), pathsOf(one))
    const info = lastOf(one, 'EXPORT_TRANSPORT_FINISH')
    assert.deepEqual(
      [info.transport_state, info.transport.type, info.transport_log],
      ['done', 'http', [`POST ${url}: 201`]],
    )
  })

  test('webdav: the archive, or each file in its folder', async () => {
    await using web = await startWeb()
    const url = `http://127.0.0.1:${web.port}/`
    const packed = await brought({ type: 'webdav', url, packer: 'tar_gz' }, 'one two')
    assert.equal(packed._state, 'done', JSON.stringify(packed._log.at(-2)))
    const { stdout } = await run('tar', ['-tzf', join(web.folder, 'one_two.tar.gz')])
    assert.deepEqual(stdout.trim().split('\n').sort(), pathsOf(packed))
    const apart = await brought({ type: 'webdav', url, packer: 'files' }, 'apart')
    assert.deepEqual(await filesIn(join(web.folder, 'apart')), pathsOf(apart))
  })

  test('ftp: the archive, or each file', async () => {
    await using ftp = await startFtp('u', 'p')
    const options = {
      type: 'ftp',
      host: '127.0.0.1',
      port: ftp.port,
      username: 'u',
      'pw:password': 'p',
      directory: 'deep/er',
    }
    const packed = await brought(options, 'packed ftp')
    assert.equal(packed._state, 'done', JSON.stringify(packed._log.at(-2)))
    assert.deepEqual(await entriesOf(join(ftp.folder, 'deep/er/packed_ftp.zip')), pathsOf(packed))
    const apart = await brought({ ...options, packer: 'files' }, 'apart ftp')
    assert.equal(apart._state, 'done', JSON.stringify(apart._log.at(-2)))
    assert.deepEqual(await filesIn(join(ftp.folder, 'deep/er/apart_ftp')), pathsOf(apart))
  })

  test('sftp: to the server that has the key', async () => {
    await using sftp = await startSftp('u', 'p')
    const options = {
      type: 'sftp',
      host: '127.0.0.1',
      port: sftp.port,
      username: 'u',
      password: 'p',
      host_key: sftp.hostKey,
      directory: '/in',
    }
    const packed = await brought(options, 'packed sftp')
    assert.equal(packed._state, 'done', JSON.stringify(packed._log.at(-2)))
    assert.deepEqual(await entriesOf(join(sftp.folder, 'in/packed_sftp.zip')), pathsOf(packed))
    const apart = await brought({ ...options, packer: 'files' }, 'apart sftp')
    assert.deepEqual(await filesIn(join(sftp.folder, 'in/apart_sftp')), pathsOf(apart))
    const other = await brought({ ...options, host_key: `SHA256:${'A'.repeat(43)}` }, 'other key')
    assert.equal(other._state, 'done_with_warnings')
    assert.deepEqual(
      (await filesIn(sftp.folder)).filter((path) => path.includes('other')),
      [],
    )
  })

  test('s3: the archive, or each file', async () => {
    await using s3 = await startS3()
    const { bucket, endpoint, accesskey, secretkey, region } = s3.config
    const options = {
      type: 's3',
      bucket,
      endpoint: endpoint.startsWith('http') ? endpoint : `http://${endpoint}`,
      region,
      access_key_id: accesskey,
      secret_access_key: secretkey,
      prefix: 'in/',
    }
    const packed = await brought(options, 'packed s3')
    assert.equal(packed._state, 'done', JSON.stringify(packed._log.at(-2)))
    const object = await fetchS3(options, 'in/packed_s3.zip')
    assert.equal(object.subarray(0, 2).toString(), 'PK')
    const apart = await brought({ ...options, packer: 'files' }, 'apart s3')
    assert.equal(apart._state, 'done', JSON.stringify(apart._log.at(-2)))
    for (const path of pathsOf(apart)) assert.ok((await fetchS3(options, `in/apart_s3/${path}`)).length > 0, path)
  })

  test('email: people get the address of the result', async () => {
    await using mails = await startSmtp()
    const config = {
      email: { from: 'archive@example.org' },
      email_server: { server_addr: `127.0.0.1:${mails.port}`, type: 'off' },
    }
    const set = await root().post('/config', { system: { config } })
    assert.equal(set.status, 200, JSON.stringify(set.body))
    const ids = (await root().get('/user', {})).body
      .filter(({ user }: Json) => ['ann', 'bob'].includes(user.login))
      .map(({ user }: Json) => ({ user: { _id: user._id } }))
    const transport = { options: { type: 'email' }, email: { message: 'Look at this', recipients: ids } }
    const one = await exported(museum.svc, settings, { _transports: [transport] })
    await museum.svc.drain()
    assert.equal(one._state, 'done')
    assert.deepEqual(mails.mails.flatMap(({ to }) => to).sort(), ['ann@example.org', 'bob@example.org'])
    const [mail] = mails.mails
    const [{ external_url: url }] = one._transports
    const data = mail?.data.replaceAll(/=\r?\n/g, '').replaceAll('=3D', '=') ?? ''
    assert.ok(data.includes('Look at this') && data.includes(url), data)
    assert.deepEqual(lastOf(one, 'EXPORT_TRANSPORT_FINISH').email_sent_to.sort(), [
      'ann@example.org',
      'bob@example.org',
    ])
    assert.equal((await museum.svc.inject({ url: new URL(url).pathname })).statusCode, 200)
    const empty = await exported(museum.svc, { search: { objecttypes: ['loan'] } }, { _transports: [transport] })
    await museum.svc.drain()
    assert.deepEqual([empty._state, mails.mails.length], ['done', 2])
  })

  test('a transport that is just sending ends with its run', async () => {
    const [asked, gone] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    await using server = createServer((request) => {
      request.socket.once('close', () => gone.resolve())
      request.resume()
      asked.resolve()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const { export: own } = await saved(
      museum.svc,
      'root',
      draft(settings, { _transports: [{ options: { type: 'http', url: `http://127.0.0.1:${port}/` } }] }),
    )
    await root().post(`/export/${own._id}/start`)
    await asked.promise
    assert.equal((await root().post(`/export/${own._id}/stop`)).body._state, 'failed')
    await gone.promise
    await museum.svc.app.idle({ hurry: true })
    const { body } = await root().get(`/export/${own._id}`)
    assert.equal(body._state, 'failed')
    assert.equal(lastOf(body, 'EXPORT_TRANSPORT_FAILED'), undefined)
  })

  test('what fails is tried again, and is a warning in the end', async () => {
    await using web = await startWeb()
    web.failures = 1
    const url = `http://127.0.0.1:${web.port}/x`
    const one = await brought({ type: 'http', url }, 'again')
    assert.equal(one._state, 'done')
    assert.equal(web.requests.length, 2)
    assert.match(lastOf(one, 'EXPORT_TRANSPORT_FINISH').transport_log[0], /503/)
    web.failures = 99
    const two = await exported(museum.svc, settings, {
      _transports: [{ options: { type: 'http', url, password: 'geheim-und-lang', username: 'u' } }, {}],
    })
    assert.equal(two._state, 'done_with_warnings')
    const info = lastOf(two, 'EXPORT_TRANSPORT_FAILED')
    assert.deepEqual([info.transport_state, info.error.includes('503')], ['failed', true])
    assert.equal(lastOf(two, 'EXPORT_TRANSPORT_FINISH').transport.type, 'download')
    assert.ok(!JSON.stringify(two._log).includes('geheim-und-lang'))
    assert.ok(lastOf(two, 'EXPORT_FINISH').warnings[0].includes('transport 1'))
  })

  test('addresses of private networks are not reached where the configuration does not allow it', async () => {
    await using web = await startWeb()
    await using strict = await startMuseum({ allowPrivateExports: false })
    await addWorks(strict, ['a'])
    const url = `http://127.0.0.1:${web.port}/x`
    const all = [
      { type: 'http', url },
      { type: 'webdav', url: `http://localhost:${web.port}/` },
      { type: 'ftp', host: 'localhost', port: web.port, username: 'u' },
      { type: 'sftp', host: '127.0.0.1', port: web.port, username: 'u', host_key: 'SHA256:x' },
      { type: 's3', endpoint: url, bucket: 'b', access_key_id: 'a', secret_access_key: 's' },
    ]
    const one = await exported(strict.svc, { json: true }, { _transports: all.map((options) => ({ options })) })
    const { warnings } = lastOf(one, 'EXPORT_FINISH')
    assert.deepEqual([one._state, warnings.length, web.requests], ['done_with_warnings', all.length, []])
    for (const warning of warnings) assert.match(warning, /not public/)
  })
})

async function fetchS3(options: Json, key: string): Promise<Buffer> {
  const { GetObjectCommand, S3Client } = await import('@aws-sdk/client-s3')
  const client = new S3Client({
    region: options.region || 'us-east-1',
    endpoint: options.endpoint,
    forcePathStyle: true,
    credentials: { accessKeyId: options.access_key_id, secretAccessKey: options.secret_access_key },
  })
  const { Body } = await client.send(new GetObjectCommand({ Bucket: options.bucket, Key: key }))
  const bytes = Buffer.from((await Body?.transformToByteArray()) ?? [])
  client.destroy()
  return bytes
}
