import assert from 'node:assert/strict'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { test } from 'node:test'
import { runBackup } from '../../src/maintenance/backup-commands.ts'
import { runCommand, spawnService, startCommand, temporaryFolder } from '../support/process.ts'
import { payload, startMuseum } from '../support/seed/museum.ts'
import { testConfig } from '../support/service.ts'
import { until } from '../support/until.ts'

test('a restore that is killed has put nothing in, keeps a start away, and works when it is repeated', async () => {
  await using folder = await temporaryFolder()
  const file = join(folder.path, 'museum.tar.zst')
  {
    await using museum = await startMuseum()
    const people = Array.from({ length: 200 }, (_, n) => payload('person', { name: `Ada ${n}`, reference: `r${n}` }))
    assert.equal((await museum.svc.as('root').post('/db/person', people)).status, 200)
    await runBackup([file], testConfig(museum.svc.dsn), new Writable({ write: (_chunk, _encoding, done) => done() }))
  }
  const env = { SVC_DATA_DIR: join(folder.path, 'data'), SVC_DATABASE_NAME: 'test', SVC_PORT: '0' }
  const mark = join(env.SVC_DATA_DIR, 'restore-unfinished')
  const killed = startCommand(['restore', file], env)
  const marked = (): Promise<boolean> =>
    access(mark).then(
      () => true,
      () => false,
    )
  // It ends by itself only when it is so quick that there is nothing to kill.
  await Promise.race([until(marked, 120), killed.exited])
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
})
