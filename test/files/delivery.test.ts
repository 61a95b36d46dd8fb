import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { readRange } from '../../src/files/delivery/ranges.ts'
import { openSignatures } from '../../src/files/delivery/signatures.ts'
import type { Json } from '../support/client.ts'
import { startService, type TestService } from '../support/service.ts'
import { fetched, sha256, upload } from './support.ts'

suite('delivery of files', () => {
  let svc: TestService
  let url: string
  let file: Json
  const content = randomBytes(100_000)
  before(async () => {
    svc = await startService()
    await svc.as('root').post('/user', [{ user: { login: 'nina' }, _password: 'nina' }])
    const { body } = await upload(svc, 'root', [{ name: 'film.bin', content }])
    file = body[0]
    url = file.versions.original.url
  })
  after(() => svc[Symbol.asyncDispose]())

  const bearer = async (login: string) => ({ authorization: `Bearer ${await svc.as(login).token()}` })
  const bare = () => url.split('?')[0] as string
  const code = (answer: { content: Buffer }) => JSON.parse(answer.content.toString()).code

  test('ranges: parts of a content, its end, and what is none', async () => {
    const cases: [string, number, Buffer][] = [
      ['bytes=0-0', 206, content.subarray(0, 1)],
      ['bytes=10-19', 206, content.subarray(10, 20)],
      ['bytes=99990-', 206, content.subarray(99_990)],
      ['bytes=99990-999999999', 206, content.subarray(99_990)],
      ['bytes=-10', 206, content.subarray(-10)],
      ['bytes=-999999', 206, content],
      ['bytes=20-10', 200, content],
      ['bytes=0-1,5-6', 200, content],
      [`bytes=${'0-,'.repeat(1000)}1-`, 200, content],
      ['lines=0-1', 200, content],
      ['bytes=a-b', 200, content],
      ['bytes=', 200, content],
    ]
    for (const [range, status, expected] of cases) {
      const answer = await fetched(svc, url, { range })
      assert.equal(answer.status, status, range)
      assert.ok(answer.content.equals(expected), range)
      assert.equal(answer.headers['content-length'], `${expected.length}`, range)
      assert.equal(answer.headers['accept-ranges'], 'bytes')
    }
    const part = await fetched(svc, url, { range: 'bytes=10-19' })
    assert.equal(part.headers['content-range'], 'bytes 10-19/100000')
    for (const range of ['bytes=100000-', 'bytes=200000-200001', 'bytes=-0']) {
      const answer = await fetched(svc, url, { range })
      assert.deepEqual([answer.status, answer.headers['content-range']], [416, 'bytes */100000'], range)
    }
  })

  test('no range ever asks for bytes that are not there', () => {
    for (const size of [0, 1, 5]) {
      for (const header of [
        'bytes=0-',
        'bytes=0-0',
        'bytes=-1',
        'bytes=-9',
        'bytes=4-9',
        'bytes=9-',
        'bytes=999999999999999-',
      ]) {
        const range = readRange(header, size)
        if (typeof range === 'string') continue
        assert.ok(range.start >= 0 && range.start <= range.end && range.end < size, `${header} of ${size}`)
      }
    }
  })

  test('conditional requests: what is known is not sent again; a range of something else is not mixed in', async () => {
    const first = await fetched(svc, url)
    const tag = String(first.headers.etag)
    assert.equal(tag, `"${sha256(content)}"`)
    const at = String(first.headers['last-modified'])
    const known: Record<string, string>[] = [
      { 'if-none-match': tag },
      { 'if-none-match': `"x", W/${tag}` },
      { 'if-none-match': '*' },
      { 'if-modified-since': at },
    ]
    for (const headers of known) {
      const answer = await fetched(svc, url, headers)
      assert.deepEqual([answer.status, answer.content.length], [304, 0])
    }
    assert.equal((await fetched(svc, url, { 'if-none-match': '"x"' })).status, 200)
    assert.equal((await fetched(svc, url, { 'if-none-match': '"x"', 'if-modified-since': at })).status, 200)
    assert.equal((await fetched(svc, url, { 'if-modified-since': new Date(0).toUTCString() })).status, 200)
    assert.equal((await fetched(svc, url, { range: 'bytes=0-1', 'if-range': tag })).status, 206)
    assert.equal((await fetched(svc, url, { range: 'bytes=0-1', 'if-range': '"other"' })).status, 200)
  })

  test('HEAD says the same and sends nothing', async () => {
    const answer = await fetched(svc, url, {}, 'HEAD')
    assert.deepEqual([answer.status, answer.content.length], [200, 0])
    assert.equal(answer.headers['content-length'], '100000')
    assert.equal((await fetched(svc, bare(), {}, 'HEAD')).status, 403)
  })

  test('a wrong hash or signature is 403, an unknown file 404, never 401', async () => {
    const signature = new URL(url).searchParams.get('x-svc-signature') as string
    const [until, mac] = signature.split('-') as [string, string]
    const path = `${bare()}`
    const wrong = [
      `${path}?x-svc-signature=`,
      `${path}?x-svc-signature=x`,
      `${path}?x-svc-signature=${signature}x`,
      `${path}?x-svc-signature=${until}-${'A'.repeat(32)}`,
      `${path}?x-svc-signature=${(Number.parseInt(until, 36) + 3600).toString(36)}-${mac}`,
      url.replace(sha256(content), 'a'.repeat(64)),
      url.replace(sha256(content), 'x'),
      path,
    ]
    for (const address of wrong) {
      const answer = await fetched(svc, address)
      assert.deepEqual([answer.status, code(answer)], [403, 'InsufficientRights'], address)
    }
    for (const address of [url.replace(`/${file._id}/`, '/999999/'), url.replace('/original', '/preview')]) {
      const answer = await fetched(svc, address)
      assert.deepEqual([answer.status, code(answer)], [404, 'ResourceNotFound'], address)
    }
    for (const parameter of [
      'format=png',
      'size=10',
      'width=1',
      'height=1',
      'resize_mode=max',
      'crop=x',
      'quality=1',
      'dpi=1',
      'recipe=x',
      'recipe_params=x',
      'obj_uuid=x',
    ]) {
      assert.equal(code(await fetched(svc, `${url}&${parameter}`)), 'UrlParameterNotSupported', parameter)
    }
    const { pathname } = new URL(bare())
    const header = await svc.inject({ url: pathname, headers: { 'x-svc-signature': signature } })
    assert.equal(header.statusCode, 200)
  })

  test('without a signature the rights of the caller count; a rejected token is none', async () => {
    assert.equal((await fetched(svc, bare(), await bearer('root'))).status, 200)
    for (const headers of [await bearer('nina'), { authorization: 'Bearer nothing' }, {}]) {
      const answer = await fetched(svc, bare(), headers)
      assert.deepEqual([answer.status, code(answer)], [403, 'InsufficientRights'])
    }
    for (const headers of [await bearer('nina'), { authorization: 'Bearer nothing' }]) {
      const answer = await fetched(svc, url, headers)
      assert.equal(answer.status, 200, 'a signature is enough')
    }
  })

  test('a signature ends, and is the same for all who ask within the hour', async () => {
    let now = Date.parse('2026-11-22T10:20:00Z')
    const signatures = await openSignatures(svc.db, () => now)
    const signed = { fileId: 1, hash: 'h', version: 'original' }
    const signature = signatures.sign(signed, 7 * 86_400)
    now += 39 * 60_000
    assert.equal(signatures.sign(signed, 7 * 86_400), signature)
    assert.equal((await openSignatures(svc.db, () => now)).left(signed, signature), 7 * 86_400 + 60)
    for (const other of [
      { ...signed, fileId: 2 },
      { ...signed, hash: 'g' },
      { ...signed, version: 'small' },
    ]) {
      assert.equal(signatures.left(other, signature), null)
    }
    now += 7 * 86_400_000 + 60_000
    assert.equal(signatures.left(signed, signature), null)
  })

  test('a content that is not there is 503 and logged, and the next is delivered', async () => {
    const lost = randomBytes(50)
    const { body } = await upload(svc, 'root', [{ name: 'lost.bin', content: lost }])
    const hash = sha256(lost)
    await rm(join(svc.config.dataDir, 'files', hash.slice(0, 2), hash.slice(2, 4), hash))
    const answer = await fetched(svc, body[0].versions.original.url)
    assert.deepEqual([answer.status, code(answer)], [503, 'ServiceUnavailable'])
    assert.equal((await fetched(svc, url)).status, 200)
  })
})
