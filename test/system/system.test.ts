import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { payload, startMuseum } from '../support/seed/museum.ts'
import { startService, type TestService } from '../support/service.ts'

suite('system', () => {
  let svc: TestService
  before(async () => {
    svc = await startService({ databaseName: 'museum', externalUrl: 'https://museum.example' })
  })
  after(() => svc[Symbol.asyncDispose]())

  test('the settings need no token', async () => {
    const { status, body } = await svc.as(null).get('/settings')
    assert.equal(status, 200)
    assert.deepEqual(
      [body.name, body.instance, body.external_url, body.capabilities.auth, body.capabilities.read_only],
      ['museum', 'museum', 'https://museum.example', true, false],
    )
    assert.match(body.version, /^\d+\.\d+\.\d+/)
    // A checkout may be anything: only a package says what it was made of (test/package.test.ts).
    for (const name of ['version_release_date', 'build_commit', 'build_commit_time']) assert.ok(!(name in body), name)
    assert.ok(Date.parse(body.startup_time) <= Date.now())
  })

  test('the settings follow a rejected token as if none was sent', async () => {
    const answer = await svc.inject({ url: '/api/v1/settings', headers: { authorization: 'Bearer no-such-token' } })
    assert.equal(answer.statusCode, 200)
  })

  test('the status counts what is stored, for root only', async () => {
    const { status, body } = await svc.as('root').get('/system/status')
    assert.equal(status, 200)
    const names = body.basetypes.map((type: { type_name: string }) => type.type_name)
    assert.deepEqual(names, ['pool', 'user', 'group', 'tag', 'event'])
    assert.ok(body.basetypes.find((type: { type_name: string }) => type.type_name === 'user').total_count > 0)
    assert.deepEqual(body.objecttypes, [])
    assert.equal(body.total_not_indexed, 0)
    const stranger = await svc.as(null).get('/system/status')
    assert.deepEqual([stranger.status, stranger.body.code], [401, 'UserRequired'])
  })

  test('errortest always answers the error envelope', async () => {
    const { status, body } = await svc.as('root').get('/system/errortest')
    assert.deepEqual([status, body.code, body.package, body.realm], [400, 'ServerGeneric', 'ferrors', 'api'])
  })
})

test('the status counts objects by type, in the index and not', async () => {
  await using museum = await startMuseum()
  const root = museum.svc.as('root')
  const people = [payload('person', { name: 'Ada' }), payload('person', { name: 'Grace' })]
  assert.equal((await root.post('/db/person', people, { skip_index: true })).status, 200)
  const { body } = await root.get('/system/status')
  const { avg_size, total_size, ...counts } = body.objecttypes.find(
    (type: { type_name: string }) => type.type_name === 'person',
  )
  assert.deepEqual(counts, {
    type_name: 'person',
    total_count: 2,
    indexed_count: 0,
    not_indexed_count: 2,
    error_count: 0,
  })
  const { rows } = await museum.svc.db.query<{ bytes: number }>(
    'select sum(octet_length(content::text))::int8 as bytes from object_version',
  )
  assert.equal(avg_size, Math.round((rows[0]?.bytes ?? 0) / 2))
  assert.equal(total_size, 2 * avg_size)
  // Of many a sample is enough.
  const name = (at: number): string => 'x'.repeat(100 + (at % 2))
  for (let at = 0; at < 6000; at += 1000) {
    const more = Array.from({ length: 1000 }, (_, index) => payload('topic', { name: name(index) }))
    assert.equal((await root.post('/db/topic', more, { skip_index: true, skip_events: true })).status, 200)
  }
  const { objecttypes } = (await root.get('/system/status')).body
  const topic = objecttypes.find((type: { type_name: string }) => type.type_name === 'topic')
  const one = JSON.stringify({ 1: name(0) }).length
  assert.ok(Math.abs(topic.avg_size - one) < 20, `${topic.avg_size} bytes`)
  assert.equal(topic.total_size, 6000 * topic.avg_size)
  assert.equal(body.indices_objects.objects.person, 0)
  assert.equal(body.total_not_indexed, 0)
})

test('the address of the service shows a person what runs here, and a program the same as JSON', async () => {
  await using svc = await startService({ databaseName: 'museum' })
  const page = await svc.inject({ method: 'GET', url: '/', headers: { accept: 'text/html,*/*;q=0.8' } })
  assert.equal(page.statusCode, 200)
  assert.match(String(page.headers['content-type']), /^text\/html/)
  for (const text of ['museum', 'Strongroom', 'The service runs.', 'api/v1/system/openapi/'])
    assert.ok(page.payload.includes(text), text)
  assert.equal((await svc.as('root').post('/config/system/config/name/title', '<b>Lab & Co</b>')).status, 200)
  const named = await svc.inject({ method: 'GET', url: '/', headers: { accept: 'text/html' } })
  assert.match(named.payload, /(&lt;|&#60;)b(&gt;|&#62;)Lab (&amp;|&#38;) Co/)
  assert.ok(!named.payload.includes('<b>Lab'))
  const program = await svc.inject({ method: 'GET', url: '/' })
  assert.equal(program.json().ready, true)
  assert.equal(program.json().openapi, '/api/v1/system/openapi/spec.json')
})
