import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Megabytes of memory of processes and all that they have started: the sum of proportional set sizes, so that memory which
 * several share (PostgreSQL's buffers, the code of Node) counts once. `NaN` where the system does not provide it.
 */
export async function memoryOfTrees(tops: readonly number[]): Promise<number> {
  const parents = new Map<number, number>()
  for (const name of await readdir('/proc').catch(() => [])) {
    if (/^\d+$/.test(name)) parents.set(Number(name), await parentOf(name))
  }
  const isInside = (pid: number | undefined): boolean =>
    pid !== undefined && pid > 1 && (tops.includes(pid) || isInside(parents.get(pid)))
  const sizes = await Promise.all([...parents.keys()].filter(isInside).map(proportionalSize))
  return sizes.length === 0 ? Number.NaN : sizes.reduce((sum, size) => sum + size, 0)
}

/** The highest memory of the trees until the work ends. */
export async function highestMemory(tops: readonly number[], work: () => Promise<unknown>): Promise<number> {
  let highest = 0
  let isDone = false
  const done = work().finally(() => {
    isDone = true
  })
  for (; !isDone; await sleep(200)) highest = Math.max(highest, await memoryOfTrees(tops))
  await done
  return highest
}

/** Zero: it has ended. */
async function parentOf(pid: string): Promise<number> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[1] ?? 0)
}

async function proportionalSize(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => '')
  return Number(/^Pss:\s+(\d+) kB/m.exec(text)?.[1] ?? 0) / 1024
}
