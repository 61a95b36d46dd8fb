import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { isAlive } from '../../../src/platform/process/processes.ts'
import { runCommand, spawnService, startCommand, temporaryFolder } from '../../support/process.ts'

const postmasterPid = async (dataDir: string): Promise<number> =>
  Number.parseInt(await readFile(join(dataDir, 'postgres', 'data', 'postmaster.pid'), 'utf8'), 10)

const status = async (url: string): Promise<number> => (await fetch(`${url}/api/v1/settings`)).status

const signIn = async (url: string, password: string): Promise<number> => {
  const form = { grant_type: 'password', client_id: 'svc-web-frontend', username: 'root', password }
  return (await fetch(`${url}/api/oauth2/token`, { method: 'POST', body: new URLSearchParams(form) })).status
}

/** Most begin with what the first one has made: to make a data folder takes longer than anything else here. */
let folder: Awaited<ReturnType<typeof temporaryFolder>>
before(async () => {
  folder = await temporaryFolder()
})
after(() => folder[Symbol.asyncDispose]())

test('the first start says each step, the second has none to do, and a stop by SIGTERM leaves nothing running', async () => {
  const first = await spawnService(folder.path, { SVC_BACKEND_PORT: '0' })
  const password = /user root with the password (\S+)/.exec(first.output.stdout)?.[1] ?? ''
  assert.ok(password.length >= 12)
  assert.equal(await signIn(first.url, password), 200)
  assert.equal(await signIn(first.url, `${password}x`), 400)
  const server = await postmasterPid(folder.path)
  let said = 0
  for (const step of [
    'creating the PostgreSQL data folder',
    'created the PostgreSQL data folder',
    'started PostgreSQL',
    'applying',
    'applied',
    'metrics at',
    'ready at',
  ]) {
    const at = first.output.stdout.indexOf(step)
    assert.ok(at >= said, `${step}, after what stands before it`)
    said = at
  }
  first.child.kill('SIGTERM')
  assert.equal(await first.exited, 0)
  assert.equal(isAlive(server), false)

  await using second = await spawnService(folder.path)
  assert.match(second.output.stdout, /the database is up to date/)
  assert.doesNotMatch(second.output.stdout, /password/)
  assert.equal(await signIn(second.url, password), 200)
})

test('a second service on the same data folder is refused in one line', async () => {
  await using first = await spawnService(folder.path)
  const second = await runCommand(['start'], { SVC_DATA_DIR: folder.path, SVC_PORT: '0' })
  assert.equal(second.code, 1)
  assert.equal(
    second.stderr,
    `strongroom: the data folder is in use by another strongroom process (process ${first.child.pid})\n`,
  )
  assert.equal(await status(first.url), 200)
})

test('after kill -9 of the service the next start takes over the running PostgreSQL, and stops it at its end', async () => {
  const killed = await spawnService(folder.path)
  const server = await postmasterPid(folder.path)
  killed.child.kill('SIGKILL')
  await killed.exited
  await using next = await spawnService(folder.path)
  assert.match(next.output.stdout, new RegExp(`took over the running PostgreSQL \\(process ${server}\\)`))
  assert.equal(await status(next.url), 200)
  next.child.kill('SIGTERM')
  assert.equal(await next.exited, 0)
  assert.equal(isAlive(server), false)
})

test('a first start that is killed while it creates the database is made up for by the next', async () => {
  await using folder = await temporaryFolder()
  const first = startCommand(['start'], { SVC_DATA_DIR: folder.path, SVC_PORT: '0' })
  const home = join(folder.path, 'postgres')
  const creating = async (): Promise<boolean> =>
    (await readdir(home).catch(() => [])).some((name) => name.startsWith('data.new-'))
  while (!(await creating())) await sleep(5)
  first.child.kill('SIGKILL')
  await first.exited
  await using next = await spawnService(folder.path)
  assert.equal(await status(next.url), 200)
  assert.equal(await creating(), true, 'what nobody can tell the owner of is not taken away')
})

test('after kill -9 of PostgreSQL the service starts it again and goes on', async () => {
  await using service = await spawnService(folder.path, { SVC_BACKEND_PORT: '0' })
  const metrics = /metrics at (\S+)\/metrics/.exec(service.output.stdout)?.[1]
  const before = await postmasterPid(folder.path)
  process.kill(before, 'SIGKILL')
  while (!service.output.stdout.includes('PostgreSQL is back')) await sleep(20)
  assert.notEqual(await postmasterPid(folder.path), before)
  assert.equal((await fetch(`${metrics}/ready`)).status, 200)
})

test('a stop while PostgreSQL is started again leaves nothing running', async () => {
  await using service = await spawnService(folder.path)
  process.kill(await postmasterPid(folder.path), 'SIGKILL')
  while (!service.output.stdout.includes('PostgreSQL ended unexpectedly')) await sleep(5)
  service.child.kill('SIGTERM')
  assert.equal(await service.exited, 0)
  const left = await postmasterPid(folder.path).catch(() => 0)
  assert.ok(left === 0 || !isAlive(left), 'PostgreSQL runs on')
})

test('an unusable data folder, an occupied port and an unreachable server are one line and exit code 1', async () => {
  await using folder = await temporaryFolder()
  await writeFile(join(folder.path, 'file'), '')
  const inFile = await runCommand(['start'], { SVC_DATA_DIR: join(folder.path, 'file', 'data') })
  assert.equal(inFile.code, 1)
  assert.match(inFile.stderr, /^strongroom: cannot use the data folder .* \(SVC_DATA_DIR\): .*\n$/)
  if (existsSync('/proc/self')) {
    const inProc = await runCommand(['start'], { SVC_DATA_DIR: '/proc' })
    assert.equal(inProc.code, 1)
    assert.match(inProc.stderr, /^strongroom: cannot use the data folder \/proc \(SVC_DATA_DIR\): .*\n$/)
  }

  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const port = (other.address() as { port: number }).port
  const occupied = await runCommand(['start'], { SVC_DATA_DIR: join(folder.path, 'data'), SVC_PORT: String(port) })
  await new Promise((resolve) => other.close(resolve))
  assert.equal(occupied.code, 1)
  assert.equal(
    occupied.stderr,
    `strongroom: cannot listen on 127.0.0.1, port ${port}: another program listens there; set another port (SVC_PORT)\n`,
  )
  await assert.rejects(postmasterPid(join(folder.path, 'data')), 'PostgreSQL was stopped again')

  const unreachable = await runCommand(['start'], {
    SVC_DATA_DIR: join(folder.path, 'data'),
    SVC_DB_DSN: 'postgresql://nobody:geheim@127.0.0.1:1/x',
  })
  assert.equal(unreachable.code, 1)
  assert.match(
    unreachable.stderr,
    /^strongroom: cannot reach PostgreSQL at postgresql:\/\/nobody:\*\*\*@.*ECONNREFUSED.*\n$/,
  )
})

test('wrong commands and options are one line and exit code 1; help and version need no configuration', async () => {
  for (const args of [[], ['fly'], ['start', 'now'], ['--fly'], ['import'], ['import', 'moma', 'x']]) {
    const { code, stdout, stderr } = await runCommand(args)
    assert.equal(code, 1, args.join(' '))
    assert.equal(stdout, '')
    assert.match(stderr, /^strongroom: [^\n]+\n$/)
  }
  const help = await runCommand(['--help'], { SVC_PORT: 'wrong' })
  assert.equal(help.code, 0)
  for (const command of ['start', 'demo', 'import tate', 'config']) assert.ok(help.stdout.includes(command))
  assert.match((await runCommand(['--version'])).stdout, /^\d+\.\d+\.\d+\n$/)
})
