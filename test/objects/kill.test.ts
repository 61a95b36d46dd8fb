import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Json } from '../support/client.ts'
import { preparedFolder } from '../support/prepared-folder.ts'
import { type ServiceProcess, spawnService } from '../support/process.ts'

const env = { SVC_ROOT_PASSWORD: 'root-test-password', SVC_BACKEND_PORT: '0' }

async function signIn({ url }: ServiceProcess): Promise<Record<string, string>> {
  const body = new URLSearchParams({
    grant_type: 'password',
    client_id: 'svc-web-frontend',
    username: 'root',
    password: env.SVC_ROOT_PASSWORD,
  })
  const response = await fetch(`${url}/api/oauth2/token`, { method: 'POST', body })
  const { access_token } = (await response.json()) as { access_token: string }
  return { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' }
}

interface Written {
  /** Marks of batches that were answered with 200. */
  readonly acknowledged: string[]
  readonly codes: Set<string>
}

const note = (id: number, version: number, mark: string) => ({
  _objecttype: 'note',
  _mask: '_all_fields',
  note: { _id: id, _version: version, mark },
})

/** Reads three objects and writes a mark into all of them, over and over, together with the other writers. */
async function write(url: string, headers: Record<string, string>, name: string, ids: number[], written: Written) {
  for (let round = 0; round < 10_000; round++) {
    const mark = `${name}-${round}`
    try {
      const objects: object[] = []
      for (const id of ids) {
        const read = (await (await fetch(`${url}/api/v1/db/note/_all_fields/${id}`, { headers })).json()) as Json
        objects.push(note(id, read[0].note._version, mark))
      }
      const response = await fetch(`${url}/api/v1/db/note`, { method: 'POST', headers, body: JSON.stringify(objects) })
      const body = (await response.json()) as Json
      if (response.status === 200) written.acknowledged.push(mark)
      else written.codes.add(body.code)
    } catch {
      return
    }
  }
}

test('colliding writers and kill -9: a batch is stored whole or not at all, and what was acknowledged stays', async () => {
  await using folder = await preparedFolder()
  const killed = await spawnService(folder.path, env)
  const headers = await signIn(killed)
  const post = async (path: string, body?: unknown): Promise<Json> => {
    const response = await fetch(`${killed.url}/api/v1/${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body ?? {}),
    })
    const answer = (await response.json()) as Json
    assert.equal(response.status, 200, JSON.stringify(answer))
    return answer
  }
  await post('schema/user/HEAD', {
    version: 1,
    type: 'user',
    tables: [{ name: 'note', in_main_search: true, columns: [{ kind: 'column', name: 'mark', type: 'string' }] }],
  })
  await post('schema/commit?confirm=yes&reindex=skip')
  const created = await post(
    'db/note',
    Array.from({ length: 5 }, () => ({ _objecttype: 'note', _mask: '_all_fields', note: { mark: 'start' } })),
  )
  const ids: number[] = created.map((object: Json) => object.note._id)

  const written: Written = { acknowledged: [], codes: new Set() }
  const writers = ['a', 'b', 'c', 'd'].map((name, index) =>
    write(
      killed.url,
      headers,
      name,
      [0, 1, 2].map((n) => ids[(index + n) % ids.length] as number),
      written,
    ),
  )
  // Beside other work that takes long; where nothing is saved at all it ends.
  const deadline = Date.now() + 120_000
  while (written.acknowledged.length < 60 && Date.now() < deadline) await sleep(5)
  killed.child.kill('SIGKILL')
  await killed.exited
  await Promise.all(writers)
  assert.ok(written.acknowledged.length >= 60)
  for (const code of written.codes) assert.ok(['VersionMismatch', 'DatabaseLockError'].includes(code), code)
  assert.ok(written.codes.size > 0, 'the writers collided')

  await using next = await spawnService(folder.path, env)
  const again = await signIn(next)
  const versionsWith = new Map<string, number>()
  for (const id of ids) {
    const response = await fetch(`${next.url}/api/v1/db/note/_all_fields/${id}?all_versions=1`, { headers: again })
    const versions = (await response.json()) as Json[]
    const numbers = versions.map((object) => object.note._version).sort((a: number, b: number) => a - b)
    assert.deepEqual(
      numbers,
      numbers.map((_, index) => index + 1),
      'the history has every version once',
    )
    for (const { note: stored } of versions) versionsWith.set(stored.mark, (versionsWith.get(stored.mark) ?? 0) + 1)
  }
  versionsWith.delete('start')
  for (const [mark, count] of versionsWith) assert.equal(count, 3, `batch ${mark} is stored in part`)
  assert.deepEqual(
    written.acknowledged.filter((mark) => !versionsWith.has(mark)),
    [],
  )
})
