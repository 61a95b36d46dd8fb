import assert from 'node:assert/strict'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Json } from '../support/client.ts'
import { preparedFolder } from '../support/prepared-folder.ts'
import { type ServiceProcess, spawnService } from '../support/process.ts'
import { until } from '../support/until.ts'
import { callbackManifest, nodeScript } from './support.ts'

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

test('kill -9 while a program runs: the program ends, its token holds no longer, and nothing is stored', async () => {
  await using folder = await preparedFolder()
  const plugins = join(folder.path, 'our-plugins')
  const note = join(folder.path, 'noted')
  await mkdir(join(plugins, 'hangs'), { recursive: true })
  await writeFile(join(plugins, 'hangs', 'manifest.yml'), callbackManifest('hangs', { objecttypes: ['note'] }))
  await writeFile(
    join(plugins, 'hangs', 'run.js'),
    nodeScript(`
      require('node:fs').writeFileSync('${note}.new', JSON.stringify({ pid: process.pid, token: payload.info.api_user_access_token }))
      require('node:fs').renameSync('${note}.new', '${note}')
      setInterval(() => {}, 1000)`),
  )
  const env = { SVC_ROOT_PASSWORD: password, SVC_BACKEND_PORT: '0', SVC_PLUGIN_PATHS: plugins }
  const killed = await spawnService(folder.path, env)
  const call = await signIn(killed)
  await call('schema/user/HEAD', {
    version: 1,
    type: 'user',
    tables: [{ name: 'note', in_main_search: true, columns: [{ kind: 'column', name: 'mark', type: 'string' }] }],
  })
  await call('schema/commit?confirm=yes&reindex=skip', {})
  const [{ id }] = (await call('plugin/manage')).plugins
  await call(`plugin/manage/${id}`, { enabled: true })
  const save = call('db/note', [{ _objecttype: 'note', _mask: '_all_fields', note: { mark: 'never' } }]).catch(
    () => null,
  )
  let told: Json = null
  await until(async () => {
    told = JSON.parse(await readFile(note, 'utf8').catch(() => 'null'))
    return told !== null
  })
  const who = (url: string) =>
    fetch(`${url}/api/v1/user/session`, { headers: { authorization: `Bearer ${told.token}` } })
  assert.equal((await who(killed.url)).status, 200)
  killed.child.kill('SIGKILL')
  await killed.exited
  assert.equal(await save, null)
  await until(async () => !runs(told.pid))

  await using again = await spawnService(folder.path, env)
  assert.equal((await who(again.url)).status, 401)
  const callAgain = await signIn(again)
  assert.deepEqual(await callAgain('db/note/_all_fields/list'), [])
  assert.equal((await callAgain('plugin/manage')).plugins[0].enabled, true)
})

function runs(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
