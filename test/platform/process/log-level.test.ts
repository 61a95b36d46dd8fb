import assert from 'node:assert/strict'
import { test } from 'node:test'
import { preparedFolder } from '../../support/prepared-folder.ts'
import { spawnService } from '../../support/process.ts'
import { until } from '../../support/until.ts'

const password = 'root-test-password'

test('level and timings of the base configuration change the log of a running process', async () => {
  await using folder = await preparedFolder()
  await using service = await spawnService(folder.path, { SVC_ROOT_PASSWORD: password, SVC_LOG_LEVEL: 'warn' })
  const { url, output } = service
  const body = new URLSearchParams({
    grant_type: 'password',
    client_id: 'svc-web-frontend',
    username: 'root',
    password,
  })
  const signIn = await fetch(`${url}/api/oauth2/token`, { method: 'POST', body })
  const { access_token } = (await signIn.json()) as { access_token: string }
  const headers = { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' }
  const set = async (logging: object): Promise<void> => {
    const answer = await fetch(`${url}/api/v1/config/system/config/logging`, {
      method: 'POST',
      headers,
      body: JSON.stringify(logging),
    })
    assert.equal(answer.status, 200, await answer.text())
  }
  let asked = 0
  const ask = async (): Promise<string> => {
    const id = `asked-${++asked}`
    await (await fetch(`${url}/api/v1/settings`, { headers: { 'x-request-id': id } })).text()
    return id
  }
  const lineOf = (id: string) => output.stderr.split('\n').find((line) => line.includes(`"${id}"`))

  const quiet = await ask()
  await set({ level: '', timings: true })
  const timed = await ask()
  await until(() => lineOf(timed) !== undefined)
  const line = JSON.parse(lineOf(timed) as string)
  assert.deepEqual([line.level, line.path, line.status], ['info', '/api/v1/settings', 200])
  assert.ok(line.ms > 0)
  assert.equal(lineOf(quiet), undefined)

  await set({ level: '', timings: false })
  const quietAgain = await ask()
  await set({ level: 'info', timings: false })
  const told = await ask()
  await until(() => lineOf(told) !== undefined)
  assert.equal(lineOf(quietAgain), undefined)

  await set({ level: 'error', timings: false })
  const hidden = await ask()
  await set({ level: 'info', timings: false })
  const last = await ask()
  await until(() => lineOf(last) !== undefined)
  assert.equal(lineOf(hidden), undefined)

  const refused = await fetch(`${url}/api/v1/config/system/config/logging`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ level: 'loud' }),
  })
  assert.equal(refused.status, 400)
})
