import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import type { Json } from '../support/client.ts'
import { temporaryFolder } from '../support/process.ts'
import { startService, type TestService } from '../support/service.ts'
import { startS3 } from './s3-server.ts'

suite('locations of files', () => {
  const resources = new AsyncDisposableStack()
  let svc: TestService
  let folder: string
  let s3: Awaited<ReturnType<typeof startS3>>
  before(async () => {
    folder = resources.use(await temporaryFolder()).path
    s3 = resources.use(await startS3())
    await mkdir(join(folder, 'data'))
    await mkdir(join(folder, 'mount'))
    svc = resources.use(await startService({ dataDir: join(folder, 'data'), fileFolders: [join(folder, 'mount')] }))
  })
  after(() => resources.disposeAsync())

  const create = (body: object) => svc.as('root').post('/system/location/new', body)

  test('the first start has one on the file system, in the data folder', async () => {
    const { status, body } = await svc.as('root').get('/system/location/list')
    assert.equal(status, 200)
    const [{ created_at, ...first }, ...others] = body
    assert.deepEqual(others, [])
    assert.ok(Date.parse(created_at))
    assert.deepEqual(first, {
      id: 1,
      name: 'file',
      kind: 'file',
      prefix: '',
      config: { file: { dir: 'files' } },
      allow_purge: false,
      allow_redirect: false,
      read_only: false,
      status: 'connected',
      status_msg: '',
    })
    assert.deepEqual((await svc.as('root').get('/system/location/1')).body, body[0])
  })

  test('one of S3: its secret is never answered, and stays when it is not sent', async () => {
    const made = await create({ name: 'bucket', kind: 's3', prefix: 'museum/', config: { s3: s3.config } })
    assert.equal(made.status, 200, JSON.stringify(made.body))
    assert.equal(made.body.status, 'connected', made.body.status_msg)
    const { secretkey, ...open } = s3.config
    assert.deepEqual(made.body.config, { s3: open })
    const path = `/system/location/${made.body.id}`
    const renamed = await svc.as('root').put(path, { ...made.body, name: 'bucket2' })
    assert.equal(renamed.status, 200, JSON.stringify(renamed.body))
    assert.equal(renamed.body.status, 'connected', 'the secret was kept')
    const { rows } = await svc.db.query<{ key: string }>(
      `select config->>'secretkey' as key from file_location where id = $1`,
      [made.body.id],
    )
    assert.ok(rows[0]?.key && !rows[0].key.includes(secretkey), 'it is stored sealed')
    for (const moved of [{ endpoint: 'http://127.0.0.1:1' }, { ssl: !open.ssl }]) {
      const config = { s3: { ...open, ...moved } }
      const { status, body } = await svc.as('root').put(path, { ...made.body, config })
      assert.deepEqual(
        [status, body.parameters.name],
        [400, 'config.s3.secretkey'],
        'for another address it is not kept',
      )
    }
    assert.ok(!JSON.stringify((await svc.as('root').get('/system/location/list')).body).includes('secretkey'))
    assert.equal((await svc.as('root').delete(path)).status, 200)
    assert.equal((await svc.as('root').get(path)).body.code, 'ResourceNotFound')
    const { rows: events } = await svc.db.query<{ info: Json }>(
      `select info from event where type = 'BASE_CONFIG_UPDATE' and basetype = 'location' and object_id = $1 order by id`,
      [Number(path.split('/').at(-1))],
    )
    assert.deepEqual(
      events.map(({ info }) => info.Method),
      ['POST', 'PATCH', 'PATCH'],
    )
    for (const { info } of events) assert.deepEqual(info, { ...info, ScopedNames: ['system.location'], Path: path })
  })

  test('one that cannot be reached is stored and marked', async () => {
    const config = { s3: { ...s3.config, endpoint: '127.0.0.1:1' } }
    const made = await create({ name: 'nowhere', kind: 's3', config })
    assert.equal(made.status, 200)
    assert.equal(made.body.status, 'not accessible')
    assert.notEqual(made.body.status_msg, '')
    const mended = await svc
      .as('root')
      .put(`/system/location/${made.body.id}`, { ...made.body, config: { s3: s3.config } })
    assert.equal(mended.body.status, 'connected', mended.body.status_msg)
  })

  test('a folder outside of the data folder must be one that the machine’s configuration names', async () => {
    const dirs = ['/etc', folder, join(folder, 'mount', '..', 'data'), '../mount', '.', 'postgres', 'files/../..', '/']
    for (const dir of dirs) {
      const refused = await create({ name: 'out', kind: 'file', config: { file: { dir } } })
      assert.equal(refused.status, 400, dir)
      assert.equal(refused.body.parameters.name, 'config.file.dir', dir)
    }
    const made = await create({ name: 'mounted', kind: 'file', config: { file: { dir: join(folder, 'mount', 'a') } } })
    assert.equal(made.body.status, 'connected', JSON.stringify(made.body))
    await writeFile(join(folder, 'mount', 'plain'), '')
    const broken = await create({
      name: 'broken',
      kind: 'file',
      config: { file: { dir: join(folder, 'mount', 'plain') } },
    })
    assert.equal(broken.body.status, 'not accessible')
  })

  test('two locations never keep the same contents, nor have the same name', async () => {
    const same = await create({ name: 'again', kind: 'file', config: { file: { dir: 'files/.' } } })
    assert.equal(same.status, 400)
    assert.match(same.body.message, /location file keeps/)
    const named = await create({ name: 'file', kind: 'file', config: { file: { dir: 'files/other' } } })
    assert.equal(named.body.code, 'DatabaseUniqueKeyViolation')
  })

  test('what does not fit is refused by name', async () => {
    const file = { file: { dir: 'files/x' } }
    const wrong: [object, RegExp][] = [
      [{ name: 'x', kind: 'azure', config: {} }, /kind/],
      [{ name: 'x', kind: 's3', config: file }, /config\.file/],
      [{ name: 'x', kind: 's3', config: {} }, /config\.s3/],
      [{ name: 'x', kind: 'file', config: {} }, /config\.file/],
      [{ name: 'x', kind: 'file', config: file, allow_redirect: true }, /allow_redirect/],
      [{ name: 'x', kind: 'file', config: file, prefix: '../up' }, /prefix/],
      [{ name: 'x', kind: 'file', config: file, prefix: '/up' }, /prefix/],
      // Each letter once: the steps of a prefix are not tried in all ways of dividing it.
      [{ name: 'x', kind: 'file', config: file, prefix: `${'a'.repeat(199)}!` }, /prefix/],
      [{ name: '../x', kind: 'file', config: file }, /name/],
      [{ name: 'x', kind: 'file', config: { file: { dir: 'files/x\ud800' } } }, /byte/],
      [{ name: 'x', kind: 'file', config: file, id: 5 }, /id/],
      [{ name: 'x', kind: 's3', config: { s3: { ...s3.config, secretkey: '***' } } }, /secretkey/],
    ]
    for (const [body, named] of wrong) {
      const refused = await create(body)
      assert.equal(refused.status, 400, JSON.stringify(body))
      assert.match(JSON.stringify(refused.body), named)
    }
    assert.equal(
      (await svc.as('root').put('/system/location/999', { name: 'x', kind: 'file', config: file })).status,
      404,
    )
    assert.equal((await svc.as('root').delete('/system/location/999')).status, 404)
  })

  test('the default one is writable, stays, and is changed in the base configuration', async () => {
    const root = svc.as('root')
    const { body: first } = await root.get('/system/location/1')
    assert.equal((await root.put('/system/location/1', { ...first, read_only: true })).status, 400)
    assert.equal((await root.put('/system/location/1', { ...first, name: 'other' })).status, 400)
    assert.equal((await root.delete('/system/location/1')).status, 400)
    const { body: second } = await create({
      name: 'second',
      kind: 'file',
      prefix: 'p/',
      config: { file: { dir: 'files/second' } },
      allow_purge: true,
      read_only: true,
    })
    assert.equal(second.read_only, true)
    assert.equal(second.allow_purge, true)
    const saved = (originals: string) =>
      root.post('/config', { system: { config: { location_defaults: { originals } } } })
    assert.equal((await saved('second')).status, 400, 'read-only')
    assert.equal((await saved('third')).status, 400, 'not there')
    assert.equal((await root.put(`/system/location/${second.id}`, { ...second, read_only: false })).status, 200)
    assert.equal((await saved('second')).status, 200)
    assert.equal((await root.put('/system/location/1', { ...first, read_only: true })).status, 200)
    assert.equal((await root.delete(`/system/location/${second.id}`)).status, 400)
    assert.equal((await root.put('/system/location/1', first)).status, 200)
    assert.equal((await saved('file')).status, 200)
  })

  test('only root manages them', async () => {
    assert.equal((await svc.as(null).get('/system/location/list')).body.code, 'UserRequired')
    await svc.as('root').post('/user', [{ user: { login: 'paul' }, _password: 'paul-password' }])
    const paul = svc.as('paul', 'paul-password')
    const body = { name: 'x', kind: 'file', config: { file: { dir: 'files/x' } } }
    const answers = await Promise.all([
      paul.get('/system/location/list'),
      paul.get('/system/location/1'),
      paul.post('/system/location/new', body),
      paul.put('/system/location/1', body),
      paul.delete('/system/location/1'),
    ])
    for (const { status, body: refusal } of answers)
      assert.deepEqual([status, refusal.code], [403, 'SystemRightRequired'])
    const eve = { user: { login: 'eve' }, _password: 'eve-password', _system_rights: { 'system.location': {} } }
    await svc.as('root').post('/user', [eve])
    const looking = svc.as('eve', 'eve-password')
    assert.deepEqual(
      [(await looking.get('/system/location/list')).status, (await looking.get('/system/location/1')).status],
      [200, 200],
    )
    assert.equal((await looking.post('/system/location/new', body)).body.code, 'SystemRightRequired')
  })
})
