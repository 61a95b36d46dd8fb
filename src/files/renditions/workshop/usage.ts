import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'

const pageBytes = 4096
/** Processes of one program that are counted: more has none that behaves. */
const mostProcesses = 200

/** Bytes of memory that a process holds; 0 where the system does not show it (only Linux does). */
export async function memoryOf(pid: number | undefined): Promise<number> {
  const text = await readFile(`/proc/${pid}/statm`, 'latin1').catch(() => '')
  return pageBytes * Number(text.split(' ')[1] ?? 0)
}

/** The same of a process and all that it has started. */
export async function memoryOfTree(pid: number): Promise<number> {
  const pids = [pid]
  for (let at = 0; at < pids.length && pids.length < mostProcesses; at++) {
    const children = await readFile(`/proc/${pids[at]}/task/${pids[at]}/children`, 'latin1').catch(() => '')
    pids.push(...children.split(' ').filter(Boolean).map(Number))
  }
  const sizes = await Promise.all(pids.map(memoryOf))
  return sizes.reduce((sum, size) => sum + size, 0)
}

/** Bytes of the files in a folder and those below it. */
export async function sizeOf(folder: string): Promise<number> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch(() => [])
  const sizes = await Promise.all(
    entries
      .filter((entry) => entry.isFile())
      .map((entry) =>
        stat(join(entry.parentPath, entry.name)).then(
          ({ size }) => size,
          () => 0,
        ),
      ),
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}

export function megabytes(bytes: number): number {
  return Math.round(bytes / 1_000_000)
}
