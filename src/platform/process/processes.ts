import { readFileSync } from 'node:fs'

/**
 * Whether a process runs. One that has ended but was not waited for by its parent still has its id, and does not count: the
 * children of a killed service belong to the first process of the machine or container, which may take long to reap them, or never
 * does.
 */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false
  }
  return !hasEnded(pid)
}

/** Only Linux reports this; on other systems the first process reaps all children. */
function hasEnded(pid: number): boolean {
  try {
    const status = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name before the state may contain any character, even brackets.
    return /^ [ZX]/.test(status.slice(status.lastIndexOf(')') + 1))
  } catch {
    return false
  }
}
