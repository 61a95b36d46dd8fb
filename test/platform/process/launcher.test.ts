import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { isAlive } from '../../../src/platform/process/processes.ts'
import { temporaryFolder } from '../../support/process.ts'

/** bin/strongroom.js starts the service in a process of its own: whatever ends the one ends the other. */
const launcher = join(import.meta.dirname, '..', '..', '..', 'bin', 'strongroom.js')

test('a signal to the launcher alone stops the service and its PostgreSQL, and so does its sudden end', async () => {
  await using folder = await temporaryFolder()
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGKILL'] as const) {
    const inherited = Object.entries(process.env).filter(([name]) => !/^(SVC_|NODE_TEST_CONTEXT$)/.test(name))
    const env = { ...Object.fromEntries(inherited), SVC_DATA_DIR: folder.path, SVC_PORT: '0', SVC_LOG_LEVEL: 'warn' }
    const child = spawn(process.execPath, [launcher, 'start'], {
      cwd: tmpdir(),
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
      // Its own group: the signal reaches the launcher alone.
      detached: true,
    })
    let output = ''
    child.stdout.on('data', (chunk) => {
      output += chunk
    })
    const exited = once(child, 'exit')
    const closed = once(child, 'close')
    while (!output.includes('ready at')) {
      assert.equal(child.exitCode, null, output)
      await sleep(20)
    }
    const postmaster = await postmasterOf(folder.path)
    child.kill(signal)
    const [code] = await exited
    assert.equal(code, signal === 'SIGKILL' ? null : 0, signal)
    // The service holds the other end of the output until it has ended itself.
    await closed
    assert.match(output, /stopping on SIG[A-Z]+\n\s+stopped\n$/, signal)
    assert.equal(isAlive(postmaster), false, signal)
  }
})

async function postmasterOf(dataDir: string): Promise<number> {
  return Number.parseInt(await readFile(join(dataDir, 'postgres', 'data', 'postmaster.pid'), 'utf8'), 10)
}
