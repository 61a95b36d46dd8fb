import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { findProgram, withoutNetwork } from '../../../src/platform/process/foreign/network.ts'
import { type ForeignRun, runForeign } from '../../../src/platform/process/foreign/run.ts'
import { memoryByPs, memoryOfTree } from '../../../src/platform/process/foreign/usage.ts'
import { isAlive } from '../../../src/platform/process/processes.ts'
import { temporaryFolder } from '../../support/process.ts'
import { until } from '../../support/until.ts'

const roomy: ForeignRun['limits'] = { seconds: 60, memory: 1e9, output: 1e8, said: 1e6 }

/** How a script of the shell ends. */
async function shell(script: string, more: Partial<ForeignRun> = {}, limits: Partial<ForeignRun['limits']> = {}) {
  await using folder = await temporaryFolder()
  const run = { program: '/bin/sh', args: ['-c', script], folder: folder.path, isolate: [], ...more }
  return await runForeign({ ...run, limits: { ...roomy, ...limits } })
}

async function brokenLimit(script: string, limits: Partial<ForeignRun['limits']>): Promise<string> {
  const end = await shell(script, {}, limits)
  assert.equal(end.kind, 'broken', JSON.stringify(end))
  return end.kind === 'broken' ? end.broken.limit : ''
}

test('a foreign program knows nothing of the service: neither its environment nor where it was started', async () => {
  process.env.SVC_TEST_SECRET = 'a word that nobody else knows'
  try {
    await using folder = await temporaryFolder()
    const end = await shell('env; pwd', { folder: folder.path })
    assert.ok(end.kind === 'ended' && end.code === 0)
    const lines = end.output.toString().trim().split('\n')
    assert.equal(lines.at(-1), folder.path)
    assert.ok(lines.includes(`HOME=${folder.path}`))
    assert.ok(!end.output.includes('nobody else knows'))
    const names = lines.slice(0, -1).map((line) => line.split('=')[0])
    const allowed = new Set(['PATH', 'HOME', 'TMPDIR', 'LANG', 'PWD', 'OLDPWD', 'SHLVL', '_'])
    assert.deepEqual(
      names.filter((name) => !allowed.has(name ?? '') && !name?.endsWith('_proxy')),
      [],
    )
  } finally {
    delete process.env.SVC_TEST_SECRET
  }
})

test('what it says, its time, its memory and what it writes have limits; what it has started ends with it', async () => {
  assert.equal(await brokenLimit('yes', { said: 10_000 }), 'said')
  assert.equal(await brokenLimit('sleep 60 & sleep 60', { seconds: 0.3 }), 'time')
  const memory = 'perl -e \'my @all; while (1) { push @all, "x" x 1_000_000; select undef, undef, undef, 0.002 }\''
  assert.equal(await brokenLimit(memory, { memory: 100_000_000 }), 'memory')
  const addresses = await shell(memory, {}, { addresses: 100_000_000 })
  assert.ok(addresses.kind === 'ended' && addresses.code !== 0, 'addresses')
  const one = await shell('dd if=/dev/zero of=one bs=1000 count=100000 2>/dev/null', {}, { output: 1_000_000 })
  assert.ok(one.kind === 'broken' || (one.kind === 'ended' && one.code !== 0), 'one file')
  const many = 'n=0; while true; do dd if=/dev/zero of=many$n bs=100000 count=9 2>/dev/null; n=$((n+1)); done'
  assert.equal(await brokenLimit(many, { output: 1_000_000 }), 'output')
})

test('whoever stops the work does not wait for it, and a program that is not there is told', async () => {
  const stop = new AbortController()
  await using folder = await temporaryFolder()
  const pids = join(folder.path, 'pid')
  const ending = shell(`sleep 600 & echo $! > ${pids}.new; mv ${pids}.new ${pids}; wait`, { signal: stop.signal })
  const { readFile } = await import('node:fs/promises')
  await until(async () => (await readdir(folder.path)).includes('pid'))
  const pid = Number(await readFile(pids, 'utf8'))
  stop.abort()
  assert.equal((await ending).kind, 'stopped')
  await until(async () => !isAlive(pid) || (await isZombie(pid)))
  const absent = await shell('', { program: '/nowhere/program' })
  assert.ok(absent.kind === 'ended' && absent.code === 127)
})

test('a program ends with the service, also when that is killed and can end nothing', async () => {
  await using folder = await temporaryFolder()
  const start = join(import.meta.dirname, '../../../src/platform/process/foreign/start.ts')
  const script = join(folder.path, 'service.ts')
  await writeFile(
    script,
    `import { startForeign } from ${JSON.stringify(start)}
     const child = startForeign({
       // It listens to nobody.
       command: [process.execPath, '-e', 'for (;;) {}'], folder: ${JSON.stringify(folder.path)}, limits: {}, isolate: [],
       stdio: ['ignore', 'ignore', 'ignore', 'ipc'], background: true })
     console.log(child.pid)`,
  )
  const service = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'inherit'] })
  const pid = await new Promise<number>((resolve) =>
    service.stdout.once('data', (chunk: Buffer) => resolve(Number(chunk.toString()))),
  )
  assert.ok(pid > 1 && isAlive(pid))
  service.kill('SIGKILL')
  await until(async () => !isAlive(pid) || (await isZombie(pid)))
})

test('where the machine can take the network away, there is none', async (t) => {
  const isolate = await withoutNetwork()
  if (isolate.length === 0 || (await findProgram('unshare')) === null) return t.skip('users have no namespaces here')
  const end = await shell('grep -vc "|" /proc/net/dev', { isolate })
  assert.ok(end.kind === 'ended')
  assert.equal(end.output.toString().trim(), '1')
})

test('memory is seen with and without /proc', {
  skip: process.platform !== 'linux' && 'both are there on Linux',
}, async () => {
  // A child of this process, in a group of its own.
  const child = spawn(process.execPath, ['-e', 'process.stdin.resume()'], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  const pid = child.pid ?? 0
  try {
    await until(async () => (await memoryOfTree(pid)) > 30_000_000)
    const [proc, ps] = [await memoryOfTree(pid), await memoryByPs(pid)]
    assert.ok(ps > proc / 2 && ps < 2 * proc, `${proc} and ${ps}`)
  } finally {
    child.kill('SIGKILL')
  }
})

/** It has ended, and nobody has asked how: in a container nobody may. */
async function isZombie(pid: number): Promise<boolean> {
  const { readFile } = await import('node:fs/promises')
  const status = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '')
  await sleep(1)
  return /\) Z /.test(status)
}
