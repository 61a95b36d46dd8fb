import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json } from '../support/client.ts'
import { attachService, startService, type TestService, type TestServiceOptions } from '../support/service.ts'

const path = '/api/v1/eas/tus'

/** Two users who may upload pictures of at most 100 MB. */
async function startArchive(options: TestServiceOptions): Promise<TestService> {
  const svc = await startService(options)
  const root = svc.as('root')
  const people = ['greedy', 'other'].map((login) => ({ user: { login }, _password: login }))
  const made = await root.post('/user', people, { confirm: 'ignore_password_requirements' })
  assert.equal(made.status, 200, JSON.stringify(made.body))
  const [stored] = (await root.get('/pool/1')).body
  const rights = { asset_upload: { classes: ['image'], extensions: ['jpg'], limit: 100_000_000 } }
  const acl = made.body.map(({ user }: Json) => ({ who: { _basetype: 'user', user: { _id: user._id } }, rights }))
  const saved = await root.post('/pool', [
    { pool: { _id: 1, _version: stored.pool._version }, _acl: [...(stored._acl ?? []), ...acl] },
  ])
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
  return svc
}

async function send(
  svc: TestService,
  login: string,
  request: { method: 'POST' | 'PATCH' | 'DELETE'; url: string; headers: Record<string, string>; payload?: Buffer },
) {
  const headers = {
    'tus-resumable': '1.0.0',
    authorization: `Bearer ${await svc.as(login).token()}`,
    ...request.headers,
  }
  const answer = await svc.inject({ ...request, headers })
  const body: Json = answer.body === '' ? {} : answer.json()
  return { status: answer.statusCode, code: body.code, parameters: body.parameters, headers: answer.headers }
}

function begin(svc: TestService, login: string, size: number, filename = 'scan.jpg') {
  const metadata = `filename ${Buffer.from(filename).toString('base64')}`
  const headers = { 'upload-length': String(size), 'upload-metadata': metadata }
  return send(svc, login, { method: 'POST', url: path, headers })
}

const piece = (svc: TestService, login: string, url: string, offset: number, payload: Buffer) => {
  const headers = { 'upload-offset': String(offset), 'content-type': 'application/offset+octet-stream' }
  return send(svc, login, { method: 'PATCH', url, headers, payload })
}

const stored = async ({ db }: TestService): Promise<number> =>
  (await db.query<{ count: number }>('select count(*)::int as count from file_upload')).rows[0]?.count ?? 0

test('a user has begun so many uploads, over all processes and however many come at once; others begin theirs', async () => {
  await using svc = await startArchive({ quotaUploads: 3 })
  await using second = await attachService(svc.dsn, { dataDir: svc.config.dataDir, quotaUploads: 3 })
  const all = await Promise.all(Array.from({ length: 8 }, (_, n) => begin(n % 2 === 0 ? svc : second, 'greedy', 1000)))
  const begun = all.filter(({ status }) => status === 201)
  assert.equal(begun.length, 3)
  const refused = all.filter(({ status }) => status === 429)
  assert.equal(refused.length, 5)
  assert.equal(refused[0]?.code, 'QuotaExceeded')
  assert.deepEqual(refused[0]?.parameters, { quota: 'svc.quotas.uploads', most: 3, retry_after: 60 })
  assert.equal(refused[0]?.headers['retry-after'], '60')
  assert.equal((await begin(svc, 'other', 1000)).status, 201)
  const url = String(begun[0]?.headers.location)
  assert.equal((await send(svc, 'greedy', { method: 'DELETE', url, headers: {} })).status, 204)
  assert.equal((await begin(svc, 'greedy', 1000)).status, 201)
  // What is given up by nobody goes after a day, and gives its place back.
  assert.equal((await begin(svc, 'greedy', 1000)).status, 429)
  await svc.app.tidy(new Date(Date.now() + 2 * 86_400_000))
  assert.equal(await stored(svc), 0)
  assert.equal((await begin(svc, 'greedy', 1000)).status, 201)
})

test('what uploads announce is no more than a file may have, than there is room for, and than a user may announce', async () => {
  await using svc = await startArchive({ quotaUploadBytes: 150_000_000 })
  // Also where the name does not say yet what it is.
  for (const name of ['scan.jpg', 'scan']) {
    const large = await begin(svc, 'greedy', 10 ** 15 - 1, name)
    assert.deepEqual([large.status, large.code, large.parameters], [413, 'PayloadTooLarge', { bytes: 100_000_000 }])
  }
  assert.equal((await begin(svc, 'greedy', 100_000_000)).status, 201)
  const more = await begin(svc, 'greedy', 100_000_000)
  assert.deepEqual([more.status, more.code, more.parameters.quota], [429, 'QuotaExceeded', 'svc.quotas.uploadBytes'])
  assert.equal((await begin(svc, 'greedy', 50_000_000)).status, 201)
  assert.equal((await begin(svc, 'other', 100_000_000)).status, 201)
  await using roomy = await attachService(svc.dsn, { dataDir: svc.config.dataDir, quotaUploadBytes: 2 ** 52 })
  const noRoom = await begin(roomy, 'root', 10 ** 15 - 1)
  assert.deepEqual([noRoom.status, noRoom.code], [503, 'ServiceUnavailable'])
  assert.equal((await begin(roomy, 'root', 1000)).status, 201)
})

test('an upload has an end of its pieces', async () => {
  await using svc = await startArchive({})
  const url = String((await begin(svc, 'greedy', 600_000)).headers.location)
  assert.equal((await piece(svc, 'greedy', url, 0, Buffer.from([1]))).status, 204)
  await svc.db.query('update file_upload set pieces = 1001')
  assert.equal((await piece(svc, 'greedy', url, 1, Buffer.from([2]))).status, 204)
  const refused = await piece(svc, 'greedy', url, 2, Buffer.from([3]))
  assert.deepEqual([refused.status, refused.code, refused.parameters], [400, 'UploadError', { most: 1002 }])
})
