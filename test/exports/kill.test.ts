import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Json } from '../support/client.ts'
import { preparedFolder } from '../support/prepared-folder.ts'
import { type ServiceProcess, spawnService } from '../support/process.ts'
import { until } from '../support/until.ts'
import { exportManifest, reworking } from './plugin-scripts.ts'
import { inFolder, run } from './support.ts'

const env = { SVC_ROOT_PASSWORD: 'root-test-password', SVC_BACKEND_PORT: '0' }
/** Documents of 200 are written together: the kill comes between some of them. */
const count = 1000

async function signedIn({ url }: ServiceProcess) {
  const body = new URLSearchParams({
    grant_type: 'password',
    client_id: 'svc-web-frontend',
    username: 'root',
    password: env.SVC_ROOT_PASSWORD,
  })
  const { access_token } = (await (await fetch(`${url}/api/oauth2/token`, { method: 'POST', body })).json()) as Json
  const headers = { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' }
  const ask = async (method: string, path: string, sent?: unknown): Promise<Json> => {
    const response = await fetch(`${url}/api/v1/${path}`, {
      method,
      headers,
      ...(sent ? { body: JSON.stringify(sent) } : {}),
    })
    const answer = await response.text()
    assert.ok(response.status < 300, answer.slice(0, 500))
    return JSON.parse(answer)
  }
  return Object.assign(ask, { authorization: headers.authorization })
}

test('a run goes on after kill -9, without doubles or gaps', async () => {
  await using folder = await preparedFolder()
  const killed = await spawnService(folder.path, env)
  const ask = await signedIn(killed)
  await ask('POST', 'schema/user/HEAD', {
    version: 1,
    type: 'user',
    tables: [{ name: 'note', in_main_search: true, columns: [{ kind: 'column', name: 'mark', type: 'string' }] }],
  })
  await ask('POST', 'schema/commit?confirm=yes&reindex=skip', {})
  const notes = Array.from({ length: count }, (_, index) => ({
    _objecttype: 'note',
    _mask: '_all_fields',
    note: { mark: `m${index}` },
  }))
  await ask('POST', 'db/note?await_index=60', notes)
  const block = {
    type: 'export',
    name: 'all',
    search: { objecttypes: ['note'] },
    json: true,
    json_one_file_per_object: true,
  }
  const { export: own } = await ask('POST', 'export', { _basetype: 'export', export: block })
  await ask('POST', `export/${own._id}/start`)
  await until(async () => (await ask('GET', `export/${own._id}?format=short`))._files_count >= 100)
  killed.child.kill('SIGKILL')
  await killed.exited

  await using next = await spawnService(folder.path, env)
  const again = await signedIn(next)
  await until(
    async () => !['pending', 'processing'].includes((await again('GET', `export/${own._id}?format=short`))._state),
    120,
  )
  const done = await again('GET', `export/${own._id}`)
  assert.deepEqual([done._state, done._files_count, done._last_relevant_object_count], ['done', count, count])
  const types = done._log.map(({ event }: Json) => event.type)
  assert.equal(types.filter((type: string) => type === 'EXPORT_START').length, 1)
  assert.equal(types.filter((type: string) => type === 'EXPORT_FINISH').length, 1)
  const response = await fetch(`${next.url}/api/v1/export/${own._id}/zip/`, {
    headers: { authorization: again.authorization },
  })
  const zip = await inFolder('all.zip', Buffer.from(await response.arrayBuffer()))
  await run('unzip', ['-tq', zip.path])
  const names = (await run('unzip', ['-Z1', zip.path])).stdout.trim().split('\n')
  const { objects } = await again('POST', 'search', { objecttypes: ['note'], limit: 1000, format: 'short' })
  assert.deepEqual(names.sort(), objects.map((object: Json) => `json/${object._system_object_id}.json`).sort())
})

test('a plugin that the kill ends is asked again, and its answer counts once', async () => {
  await using folder = await preparedFolder()
  const plugins = join(folder.path, 'our-plugins')
  const note = join(folder.path, 'noted')
  await mkdir(join(plugins, 'reworks'), { recursive: true })
  await writeFile(join(plugins, 'reworks', 'manifest.yml'), exportManifest('reworks', { export: { adds: {} } }))
  await writeFile(
    join(plugins, 'reworks', 'run.js'),
    reworking(`async adds({ exported, action }) {
      const fs = require('node:fs')
      if (action) return 'made'
      if (!fs.existsSync('${note}')) {
        fs.writeFileSync('${note}', '')
        await new Promise((resolve) => setTimeout(resolve, 120000))
      }
      const file = { export_file_internal: { path: 'made.txt', plugin_action: 'make' } }
      return { ...exported, _files: [...exported._files, file], _state: 'done', _plugin_log: ['asked again'] }
    }`),
  )
  const own = { ...env, SVC_PLUGIN_PATHS: plugins }
  const killed = await spawnService(folder.path, own)
  const ask = await signedIn(killed)
  await ask('POST', 'schema/user/HEAD', {
    version: 1,
    type: 'user',
    tables: [{ name: 'note', in_main_search: true, columns: [{ kind: 'column', name: 'mark', type: 'string' }] }],
  })
  await ask('POST', 'schema/commit?confirm=yes&reindex=skip', {})
  await ask('POST', 'db/note?await_index=60', [{ _objecttype: 'note', _mask: '_all_fields', note: { mark: 'a' } }])
  const [{ id }] = (await ask('GET', 'plugin/manage')).plugins
  await ask('POST', `plugin/manage/${id}`, { enabled: true })
  const block = {
    type: 'export',
    name: 'reworked',
    search: { objecttypes: ['note'] },
    json: true,
    produce_options: { plugin: 'reworks:adds' },
  }
  const { export: made } = await ask('POST', 'export', { _basetype: 'export', export: block })
  await ask('POST', `export/${made._id}/start`)
  await until(async () => existsSync(note))
  killed.child.kill('SIGKILL')
  await killed.exited

  await using next = await spawnService(folder.path, own)
  const again = await signedIn(next)
  const state = async (): Promise<string> => (await again('GET', `export/${made._id}?format=short`))._state
  await until(async () => !['pending', 'processing'].includes(await state()), 120)
  const done = await again('GET', `export/${made._id}`)
  assert.deepEqual(
    [done._state, done._plugin_log, done._files.map(({ path }: Json) => path)],
    ['done', ['asked again'], ['export.json', 'made.txt']],
  )
  const headers = { authorization: again.authorization }
  const response = await fetch(`${next.url}/api/v1/export/${made._id}/file/made.txt`, { headers })
  assert.equal(await response.text(), 'made')
})
