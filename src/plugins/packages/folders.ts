import { createHash, randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { outsideDeadlines } from '../../platform/limits/deadline.ts'
import type { Db } from '../../platform/postgres/db.ts'
import { assertFolder } from '../manifest/manifest.ts'
import type { Manifest } from '../manifest/model.ts'
import { prepareTexts } from './l10n.ts'
import { type FolderContent, readPluginFolder } from './read-folder.ts'
import { readPackage } from './store.ts'
import { badArchive, unpack } from './unpack.ts'

/** Most bytes of an archive. */
export const longestArchive = 256_000_000

/** The paths of a plugin's files in this process. */
export interface PluginFolder {
  /** The path that programs get as the folder of the plugin. */
  readonly root: string
  /** Its texts, one file for each language. */
  readonly texts: string
}

/** An archive that has been unpacked and read; `keep` keeps it, `discard` removes it. */
export interface Arrived extends FolderContent {
  readonly sha256: Buffer
  readonly size: number
  /** The archive itself. */
  readonly archive: string
  /** Makes the unpacked folder the folder of the plugin in this process. */
  keep(): Promise<void>
  discard(): Promise<void>
}

export type Folders = ReturnType<typeof createFolders>

/**
 * The folders of plugins in the data folder of this process: `<sha256>/<name>` for those that came as an archive. A
 * missing folder is unpacked from the database when it is needed.
 */
export function createFolders({ db, dataDir }: { readonly db: Db; readonly dataDir: string }) {
  const place = join(dataDir, 'plugins')
  const unpacking = new Map<string, Promise<void>>()

  const homeOf = (sha256: Buffer): string => join(place, sha256.toString('hex'))

  async function work<T>(task: (folder: string) => Promise<T>): Promise<T> {
    const folder = join(place, `new-${randomUUID()}`)
    await mkdir(folder, { recursive: true, mode: 0o700 })
    return task(folder)
  }

  /** Receives a whole archive and reads its manifest. Nothing is stored yet. @throws {AppError} */
  async function receive(content: AsyncIterable<Buffer>): Promise<Arrived> {
    return work(async (folder) => {
      const discard = (): Promise<void> => rm(folder, { recursive: true, force: true })
      try {
        const archive = join(folder, 'archive.zip')
        const { sha256, size } = await spool(content, archive)
        const home = join(folder, 'home')
        const unpacked = join(home, 'files')
        await mkdir(unpacked, { recursive: true })
        const top = await unpack(archive, unpacked)
        const found = await readPluginFolder(join(unpacked, top))
        assertFolder(found.manifest, top)
        await prepare(found.manifest, join(unpacked, top), join(home, 'texts'))
        return {
          ...found,
          sha256,
          size,
          archive,
          discard,
          async keep() {
            await settle(home, homeOf(sha256))
            await discard()
          },
        }
      } catch (error) {
        await discard()
        throw error
      }
    })
  }

  /** Unpacks the archive of the database, once for all concurrent callers. */
  async function ensure(sha256: Buffer): Promise<void> {
    const home = homeOf(sha256)
    if (await isThere(home)) return
    const key = sha256.toString('hex')
    const running =
      unpacking.get(key) ??
      outsideDeadlines(async () => {
        const arrived = await receive(readPackage(db, sha256))
        if (!arrived.sha256.equals(sha256)) {
          await arrived.discard()
          throw new Error('the archive of a plugin is another one than it was')
        }
        await arrived.keep()
      }).finally(() => unpacking.delete(key))
    unpacking.set(key, running)
    await running
  }

  return {
    receive,

    /** The folder of a plugin of that name that came as an archive. */
    async ofPackage(sha256: Buffer, name: string): Promise<PluginFolder> {
      await ensure(sha256)
      const home = homeOf(sha256)
      return { root: join(home, 'files', name), texts: join(home, 'texts') }
    },

    /** The folder of a plugin that is already on the disk: its texts are prepared here. */
    async ofDisk(manifest: Manifest, root: string): Promise<PluginFolder> {
      const texts = textsOfDisk(manifest.name)
      await rm(texts, { recursive: true, force: true })
      await prepare(manifest, root, texts)
      return { root, texts }
    },

    knownDisk: (name: string, root: string): PluginFolder => ({ root, texts: textsOfDisk(name) }),

    /** Waits until nothing is being unpacked. */
    async close(): Promise<void> {
      await Promise.allSettled(unpacking.values())
    },

    /** An empty folder for one call, not shared with others. */
    async workFolder(): Promise<string> {
      const folder = join(place, `work-${randomUUID()}`)
      await mkdir(folder, { recursive: true, mode: 0o700 })
      return folder
    },

    /** At the start of the process: removes unpacked archives that no plugin uses. */
    async tidy(used: readonly Buffer[]): Promise<void> {
      const kept = new Set(used.map((sha256) => sha256.toString('hex')))
      const names = await readdir(place).catch(() => [])
      const gone = names.filter((name) => !kept.has(name) && !name.startsWith('disk-'))
      await Promise.all(gone.map((name) => rm(join(place, name), { recursive: true, force: true })))
    },
  }

  function textsOfDisk(name: string): string {
    return join(place, `disk-${name}`)
  }
}

async function prepare({ l10n }: Manifest, root: string, texts: string): Promise<void> {
  if (l10n !== null) await prepareTexts(join(root, l10n), texts)
}

async function spool(content: AsyncIterable<Buffer>, path: string): Promise<{ sha256: Buffer; size: number }> {
  const hash = createHash('sha256')
  let size = 0
  await pipeline(async function* () {
    for await (const chunk of content) {
      size += chunk.length
      if (size > longestArchive) throw badArchive(`it is longer than ${longestArchive} bytes`)
      hash.update(chunk)
      yield chunk
    }
  }, createWriteStream(path))
  return { sha256: hash.digest(), size }
}

/** A folder with its final name is complete; another process with the same data folder may have been first. */
async function settle(from: string, to: string): Promise<void> {
  try {
    await rename(from, to)
  } catch (error) {
    if (!(await isThere(to))) throw error
  }
}

function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}
