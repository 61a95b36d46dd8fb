import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { access, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { test } from 'node:test'
import { pathOf } from '../../src/files/blobs/blob-store.ts'
import { runBackup } from '../../src/maintenance/backup-commands.ts'
import { sha256, upload } from '../files/support.ts'
import { runCommand, spawnService, startCommand, temporaryFolder } from '../support/process.ts'
import { payload, startMuseum } from '../support/seed/museum.ts'
import { until } from '../support/until.ts'

/** When it is killed: as soon as it has begun, or in the middle of the contents of files. */
for (const [name, place] of [
  ['as it begins', 'restore-unfinished'],
  ['while it brings contents of files back', join('files', 'tmp')],
] as const) {
  test(`a restore that is killed ${name} has put nothing in, keeps a start away, and works when it is repeated`, () =>
    killAndRepeat(place))
}

async function killAndRepeat(place: string): Promise<void> {
  await using folder = await temporaryFolder()
  const file = join(folder.path, 'museum.tar.zst')
  const content = randomBytes(40 * 1024 * 1024)
  {
    await using museum = await startMuseum()
    const sent = await upload(museum.svc, 'root', [{ name: 'a.wav', content }], { produce_versions: 'false' })
    assert.equal(sent.status, 200)
    const people = Array.from({ length: 200 }, (_, n) => payload('person', { name: `Ada ${n}`, reference: `r${n}` }))
    assert.equal((await museum.svc.as('root').post('/db/person', people)).status, 200)
    await runBackup([file], museum.svc.config, new Writable({ write: (_chunk, _encoding, done) => done() }))
  }
  const env = { SVC_DATA_DIR: join(folder.path, 'data'), SVC_DATABASE_NAME: 'test', SVC_PORT: '0' }
  const mark = join(env.SVC_DATA_DIR, 'restore-unfinished')
  const killed = startCommand(['restore', file], env)
  const isThere = (path: string): Promise<boolean> =>
    access(path).then(
      () => true,
      () => false,
    )
  const marked = () => isThere(mark)
  // It ends by itself only when it is so quick that there is nothing to kill.
  await Promise.race([until(() => isThere(join(env.SVC_DATA_DIR, place)), 120), killed.exited])
  killed.child.kill('SIGKILL')
  await killed.exited
  if (await marked()) {
    const refused = await runCommand(['start'], env)
    assert.equal(refused.code, 1, refused.stdout)
    assert.match(refused.stderr, /restore/)
    const again = await runCommand(['restore', file], env)
    assert.equal(again.code, 0, again.stderr)
    assert.match(again.stdout, /restored \d+ rows/)
  }
  assert.equal(await marked(), false)
  await using service = await spawnService(env.SVC_DATA_DIR, {
    SVC_DATABASE_NAME: 'test',
    SVC_ROOT_PASSWORD: 'root-test-password',
  })
  const form = new URLSearchParams({
    grant_type: 'password',
    client_id: 'web-client',
    username: 'root',
    password: 'root-test-password',
  })
  const { access_token: token } = (await (
    await fetch(`${service.url}/api/oauth2/token`, { method: 'POST', body: form })
  ).json()) as { access_token: string }
  const list = await fetch(`${service.url}/api/v1/db/person/_all_fields/list?limit=1000`, {
    headers: { authorization: `Bearer ${token}` },
  })
  assert.equal(((await list.json()) as unknown[]).length, 200)
  const restored = join(env.SVC_DATA_DIR, 'files', pathOf(sha256(content)))
  assert.equal(sha256(await readFile(restored)), sha256(content))
}
