import assert from 'node:assert/strict'
import { once } from 'node:events'
import { stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { test } from 'node:test'
import { runUserCommand } from '../../src/maintenance/user-commands.ts'
import { loadConfig } from '../../src/platform/config/load.ts'
import { runCommand, spawnService, startCommand, temporaryFolder } from '../support/process.ts'
import { until } from '../support/until.ts'

async function tokenOf(url: string, password: string, username = 'root'): Promise<string | null> {
  const form = { grant_type: 'password', client_id: 'web-client', username, password }
  const answer = await fetch(`${url}/api/oauth2/token`, { method: 'POST', body: new URLSearchParams(form) })
  return ((await answer.json()) as { access_token?: string }).access_token ?? null
}

async function sessionStatus(url: string, token: string | null): Promise<number> {
  return (await fetch(`${url}/api/v1/user/session`, { headers: { authorization: `Bearer ${token}` } })).status
}

const shownIn = (text: string): string | undefined => /user root with the password (\S+)/.exec(text)?.[1]

test('the password of root is shown until somebody has signed in, also after a first start that failed', async () => {
  await using folder = await temporaryFolder()
  const occupant = createServer().listen(0, '127.0.0.1')
  await once(occupant, 'listening')
  const { port } = occupant.address() as { port: number }
  const failed = await runCommand(['start'], { SVC_DATA_DIR: folder.path, SVC_PORT: `${port}` })
  occupant.close()
  assert.equal(failed.code, 1)
  assert.equal(shownIn(failed.stdout), undefined)
  const kept = join(folder.path, 'root-password')
  assert.equal((await stat(kept)).mode & 0o777, 0o600)

  await using first = await spawnService(folder.path)
  const password = shownIn(first.output.stdout) ?? ''
  first.child.kill('SIGKILL')
  await first.exited
  await using second = await spawnService(folder.path)
  assert.equal(shownIn(second.output.stdout), password)
  const token = await tokenOf(second.url, password)
  assert.equal(await sessionStatus(second.url, token), 200)
  await assert.rejects(stat(kept))

  // Beside the running service: the old password and the old sessions are over as soon as it has heard of it.
  const set = startCommand(
    ['user', 'set-password', 'root'],
    { SVC_DATA_DIR: folder.path },
    { input: 'correct horse battery\n' },
  )
  assert.equal(await set.exited, 0, set.output.stderr)
  await until(async () => (await sessionStatus(second.url, token)) === 401)
  assert.equal(await tokenOf(second.url, password), null)
  assert.ok(await tokenOf(second.url, 'correct horse battery'))
  second.child.kill('SIGTERM')
  await second.exited

  // Without it.
  const generated = await runCommand(['user', 'set-password', 'root', '--generate'], { SVC_DATA_DIR: folder.path })
  assert.equal(generated.code, 0, generated.stderr)
  await using third = await spawnService(folder.path)
  assert.equal(shownIn(third.output.stdout), undefined)
  assert.ok(await tokenOf(third.url, /is (\S+)$/m.exec(generated.stdout)?.[1] ?? ''))

  // Another one who may do everything, where the first is signed in, and signed out from there.
  const created = startCommand(
    ['user', 'create', 'second', '--email', 'second@example.org', '--root'],
    { SVC_DATA_DIR: folder.path },
    { input: 'correct horse battery\n' },
  )
  assert.equal(await created.exited, 0, created.output.stderr)
  assert.equal(created.output.stdout, 'there is a user second\n')
  const own = await tokenOf(third.url, 'correct horse battery', 'second@example.org')
  const everything = await fetch(`${third.url}/api/v1/user`, { headers: { authorization: `Bearer ${own}` } })
  const users = (await everything.json()) as { user: { login: string }; _system_rights: object }[]
  const made = users.find(({ user }) => user.login === 'second')
  assert.deepEqual(made?._system_rights, { 'system.root': {} })
  const listed = await runCommand(['user', 'sessions', 'second'], { SVC_DATA_DIR: folder.path })
  const [head, line, ...more] = listed.stdout.trim().split('\n')
  assert.deepEqual([head?.split('\t')[2], line?.split('\t')[2], more.length], ['client', 'web-client', 0])
  const ended = await runCommand(['user', 'end-sessions', 'second'], { SVC_DATA_DIR: folder.path })
  assert.equal(ended.stdout, '1 session has ended\n')
  await until(async () => (await sessionStatus(third.url, own)) === 401)
  const none = await runCommand(['user', 'sessions', 'second'], { SVC_DATA_DIR: folder.path })
  assert.equal(none.stdout, 'second is not signed in\n')

  const refusals: [string[], string, RegExp][] = [
    [['set-password', 'root'], 'short\n', /at least 8 characters/],
    [['set-password', 'root'], '', /no password on standard input/],
    [['set-pasword', 'root'], '', /user needs what and whom/],
    [['create', 'second'], 'long enough\n', /there is a user "second" already/],
    [['create', 'third', '--email', 'none'], 'long enough\n', /email address cannot be read/],
    [['sessions', 'nobody'], '', /there is no user "nobody"/],
    [['sessions', 'root', '--root'], '', /user sessions has no option --root/],
    [['reset-factors'], '', /user needs what and whom/],
    [['reset-factors', 'root', '--generate'], '', /user reset-factors has no option --generate/],
    [['reset-factors', 'nobody'], '', /^there is no user "nobody"$/],
  ]
  const refused = startCommand(
    ['user', 'set-password', 'nobody'],
    { SVC_DATA_DIR: folder.path },
    { input: 'long enough\n' },
  )
  assert.equal(await refused.exited, 1)
  assert.match(refused.output.stderr, /^strongroom: there is no user "nobody"$/m)
  // In this process: to start one for each takes longer than all of them.
  const config = loadConfig({ file: undefined, env: { SVC_DATA_DIR: folder.path }, cwd: folder.path })
  const out = new PassThrough().resume()
  for (const [args, input, message] of refusals) {
    await assert.rejects(runUserCommand(args, config, { in: Readable.from([input]), out }), { message }, args.join(' '))
  }
  await using empty = await temporaryFolder()
  const nothing = await runCommand(['user', 'set-password', 'root', '--generate'], { SVC_DATA_DIR: empty.path })
  assert.match(nothing.stderr, /there are no data of a service in/)
})
