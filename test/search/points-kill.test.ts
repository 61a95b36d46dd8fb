import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json } from '../support/client.ts'
import { preparedFolder } from '../support/prepared-folder.ts'
import { type ServiceProcess, spawnService } from '../support/process.ts'

const env = { SVC_ROOT_PASSWORD: 'root-test-password', SVC_BACKEND_PORT: '0' }
const request = { objecttypes: ['note'], sort: [{ field: 'note.mark', order: 'desc' }], limit: 4, format: 'short' }

async function signedIn({ url }: ServiceProcess): Promise<(path: string, body: unknown) => Promise<Json>> {
  const body = new URLSearchParams({
    grant_type: 'password',
    client_id: 'svc-web-frontend',
    username: 'root',
    password: env.SVC_ROOT_PASSWORD,
  })
  const { access_token } = (await (await fetch(`${url}/api/oauth2/token`, { method: 'POST', body })).json()) as Json
  const headers = { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' }
  return async (path, sent) => {
    const response = await fetch(`${url}/api/v1/${path}`, { method: 'POST', headers, body: JSON.stringify(sent) })
    const answer = (await response.json()) as Json
    assert.equal(response.status, 200, JSON.stringify(answer))
    return answer
  }
}

const idsOf = ({ objects }: Json): number[] => objects.map(({ _system_object_id: id }: Json) => id)

test('a point in time is there after kill -9, of the service and its database', async () => {
  await using folder = await preparedFolder()
  const killed = await spawnService(folder.path, env)
  const post = await signedIn(killed)
  await post('schema/user/HEAD', {
    version: 1,
    type: 'user',
    tables: [{ name: 'note', in_main_search: true, columns: [{ kind: 'column', name: 'mark', type: 'string' }] }],
  })
  await post('schema/commit?confirm=yes&reindex=skip', {})
  const note = (mark: string) => ({ _objecttype: 'note', _mask: '_all_fields', note: { mark } })
  const saved = await post('db/note?await_index=60', [...'abcdefghij'].map(note))
  const ids: number[] = saved.map((object: Json) => object._system_object_id)
  const first = await post('search', { ...request, point_in_time: { keep_alive: '1h' } })
  assert.deepEqual(idsOf(first), ids.toReversed().slice(0, 4))
  killed.child.kill('SIGKILL')
  await killed.exited

  await using next = await spawnService(folder.path, env)
  const ask = await signedIn(next)
  await ask('db/note?await_index=60', ['x', 'y', 'z'].map(note))
  const { id } = first.point_in_time
  const second = await ask('search', { ...request, offset: 4, point_in_time: { id } })
  assert.deepEqual([idsOf(second), second.count], [ids.toReversed().slice(4, 8), 10])
  assert.deepEqual(second.point_in_time, { id, keep_alive: '1h' })
})
