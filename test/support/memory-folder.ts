import { readFileSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'

/** Bytes that a whole run takes at most: the shared PostgreSQL, data folders of services that run at the same time. */
const needed = 6 * 1024 ** 3

/**
 * A folder for what tests write and need no longer than they run: in memory where there is room, else the usual one. A
 * test database has hundreds of small files; on a disk the system is busy three times as long with making them as with
 * everything else that starts a service.
 */
export function memoryFolder(): string {
  const folder = '/dev/shm'
  try {
    const { bavail, bsize } = statfsSync(folder)
    const room = Math.min(bavail * bsize, process.availableMemory())
    return room >= needed && mayHoldPrograms(folder) ? folder : tmpdir()
  } catch {
    return tmpdir()
  }
}

/** Containers often mount it so that programs in it do not run; some tests install the service there. */
function mayHoldPrograms(folder: string): boolean {
  const mounts = readFileSync('/proc/mounts', 'utf8').split('\n')
  const mount = mounts.findLast((line) => line.split(' ')[1] === folder)
  return mount !== undefined && !(mount.split(' ')[3] ?? '').split(',').includes('noexec')
}
