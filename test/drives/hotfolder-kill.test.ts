import assert from 'node:assert/strict'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { picture } from '../files/support.ts'
import type { Json } from '../support/client.ts'
import { preparedFolder } from '../support/prepared-folder.ts'
import { type ServiceProcess, spawnService } from '../support/process.ts'
import { until } from '../support/until.ts'
import { ask, hrefs } from './support.ts'

const password = 'root-test-password'

async function signIn({ url }: ServiceProcess) {
  const body = new URLSearchParams({
    grant_type: 'password',
    client_id: 'svc-web-frontend',
    username: 'root',
    password,
  })
  const { access_token } = (await (await fetch(`${url}/api/oauth2/token`, { method: 'POST', body })).json()) as Json
  return async (path: string, sent?: unknown): Promise<Json> => {
    const response = await fetch(`${url}/api/v1/${path}`, {
      method: sent === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' },
      ...(sent === undefined ? {} : { body: JSON.stringify(sent) }),
    })
    const answer = (await response.json()) as Json
    assert.equal(response.status, 200, JSON.stringify(answer))
    return answer
  }
}

test('kill -9 while files are imported: each of them comes in once, and none is lost', async () => {
  await using folder = await preparedFolder()
  const drops = join(folder.path, 'drops')
  const env = {
    SVC_ROOT_PASSWORD: password,
    SVC_BACKEND_PORT: '0',
    SVC_HOTFOLDER_PATH: drops,
    SVC_HOTFOLDER_RESERVE: '0',
  }
  let service = await spawnService(folder.path, env)
  let call = await signIn(service)
  await call('schema/user/HEAD', {
    version: 1,
    type: 'user',
    tables: [{ name: 'photo', in_main_search: true, columns: [{ kind: 'column', name: 'image', type: 'eas' }] }],
  })
  await call('schema/commit?confirm=yes&reindex=skip', {})
  const webdav = { read_write_access: true, hotfolder: true, hotfolder_wait_sec: 1 }
  await call('config', { system: { config: { webdav } } })
  const made = await call('collection', {
    collection: { displayname: { 'en-US': 'Drop' }, create_object: { objecttype: 'photo', eas_field: 'image' } },
  })
  const { _id: id, uuid } = made.collection
  const place = join(drops, uuid)
  await mkdir(place, { recursive: true })
  const content = await picture()
  const total = 600
  for (let at = 0; at < total; at++) await writeFile(join(place, `${at}.jpg`), content)
  const left = async (): Promise<string[]> =>
    (await readdir(place)).filter((name) => !name.startsWith('.') && name !== 'hotfolder.log')

  // Ended as soon as files are taken, as soon as objects are there, and as soon as files are gone.
  const moments = [
    async () => (await left()).some((name) => name.startsWith('IMPORTING-')),
    async () => (await call(`collection/objects/${id}?limit=1`)).count > 0,
    async () => (await left()).length < total - 300,
  ]
  for (const moment of moments) {
    await until(moment)
    service.child.kill('SIGKILL')
    await service.exited
    service = await spawnService(folder.path, env)
    call = await signIn(service)
  }
  await using last = service
  await until(async () => (await left()).length === 0, 120)
  assert.equal((await call(`collection/objects/${id}?limit=1`)).count, total)
  const [{ url }] = made._hotfolder_upload_urls
  const listed = await ask(last.url + new URL(url).pathname, 'PROPFIND', { depth: '1' })
  const names = hrefs(listed.text).slice(1)
  // A second one would be called `7 (2).jpg`.
  assert.deepEqual(names.toSorted(), Array.from({ length: total }, (_, at) => `${at}.jpg`).toSorted())
  const rows = (await readFile(join(place, 'hotfolder.log'), 'utf8')).trim().split('\n')
  assert.ok(rows.every((row) => !row.includes('\terror\t')))
})
