import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isAlive } from '../../../platform/process/processes.ts'

export interface WorkFolder extends AsyncDisposable {
  readonly path: string
}

/** A folder that is made when its path is asked for. */
export interface LateFolder extends AsyncDisposable {
  path(): Promise<string>
}

/** Folders for work in progress, below one place. Folders left by a killed process are removed. */
export function createWorkFolders(place: string) {
  async function make(): Promise<WorkFolder> {
    await mkdir(place, { recursive: true, mode: 0o750 })
    const path = await mkdtemp(join(place, `${process.pid}-`))
    return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
  }

  return {
    make,

    /** For work that rarely needs a folder. */
    late(): LateFolder {
      let made: Promise<WorkFolder> | null = null
      return {
        async path() {
          made ??= make()
          return (await made).path
        },
        async [Symbol.asyncDispose]() {
          await (await made?.catch(() => null))?.[Symbol.asyncDispose]()
        },
      }
    },

    async sweep(): Promise<void> {
      const names = await readdir(place).catch(() => [])
      for (const name of names) {
        const [, pid] = /^(\d+)-/.exec(name) ?? []
        if (pid !== undefined && !isAlive(Number(pid))) await rm(join(place, name), { recursive: true, force: true })
      }
    },
  }
}

export type WorkFolders = ReturnType<typeof createWorkFolders>
