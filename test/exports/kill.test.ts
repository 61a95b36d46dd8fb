import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json } from '../support/client.ts'
import { preparedFolder } from '../support/prepared-folder.ts'
import { type ServiceProcess, spawnService } from '../support/process.ts'
import { until } from '../support/until.ts'
import { inFolder, run } from './support.ts'

const env = { SVC_ROOT_PASSWORD: 'root-test-password', SVC_BACKEND_PORT: '0' }
const count = 600

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
