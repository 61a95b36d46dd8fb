import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createUsers } from '../signin/support.ts'
import type { Client, Json } from '../support/client.ts'
import { attachService, startService, type TestService } from '../support/service.ts'

let svc: TestService
let root: Client
let mia: Client
let ben: Client

before(async () => {
  svc = await startService()
  await createUsers(svc, { user: { login: 'mia', _version: 1 } }, { user: { login: 'ben', _version: 1 } })
  ;[root, mia, ben] = [svc.as('root'), svc.as('mia'), svc.as('ben')]
})
after(() => svc[Symbol.asyncDispose]())

const place = '/system/share_link'
const days = (count: number): string => new Date(Date.now() + count * 86_400_000).toISOString()
const make = (client: Client, body: object) => client.post(place, { path: '/collection/17', ...body })
const open = (url: string) => svc.inject({ method: 'GET', url })

async function made(client: Client, body: object): Promise<Json> {
  const answer = await make(client, body)
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body
}

test('a link leads to its path by id and by alias, with nothing of the query that it was opened with', async () => {
  const path = '/collection/2f0e?view=list#login=abc'
  const link = await made(mia, { path, alias: 'press-kit' })
  assert.match(link.share_id, /^[a-zA-Z0-9]{16}$/)
  assert.deepEqual([link.path, link.alias], [path, 'press-kit'])
  const life = Date.parse(link.expires_at) - Date.parse(link.created_at)
  assert.ok(Math.abs(life - 90 * 86_400_000) < 60_000)
  for (const name of [link.share_id, 'press-kit']) {
    for (const url of [`/share/${name}`, `/share/${name}?evil=1`, `/api/v1${place}/${name}`]) {
      const answer = await open(url)
      assert.equal(answer.statusCode, 301, url)
      assert.equal(answer.headers.location, `${svc.config.externalUrl}${path}`)
      assert.match(String(answer.headers['cache-control']), /^no-store/)
      assert.equal(answer.headers['referrer-policy'], 'no-referrer')
    }
  }
  for (const url of ['/share/unknown', `/api/v1${place}/unknown`]) {
    const answer = await open(url)
    assert.deepEqual([answer.statusCode, answer.json().code], [400, 'ShareLinkInvalid'])
  }
  const page = await svc.inject({ method: 'GET', url: '/share/unknown', headers: { accept: 'text/html' } })
  assert.equal(page.statusCode, 400)
  assert.match(page.body, /<html/)
})

test('only addresses of the service can be shortened', async () => {
  for (const path of [
    '',
    'collection',
    '//evil.example',
    '/\\evil.example',
    '\\/evil.example',
    '/a\\b',
    '/a\nb',
    '/a\tb',
    '/ä',
    '/a b',
    'https://evil.example/',
    '/"><script>',
    `/${'a'.repeat(2000)}`,
  ]) {
    const { status, body } = await make(mia, { path })
    assert.deepEqual([status, body.code], [400, 'ShareLinkPathInvalid'], JSON.stringify(path))
  }
  for (const path of ['/', '/..//evil.example', '/@evil.example', '/%2f%2fevil.example']) {
    const { share_id } = await made(mia, { path })
    const { location } = (await open(`/share/${share_id}`)).headers
    assert.equal(new URL(String(location)).origin, new URL(svc.config.externalUrl).origin, path)
  }
})

test('aliases and ends are checked', async () => {
  for (const alias of ['ab', '-abc', 'abc-', 'a b c', 'a/b/c', 'ähm', 'a'.repeat(101)]) {
    assert.equal((await make(mia, { alias })).body.code, 'ShareLinkAliasInvalid', alias)
  }
  await made(mia, { alias: 'a_~.-9' })
  const taken = await make(ben, { alias: 'a_~.-9' })
  assert.deepEqual([taken.status, taken.body.code], [400, 'ShareLinkAlreadyExists'])
  const { share_id: id } = await made(mia, {})
  assert.equal((await make(ben, { alias: id })).body.code, 'ShareLinkAlreadyExists')
  assert.equal((await make(mia, { expires_at: days(-1) })).body.code, 'ShareLinkExpirationDateInPast')
  for (const expires_at of [days(3660), 'tomorrow', '2999'])
    assert.deepEqual([(await make(mia, { expires_at })).status], [400], expires_at)
  const end = days(3600)
  assert.equal((await made(mia, { expires_at: end })).expires_at, end)
})

test('a link that has ended leads nowhere, and its alias is free', async () => {
  await made(mia, { alias: 'soon-over', expires_at: days(1) })
  await svc.db.query(`update share_link set expires_at = now() where alias = 'soon-over'`)
  assert.equal((await open('/share/soon-over')).statusCode, 400)
  assert.ok(!(await mia.get(place)).body.some((one: Json) => one.alias === 'soon-over'))
  await made(ben, { alias: 'soon-over', path: '/ben' })
  assert.equal((await open('/share/soon-over')).headers.location, `${svc.config.externalUrl}/ben`)
})

test('everybody lists and takes away the own ones, root any; who is gone leaves them', async () => {
  const { share_id: id } = await made(ben, { alias: 'of-ben' })
  assert.ok(!(await mia.get(place)).body.some((one: Json) => one.share_id === id))
  assert.equal((await mia.delete(`${place}/${id}`)).body.code, 'ShareLinkInvalid')
  assert.equal((await mia.delete(`${place}/of-ben`)).body.code, 'ShareLinkInvalid')
  assert.equal((await open('/share/of-ben')).statusCode, 301)
  const page = (await ben.get(place, { limit: 1, offset: 1 })).body
  assert.deepEqual(page, (await ben.get(place)).body.slice(1, 2))
  assert.equal((await ben.delete(`${place}/of-ben`)).status, 200)
  assert.equal((await open('/share/of-ben')).statusCode, 400)
  await made(ben, { alias: 'of-ben' })
  assert.equal((await root.delete(`${place}/of-ben`)).status, 200)
  assert.equal((await svc.as(null).post(place, { path: '/a' })).status, 401)
  assert.equal((await svc.as(null).get(place)).status, 401)
})

test('a user has a number of links, over all processes, however many requests come at once', async () => {
  await using other = await attachService(svc.dsn, { quotaShareLinks: 3 })
  await createUsers(svc, { user: { login: 'max', _version: 1 } })
  const client = other.as('max')
  const answers = await Promise.all(Array.from({ length: 6 }, () => make(client, {})))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 200, 200, 429, 429, 429])
  const refused = answers.find(({ status }) => status === 429)
  assert.deepEqual(
    [refused?.body.code, refused?.body.parameters.quota, refused?.body.parameters.most],
    ['QuotaExceeded', 'svc.quotas.shareLinks', 3],
  )
  const [{ share_id: id }] = (await client.get(place)).body
  assert.equal((await client.delete(`${place}/${id}`)).status, 200)
  assert.equal((await make(client, {})).status, 200)
})
