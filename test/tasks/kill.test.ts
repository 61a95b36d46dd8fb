import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json } from '../support/client.ts'
import { preparedFolder } from '../support/prepared-folder.ts'
import { type ServiceProcess, spawnService } from '../support/process.ts'
import { until } from '../support/until.ts'
import { now } from './support.ts'

const env = { SVC_ROOT_PASSWORD: 'root-test-password', SVC_BACKEND_PORT: '0' }
const many = 2000

type Ask = (method: string, path: string, body?: unknown) => Promise<Json>

async function asRoot({ url }: ServiceProcess): Promise<Ask> {
  const body = new URLSearchParams({
    grant_type: 'password',
    client_id: 'svc-web-frontend',
    username: 'root',
    password: env.SVC_ROOT_PASSWORD,
  })
  const response = await fetch(`${url}/api/oauth2/token`, { method: 'POST', body })
  const { access_token } = (await response.json()) as Json
  const headers = { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' }
  return async (method, path, body) => {
    const answer = await fetch(`${url}/api/v1/${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const said = (await answer.json()) as Json
    assert.equal(answer.status, 200, JSON.stringify(said))
    return said
  }
}

test('a run goes on after kill -9: each object is deleted once', async () => {
  await using folder = await preparedFolder()
  const killed = await spawnService(folder.path, env)
  const ask = await asRoot(killed)
  await ask('POST', 'schema/user/HEAD', {
    version: 1,
    type: 'user',
    tables: [{ name: 'note', in_main_search: true, columns: [{ kind: 'column', name: 'mark', type: 'string' }] }],
  })
  await ask('POST', 'schema/commit?confirm=yes&reindex=skip')
  const notes = Array.from({ length: many }, () => ({ _objecttype: 'note', _mask: '_all_fields', note: { mark: 'x' } }))
  await ask('POST', 'db/note?await_index=60', notes)
  const search = { objecttypes: ['note'], search: [] }
  const task = { task_module: 'delete_objects', next_run_at: now, task_params: { search } }
  const { _id: id } = (await ask('POST', 'task?confirm=yes', { task })).task
  const read = async (by: Ask): Promise<Json> => (await by('GET', `task/${id}`)).task
  await until(async () => ((await read(ask)).state.done ?? 0) > 0)
  killed.child.kill('SIGKILL')
  await killed.exited

  await using next = await spawnService(folder.path, env)
  const again = await asRoot(next)
  assert.notEqual((await read(again)).status, 'new')
  await until(async () => (await read(again)).status === 'done', 120)
  const done = await read(again)
  assert.deepEqual([done.state.changed, done.state.failed ?? 0], [many, 0])
  const deleted = await again('GET', 'event/list?type=OBJECT_DELETE&limit=10000')
  const ids = deleted.objects.map(({ event }: Json) => event.system_object_id)
  assert.deepEqual([ids.length, new Set(ids).size], [many, many])
})
