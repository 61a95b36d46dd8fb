import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import pg from 'pg'
import { temporary } from '../../src/files/blobs/blob-store.ts'
import { fetched, multipart, picture, sha256, upload } from '../files/support.ts'
import { createGroups, createUsers } from '../signin/support.ts'
import { type Client, createClient, type Json } from '../support/client.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { spawnService, temporaryFolder } from '../support/process.ts'
import { commitModel } from '../support/seed/model.ts'
import { inPool, type Museum, museum as museumModel, payload, startMuseum } from '../support/seed/museum.ts'
import { attachService, startService, type TestService } from '../support/service.ts'
import { openStream } from '../support/stream.ts'
import { until } from '../support/until.ts'

const en = (text: string) => ({ 'en-US': text })
const allowed = { allowPurgeAll: true }

/** A client that signs in anew: the tokens of `svc.as` are kept, and end with a purge. */
const signedIn = (svc: TestService, password = svc.config.rootPassword ?? '', login = 'root'): Client =>
  createClient(svc.inject, { login, password })

const allow = async (svc: TestService, purge: object = { allow_purge: true }): Promise<void> => {
  const answer = await svc.as('root').post('/config/system/config', { purge })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
}

/** Something of everything. */
async function fill({ svc, pool }: Museum): Promise<Json[]> {
  const root = svc.as('root')
  const [group] = await createGroups(svc, { group: { name: 'Staff', reference: 'staff' } })
  await createUsers(svc, { user: { login: 'ann' }, _groups: [{ group: { _id: group.group._id } }] })
  const done = [
    await root.post('/pool', [{ _basetype: 'pool', pool: { name: en('More'), _id_parent: pool } }]),
    await root.post('/tags', [{ taggroup: { reference: 'state' }, _tags: [{ displayname: en('Good') }] }]),
    await root.post('/message', [{ message: { title: en('Hello'), message: en('Hello.') } }]),
    await root.post('/event', { event: { type: 'SEARCH', info: { text: 'bridge' } } }),
    await root.post('/config/system/config', { name: { internal_name: 'museum' } }),
    await upload(svc, 'root', [{ name: 'a.jpg', content: await picture() }]),
    await root.post('/db/work', [
      payload('work', { title: en('The bridge'), ...inPool(pool) }),
      payload('work', { title: en('The tower'), ...inPool(pool) }),
    ]),
  ]
  for (const { status, body } of done) assert.equal(status, 200, JSON.stringify(body))
  const [, tower] = (done.at(-1)?.body ?? []) as Json[]
  const objects = [{ _global_object_id: tower._global_object_id }, { _global_object_id: '7@elsewhere' }]
  const list = await root.post('/collection', { collection: { displayname: en('Spring') }, objects })
  assert.equal(list.status, 200, JSON.stringify(list.body))
  await svc.drain()
  return done.at(-1)?.body
}

const found = async (client: Client, string: string): Promise<number> => {
  const { status, body } = await client.post('/search', { search: [{ type: 'match', string }] })
  assert.equal(status, 200, JSON.stringify(body))
  return body.count
}

/** What is stored, without moments and secrets. */
async function stored(svc: TestService): Promise<Record<string, Json[]>> {
  const { rows: tables } = await svc.db.query<{ name: string }>(
    `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' order by 1`,
  )
  const hidden = [
    'began_at',
    'created_at',
    'updated_at',
    'last_seen_at',
    'changed_at',
    'followed_since',
    'previous_since',
  ]
  const counted = ['generation', 'set_removals', 'password_hash', 'key', 'sealed', 'timestamp']
  const result: Record<string, Json[]> = {}
  for (const { name } of tables) {
    // Who this database is, the sign-in that asks, and places of the index that all object types share.
    if (['instance', 'search_slot', 'oauth_session', 'oauth_token', 'event', 'known_source'].includes(name)) continue
    const { rows } = await svc.db.query<{ row: string }>(
      `select (to_jsonb(t) - $1::text[])::text as row from ${JSON.stringify(name)} t order by 1`,
      [
        [
          ...hidden,
          ...(name === 'user_name' ? [] : counted),
          ...(name === 'file_key' ? ['id'] : []),
          ...(name === 'collection' ? ['uuid'] : []),
        ],
      ],
    )
    result[name] = rows.map(({ row }) => JSON.parse(row))
  }
  return result
}

test('a purge brings the instance to its first state, and goes on counting', async () => {
  await using museum = await startMuseum(allowed)
  await using fresh = await startService()
  const { svc } = museum
  const [before] = await fill(museum)
  await allow(svc)
  assert.equal(await found(svc.as('root'), 'bridge'), 1)
  const models = (await svc.as('root').get('/schema/user/CURRENT')).body.version

  const done = await svc.as('root').post('/system/purgeall')
  assert.deepEqual([done.status, done.body], [200, { status: 'ok' }])
  assert.equal((await svc.as('root').get('/user')).body.code, 'InvalidToken', 'all sessions have ended')
  await svc.drain()
  const { datamodel_version: model, search_state: state, ...rest } = await stored(svc)
  const { datamodel_version: _, search_state: firstState, ...first } = await stored(fresh)
  assert.deepEqual(rest, first)
  assert.deepEqual(state, firstState)
  assert.deepEqual(
    model?.map(({ schema, masks, version }) => [version, schema.tables, masks.masks]),
    [[models + 1, [], []]],
  )
  assert.equal((await svc.db.query('select from graphile_worker.jobs')).rows.length, 0)

  const root = signedIn(svc)
  const model0 = (await root.get('/schema/user/CURRENT')).body
  assert.deepEqual([model0.version, model0.tables], [models + 1, []])
  assert.equal((await root.get('/config/list')).status, 200)
  assert.equal(await found(root, 'bridge'), 0)
  await commitModel({ as: () => root }, museumModel())
  const [saved] = (await root.post('/db/work', [payload('work', { title: en('The bridge'), ...inPool(museum.pool) })]))
    .body
  assert.ok(saved._system_object_id > before._system_object_id, 'no id comes back')
  assert.ok(saved.work._id > before.work._id)
  await svc.drain()
  assert.equal(await found(root, 'bridge'), 1)
  assert.equal(await found(root, 'tower'), 0)
  const events = (await root.get('/event/list', { limit: 100 })).body
  assert.ok(!JSON.stringify(events).includes('museum'), 'the log has begun anew')
})

suite('who may purge', () => {
  let museum: Museum
  before(async () => {
    museum = await startMuseum(allowed)
    await createUsers(
      museum.svc,
      { user: { login: 'admin' }, _system_rights: { 'system.root': {} } },
      { user: { login: 'ann' } },
    )
  })
  after(() => museum[Symbol.asyncDispose]())

  const refusedWith = async (client: Client, query = {}): Promise<[number, string, Json]> => {
    const { status, body } = await client.post('/system/purgeall', undefined, query)
    return [status, body.code, body.parameters.setting ?? body.parameters.name]
  }

  test('only root, where both settings allow it; a refusal changes nothing', async () => {
    const { svc } = museum
    assert.deepEqual(await refusedWith(svc.as('root')), [400, 'PurgeNotAllowed', 'purge.allow_purge'])
    {
      await using strict = await attachService(svc.dsn)
      assert.deepEqual(await refusedWith(strict.as('root')), [400, 'PurgeNotAllowed', 'svc.allowPurgeAll'])
    }
    await allow(svc)
    assert.equal((await refusedWith(svc.as(null)))[1], 'UserRequired')
    assert.deepEqual((await refusedWith(svc.as('ann'))).slice(0, 2), [403, 'SystemRightRequired'])
    assert.deepEqual((await refusedWith(svc.as('admin'))).slice(0, 2), [403, 'PurgeSystemRootOnly'])
    {
      await using strict = await attachService(svc.dsn, { ...allowed, readOnly: true })
      assert.deepEqual((await refusedWith(strict.as('root'))).slice(0, 2), [400, 'ReadOnlyMode'])
    }
    {
      await using strict = await attachService(svc.dsn)
      assert.deepEqual(await refusedWith(strict.as('root')), [400, 'PurgeNotAllowed', 'svc.allowPurgeAll'])
    }
    for (const redirect of ['javascript:alert(1)', 'ftp://example.org/', '//example.org/x y', '']) {
      assert.deepEqual(await refusedWith(svc.as('root'), { redirect }), [400, 'ServerGeneric', 'redirect'])
    }
    assert.deepEqual(await refusedWith(svc.as('root'), { set_password: '' }), [400, 'NoPassword', 'set_password'])
    const rules = { check: [{ regexp: '.{12}' }], hint: en('Twelve characters.') }
    assert.equal((await svc.as('root').post('/config/system/config', { password: rules })).status, 200)
    assert.deepEqual(await refusedWith(svc.as('root'), { set_password: 'short' }), [
      400,
      'ServerGeneric',
      'set_password',
    ])
    assert.equal((await svc.as('root').get('/user')).body.length, 6)
  })

  test('a new password of root takes a fresh sign-in, and is then the one that counts', async () => {
    const { svc } = museum
    await allow(svc)
    await svc.db.query(`update oauth_session set authenticated_at = now() - interval '1 hour'`)
    const query = { set_password: 'another root password' }
    assert.deepEqual((await refusedWith(svc.as('root'), query)).slice(0, 2), [403, 'FreshSignInRequired'])
    const done = await signedIn(svc).post('/system/purgeall', undefined, query)
    assert.equal(done.status, 200, JSON.stringify(done.body))
    await assert.rejects(signedIn(svc).token())
    assert.equal((await signedIn(svc, query.set_password).get('/user')).body.length, 4)
    assert.ok(!existsSync(join(svc.config.dataDir, 'root-password')))
  })
})

test('other processes end what goes on and drop what they keep; the stream ends', async () => {
  await using museum = await startMuseum(allowed)
  const { svc } = museum
  await using other = await attachService(svc.dsn, { ...allowed, dataDir: svc.config.dataDir })
  await fill(museum)
  await allow(svc)
  const there = other.as('root')
  assert.equal(await found(there, 'bridge'), 1)
  assert.equal((await there.get('/user')).body.length, 5)
  const base = await other.listen()
  const stream = await openStream(base, { token: await there.token() })
  // An upload whose client sends slowly: nobody waits for its end.
  const { headers, payload: whole } = multipart([{ name: 'slow.bin', content: Buffer.alloc(2_000_000) }])
  const slow = httpRequest(`${base}/api/v1/eas/put?produce_versions=false`, {
    method: 'POST',
    headers: { ...headers, authorization: `Bearer ${await there.token()}`, 'content-length': whole.length },
  })
  const cut = once(slow, 'error')
  slow.write(whole.subarray(0, 1_500_000))
  const partial = join(svc.config.dataDir, 'files', temporary)
  await until(async () => (await readdir(partial).catch(() => [])).length > 0)

  const { status } = await svc.as('root').post('/system/purgeall')
  assert.equal(status, 200)
  await cut
  assert.equal((await stream.ended).reason, 'InvalidToken')
  await until(async () => (await other.as(null).get('/settings')).status === 200)
  assert.equal((await there.get('/user')).body.code, 'InvalidToken')
  const root = signedIn(other)
  assert.equal((await root.get('/user')).body.length, 4)
  assert.deepEqual((await root.get('/tags')).body, [])
  assert.deepEqual((await root.get('/schema/user/CURRENT')).body.tables, [])
  assert.equal(await found(root, 'bridge'), 0)
  assert.equal((await root.get('/config/system/config/name')).body?.internal_name ?? '', '')
  await commitModel({ as: () => root }, museumModel())
  const saved = await root.post('/db/work', [payload('work', { title: en('The bridge'), ...inPool(museum.pool) })])
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
  await Promise.all([svc.drain(), other.drain()])
  assert.equal(await found(signedIn(svc), 'bridge'), 1)
  assert.equal(await found(root, 'tower'), 0)
})

test('contents go from locations that allow it, and from these only where purge_storage says so', async () => {
  for (const purge_storage of [false, true]) {
    await using folder = await temporaryFolder()
    await using svc = await startService({ ...allowed, dataDir: join(folder.path, 'data'), fileFolders: [folder.path] })
    const root = svc.as('root')
    const inFile = await picture()
    const inArchive = await picture()
    const [kept] = (await upload(svc, 'root', [{ name: 'a.jpg', content: inFile }])).body
    const [{ created_at: _, status, status_msg, ...location }] = (await root.get('/system/location/list')).body
    assert.equal((await root.put('/system/location/1', { ...location, allow_purge: true })).status, 200)
    const archive = { name: 'archive', kind: 'file', config: { file: { dir: join(folder.path, 'archive') } } }
    assert.equal((await root.post('/system/location/new', archive)).status, 200)
    const defaults = { location_defaults: { originals: 'archive' } }
    assert.equal((await root.post('/config/system/config', defaults)).status, 200)
    await upload(svc, 'root', [{ name: 'b.jpg', content: inArchive }])
    await allow(svc, { allow_purge: true, purge_storage })
    assert.equal((await root.post('/system/purgeall')).status, 200)
    assert.equal((await fetched(svc, kept.versions.original.url)).status, 404)
    await svc.app.tidy(new Date(Date.now() + 3 * 86_400_000))
    const names = async (dir: string): Promise<string[]> =>
      (await readdir(dir, { recursive: true, withFileTypes: true })).filter((e) => e.isFile()).map(({ name }) => name)
    const left = (await names(join(folder.path, 'data', 'files'))).join()
    assert.equal(left.includes(sha256(inFile).slice(4)), !purge_storage, left)
    const archived = (await names(join(folder.path, 'archive'))).join()
    assert.ok(archived.includes(sha256(inArchive).slice(4)), archived)
    // The same content is stored again beside what was left.
    const again = await upload({ ...svc, as: () => signedIn(svc) }, 'root', [{ name: 'a.jpg', content: inFile }])
    assert.equal(again.status, 200)
    const { content } = await fetched(svc, again.body[0].versions.original.url)
    assert.ok(content.equals(inFile))
  }
})

test('kill -9 in the middle of a purge leaves everything as it was; meanwhile the others say that it goes on', async () => {
  await using folder = await temporaryFolder()
  const database = await createTestDatabase()
  const blocker = new pg.Client({ connectionString: database.dsn })
  try {
    await blocker.connect()
    await using other = await attachService(database.dsn, { rootPassword: 'root-test-password' })
    await allow(other)
    await using killed = await spawnService(folder.path, {
      SVC_DB_DSN: database.dsn,
      SVC_ALLOW_PURGE_ALL: 'true',
      SVC_ROOT_PASSWORD: 'root-test-password',
    })
    await blocker.query('begin')
    await blocker.query('lock table user_subject in access share mode')
    const authorization = `Bearer ${await other.as('root').token()}`
    const purge = fetch(`${killed.url}/api/v1/system/purgeall`, { method: 'POST', headers: { authorization } })
    const ended = purge.then(
      () => 'answered',
      () => 'cut off',
    )
    await until(async () => {
      const { rows } = await blocker.query(
        `select from pg_locks where not granted and relation = 'user_subject'::regclass`,
      )
      return rows.length > 0
    })
    const meanwhile = await other.as(null).get('/settings')
    assert.deepEqual(
      [meanwhile.status, meanwhile.body.code, meanwhile.headers['x-svc-status']],
      [503, 'ServiceUnavailable', 'purge'],
    )
    killed.child.kill('SIGKILL')
    assert.equal(await ended, 'cut off')
    await blocker.query('rollback')
    await until(async () => (await other.as(null).get('/settings')).status === 200)
    assert.equal((await other.as('root').get('/config/system/config/purge')).body.allow_purge, true)
    const settings = await other.as(null).get('/settings')
    assert.equal(settings.headers['x-svc-status'], 'ready')
  } finally {
    await blocker.end()
    await database.drop()
  }
})

test('redirect answers at once and purges beside it; of two purges at once one is refused', async () => {
  await using svc = await startService(allowed)
  await allow(svc)
  const [first, second] = [signedIn(svc), signedIn(svc)]
  await Promise.all([first.token(), second.token()])
  const redirected = await first.post('/system/purgeall', undefined, { redirect: '/docs/' })
  assert.deepEqual([redirected.status, redirected.headers.location], [302, 'http://localhost:8080/docs/'])
  await until(async () => (await first.get('/user')).body.code === 'InvalidToken')
  assert.equal((await second.post('/system/purgeall')).body.code, 'InvalidToken')

  await allow({ ...svc, as: () => signedIn(svc) })
  const both = [signedIn(svc), signedIn(svc)]
  await Promise.all(both.map((client) => client.token()))
  const statuses = (await Promise.all(both.map((client) => client.post('/system/purgeall')))).map(
    ({ status }) => status,
  )
  assert.equal(statuses.filter((status) => status === 200).length, 1, statuses.join())
  assert.ok(
    statuses.every((status) => [200, 401, 423, 503].includes(status)),
    statuses.join(),
  )
})
