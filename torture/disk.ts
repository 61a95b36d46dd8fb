import { execFile } from 'node:child_process'
import { mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** A separate file system that can be filled without harm to others. */
export interface SmallDisk extends AsyncDisposable {
  readonly path: string
  /** Fills all space that is left. */
  fill(): Promise<void>
  empty(): Promise<void>
}

/** Mounts a small disk in memory; the answer is a text with the reason where that is not possible. */
export async function mountSmallDisk(megabytes: number): Promise<SmallDisk | string> {
  if (process.platform !== 'linux') return 'small disks are mounted on Linux only'
  if (process.getuid?.() !== 0) return 'only root may mount a small disk'
  const path = await mkdtemp(join(tmpdir(), 'strongroom-disk-'))
  try {
    await run('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=755`, 'strongroom', path])
  } catch (error) {
    await rm(path, { recursive: true })
    return `a small disk cannot be mounted: ${(error as Error).message.trim().split('\n').at(-1)}`
  }
  const filler = join(path, 'filler')
  return {
    path,
    async fill() {
      const file = await open(filler, 'a')
      const block = Buffer.alloc(64 * 1024)
      try {
        for (let size = block.length; size >= 4096; ) {
          // A block that does not fit completely may fit in part.
          await file.write(block, 0, size).catch(() => {
            size /= 2
          })
        }
      } finally {
        await file.close()
      }
    },
    empty: () => rm(filler, { force: true }),
    async [Symbol.asyncDispose]() {
      await run('umount', ['-l', path])
      await rm(path, { recursive: true, force: true })
    },
  }
}
