import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { isAlive } from '../../../src/platform/process/processes.ts'
import { until } from '../../support/until.ts'

test('a process runs until it has ended, also when nobody has waited for it', async (t) => {
  if (process.platform !== 'linux') return t.skip('only Linux tells of ended processes')
  // The shell becomes a program that does not wait for the child that the shell has started.
  const parent = spawn('sh', ['-c', 'sleep 0.2 & exec sleep 60'], { stdio: 'ignore' })
  const pid = parent.pid as number
  const children = async (): Promise<number[]> => {
    const all = (await readdir('/proc')).map(Number).filter((id) => id > 0)
    const stats = await Promise.all(all.map((id) => readFile(`/proc/${id}/stat`, 'utf8').catch(() => '')))
    return all.filter((_, index) => stats[index]?.replace(/^.*\) . /s, '').startsWith(`${pid} `))
  }
  try {
    await until(async () => (await children()).length > 0)
    const [child] = await children()
    await until(() => !isAlive(child as number))
    assert.deepEqual(await children(), [child], 'its id is still taken')
    process.kill(child as number, 0)
    assert.equal(isAlive(pid), true)
  } finally {
    parent.kill()
  }
})
