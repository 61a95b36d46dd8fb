import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Json } from '../support/client.ts'
import { preparedFolder } from '../support/prepared-folder.ts'
import { runCommand, spawnService } from '../support/process.ts'
import { sendRaw, statusOf } from '../support/raw.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { multipart, picture, sha256 } from './support.ts'

const env = { SVC_ROOT_PASSWORD: 'root-test-password' }

async function tokenAt(url: string): Promise<string> {
  const body = new URLSearchParams({
    grant_type: 'password',
    client_id: 'svc-web-frontend',
    username: 'root',
    password: env.SVC_ROOT_PASSWORD,
  })
  const response = await fetch(`${url}/api/oauth2/token`, { method: 'POST', body })
  return ((await response.json()) as { access_token: string }).access_token
}

const filesIn = async (folder: string): Promise<string[]> =>
  (await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []))
    .filter((entry) => entry.isFile())
    .map((entry) => entry.name)

test('kill -9 while uploading, producing and moving: what was acknowledged is there and whole, and all goes on', async () => {
  await using folder = await preparedFolder()
  const acknowledged = new Map<number, { hash: string; url: string }>()
  const killed = await spawnService(folder.path, env)
  const authorization = `Bearer ${await tokenAt(killed.url)}`
  const ask = async (url: string, method: string, path: string, body?: object): Promise<Json> => {
    const headers = { authorization, 'content-type': 'application/json' }
    const answer = await fetch(`${url}/api/v1${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) })
    assert.equal(answer.status, 200, path)
    return answer.json()
  }
  await ask(killed.url, 'POST', '/system/location/new', {
    name: 'shelf',
    kind: 'file',
    config: { file: { dir: 'files/shelf' } },
  })
  let stopped = false
  async function uploads(): Promise<void> {
    while (!stopped) {
      const size = 20_000 + Math.floor(Math.random() * 400_000)
      // Of one in four there are renditions.
      const isPicture = acknowledged.size % 4 === 0
      const content = isPicture ? await picture(300, 200) : randomBytes(size)
      const { headers, payload } = multipart([{ name: isPicture ? 'a.jpg' : 'a.bin', content }])
      try {
        const answer = await fetch(`${killed.url}/api/v1/eas/put`, {
          method: 'POST',
          headers: { ...headers, authorization },
          body: new Uint8Array(payload),
        })
        if (answer.status !== 200) continue
        const [{ _id, versions }] = (await answer.json()) as Json
        acknowledged.set(_id, { hash: sha256(content), url: versions.original.url })
      } catch {
        return
      }
    }
  }
  const running = Array.from({ length: 4 }, uploads)
  await until(async () => acknowledged.size >= 20)
  await ask(killed.url, 'POST', '/config/system/config', { location_defaults: { originals: 'shelf', versions: '' } })
  await ask(killed.url, 'POST', '/system/location/1/move', { to: 'shelf' })
  const moved = async (url: string): Promise<Json> => (await ask(url, 'GET', '/system/location/move'))[0]
  await until(async () => (await moved(killed.url)).moved > 0)
  killed.child.kill('SIGKILL')
  await killed.exited
  stopped = true
  await Promise.all(running)
  await using again = await spawnService(folder.path, env)
  await until(async () => (await moved(again.url)).status === 'done')
  await until(async () => {
    const records: Json = await ask(again.url, 'GET', `/eas?ids=${JSON.stringify([...acknowledged.keys()])}`)
    return Object.values(records as Record<string, Json>).every(({ status }) => status === 'done')
  })
  for (const { hash, url } of acknowledged.values()) {
    const { pathname, search } = new URL(url)
    const answer = await fetch(again.url + pathname + search)
    assert.equal(answer.status, 200)
    assert.equal(sha256(Buffer.from(await answer.arrayBuffer())), hash)
  }
  const { locations } = await ask(again.url, 'GET', '/system/location/fixity')
  const shelf = locations.find(({ location_key }: Json) => location_key === 'shelf')
  assert.ok(shelf.count >= acknowledged.size)
  const backup = await runCommand(['backup', join(folder.path, 'b.tar.zst')], { SVC_DATA_DIR: folder.path })
  assert.equal(backup.code, 0, backup.stderr)
  assert.match(backup.stdout, /^in it: \d+ contents of files \(.* MB\) of the location shelf: /m)
  const names = await filesIn(join(folder.path, 'files'))
  for (const { hash } of acknowledged.values()) assert.ok(names.includes(hash))
})

test('a client that stops in the middle leaves nothing, with and without multipart', async () => {
  await using svc = await startService()
  const port = Number(new URL(await svc.listen()).port)
  const token = await svc.as('root').token()
  const tmp = join(svc.config.dataDir, 'files', 'tmp')
  for (const type of ['application/octet-stream', 'multipart/form-data; boundary=q']) {
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': type,
      'content-length': 10_000_000,
      'content-disposition': 'attachment; filename="a.bin"',
    }
    const part = '--q\r\nContent-Disposition: form-data; name="f"; filename="a.bin"\r\n\r\n'
    const body = (type.startsWith('multipart') ? part : '') + 'x'.repeat(200_000)
    const request = sendRaw({ port, path: '/api/v1/eas/put', headers, body })
    await until(async () => (await filesIn(tmp)).length === 1)
    request.socket.destroy()
    await once(request.socket, 'close')
    await until(async () => (await filesIn(join(svc.config.dataDir, 'files'))).length === 0)
  }
  const { rows } = await svc.db.query<{ files: number; blobs: number }>(
    'select (select count(*)::int from file) as files, (select count(*)::int from file_blob) as blobs',
  )
  assert.deepEqual(rows, [{ files: 0, blobs: 0 }])
})

test('a client that sends too slowly is answered 408; one that is slow but fast enough is not', async () => {
  await using svc = await startService({ slowGrace: 1, leastRate: 1000, requestTimeout: 1 })
  const port = Number(new URL(await svc.listen()).port)
  const token = await svc.as('root').token()
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/octet-stream',
    'content-disposition': 'attachment; filename="a.bin"',
    connection: 'close',
  }
  const path = '/api/v1/eas/put'
  const trickler = sendRaw({ port, path, headers: { ...headers, 'content-length': 1_000_000 }, body: 'x' })
  const timer = setInterval(() => trickler.socket.write('x'), 200)
  const refused = statusOf(await trickler.answer)
  clearInterval(timer)
  assert.equal(refused, 408)
  // Longer than any other request may take to arrive.
  const steady = sendRaw({ port, path, headers: { ...headers, 'content-length': 100_000 } })
  for (let at = 0; at < 10; at++) {
    steady.socket.write('x'.repeat(10_000))
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
  assert.equal(statusOf(await steady.answer), 200)
})
