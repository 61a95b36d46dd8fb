import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { platform } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const pageBytes = 4096
/** Maximum number of processes of one program that are counted: a well-behaved program has fewer. */
const mostProcesses = 200

/** Bytes of memory of a process and all processes that it has started. */
export async function memoryOfTree(pid: number): Promise<number> {
  return platform() === 'linux' ? memoryInProc(pid) : memoryByPs(pid)
}

function memoryInProc(pid: number): number {
  const pids = [pid]
  for (let at = 0; at < pids.length && pids.length < mostProcesses; at++) {
    const children = textInProc(`${pids[at]}/task/${pids[at]}/children`)
    pids.push(...children.split(' ').filter(Boolean).map(Number))
  }
  return pids.reduce((sum, one) => sum + pageBytes * Number(textInProc(`${one}/statm`).split(' ')[1] ?? 0), 0)
}

/**
 * A file of the kernel, which no disk delays: handing it to another thread and back takes longer than reading it.
 * Empty: the process has ended.
 */
function textInProc(path: string): string {
  try {
    return readFileSync(`/proc/${path}`, 'latin1')
  } catch {
    return ''
  }
}

/** The same for its process group, on systems without `/proc`. */
export async function memoryByPs(group: number): Promise<number> {
  const { stdout } = await promisify(execFile)('ps', ['-axo', 'pgid=,rss='], { timeout: 5000 }).catch(() => ({
    stdout: '',
  }))
  return stdout
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .filter(([pgid]) => pgid === group)
    .reduce((sum, [, kilobytes = 0]) => sum + 1024 * kilobytes, 0)
}

/** Bytes of the files in a folder and its subfolders. */
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
