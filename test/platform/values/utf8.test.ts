import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { loadConfig } from '../../../src/platform/config/load.ts'
import { escapesUtf8, invalidUtf8At } from '../../../src/platform/values/utf8.ts'
import { temporaryFolder } from '../../support/process.ts'
import { startService, type TestService } from '../../support/service.ts'

const latin = (text: string): Buffer => Buffer.from(text, 'latin1')

test('bytes are UTF-8 exactly when they come back from their text', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 12 }), (array) => {
      const bytes = Buffer.from(array)
      const at = invalidUtf8At(bytes)
      const again = Buffer.from(bytes.toString())
      assert.equal(at === -1, again.equals(bytes))
      if (at !== -1) assert.deepEqual(again.subarray(0, at), bytes.subarray(0, at))
    }),
  )
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      assert.ok(escapesUtf8(encodeURIComponent(text)))
    }),
  )
  for (const text of ['100%', '%', '%zz', 'a%2', 'plain']) assert.ok(escapesUtf8(text), text)
  for (const text of ['%FC', 'a%C3', '%ED%A0%80', '%C0%AF']) assert.ok(!escapesUtf8(text), text)
})

interface Attempt {
  readonly method?: 'GET' | 'POST' | 'PATCH'
  readonly url: string
  readonly type?: string
  readonly payload?: Buffer
  readonly headers?: Record<string, string>
}

async function send(svc: TestService, { method = 'POST', url, type, payload, headers = {} }: Attempt) {
  const authorization = `Bearer ${await svc.as('root').token()}`
  const typed = type === undefined ? {} : { 'content-type': type }
  const answer = await svc.inject({
    method,
    url,
    headers: { authorization, ...typed, ...headers },
    ...(payload ? { payload } : {}),
  })
  return { status: answer.statusCode, body: answer.body }
}

test('text that is not UTF-8 is refused wherever it comes in, and nothing is stored', async () => {
  await using svc = await startService()
  const part = (name: string): Buffer =>
    Buffer.concat([
      latin(`--q\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\n\r\n`),
      latin('content\r\n--q--\r\n'),
    ])
  const attempts: Readonly<Record<string, Attempt>> = {
    'a JSON body': {
      url: '/api/v1/tags',
      type: 'application/json',
      payload: latin('[{"taggroup":{"displayname":{"en-US":"M\xfcnchen"}}}]'),
    },
    'the body of an event': {
      url: '/api/v1/event',
      type: 'application/json',
      payload: latin('{"event":{"type":"FRONTEND_ERROR","info":{"text":"M\xfcnchen"}}}'),
    },
    'a form': {
      url: '/api/oauth2/token',
      type: 'application/x-www-form-urlencoded',
      payload: latin('grant_type=password&client_id=web-client&username=M\xfcnchen&password=x'),
    },
    'an escape in a form': {
      url: '/api/oauth2/token',
      type: 'application/x-www-form-urlencoded',
      payload: latin('grant_type=password&client_id=web-client&username=M%FCnchen&password=x'),
    },
    'an escape in a query': { method: 'GET', url: '/api/v1/event/list?type=M%FCnchen' },
    'an escape in a path': { method: 'GET', url: '/api/v1/db/M%FCnchen/_all_fields/1' },
    'the name of a part': {
      url: '/api/v1/eas/put',
      type: 'multipart/form-data; boundary=q',
      payload: part('M\xfcnchen.txt'),
    },
    'the metadata of a resumable upload': {
      url: '/api/v1/eas/tus',
      headers: {
        'tus-resumable': '1.0.0',
        'upload-length': '3',
        'upload-metadata': `filename ${latin('M\xfcnchen.txt').toString('base64')}`,
      },
    },
    'metadata that are no base64': {
      url: '/api/v1/eas/tus',
      headers: { 'tus-resumable': '1.0.0', 'upload-length': '3', 'upload-metadata': 'filename YS50$eHQ=' },
    },
  }
  for (const [name, attempt] of Object.entries(attempts)) {
    const { status, body } = await send(svc, attempt)
    assert.equal(status, 400, `${name}: ${status} ${body}`)
  }
  const { rows } = await svc.db.query<{ count: number }>(
    'select (select count(*) from file)::int + (select count(*) from tag)::int as count',
  )
  assert.deepEqual(rows, [{ count: 0 }])
  const json = attempts['a JSON body'] as Attempt
  const { body } = await send(svc, json)
  assert.equal(JSON.parse(body).parameters.byte, json.payload?.indexOf(0xfc))
})

test('names of files come as UTF-8 in headers, too', async () => {
  await using svc = await startService()
  const disposition = latin('attachment; filename="M\xc3\xbcnchen.txt"').toString('latin1')
  const { status, body } = await send(svc, {
    url: '/api/v1/eas/put?produce_versions=false',
    type: 'application/octet-stream',
    payload: latin('content'),
    headers: { 'content-disposition': disposition },
  })
  assert.equal(status, 200, body)
  assert.match(body, /München\.txt/)
})

test('a configuration file that is not UTF-8 is refused', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'svc.yml')
  await writeFile(path, latin('svc:\n  databaseName: M\xfcnchen\n'))
  assert.throws(() => loadConfig({ file: path, env: {}, cwd: folder.path }), /svc\.yml: is not UTF-8 at byte 22/)
})
