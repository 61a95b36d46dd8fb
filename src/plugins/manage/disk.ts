import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Bus } from '../../platform/postgres/bus.ts'
import type { Db } from '../../platform/postgres/db.ts'
import { manifestName } from '../manifest/reader.ts'
import type { Folders } from '../packages/folders.ts'
import { type FolderContent, readPluginFolder } from '../packages/read-folder.ts'
import { pluginTopic } from '../read.ts'
import * as store from '../store.ts'

export interface FoundOnDisk extends FolderContent {
  readonly path: string
}

/** Levels of folders that are searched: so a loop of links ends. */
const deepest = 10
const mostFolders = 20_000

/**
 * The plugins in the folders of the configuration: each folder with a manifest is one, and is not searched any further.
 * Names are literal; names that begin with a dot are left out. An unreadable plugin is logged and left out.
 * @throws {Error} when two plugins have the same name: it would be unclear which of them is meant.
 */
export async function findOnDisk(paths: readonly string[], log: Logger): Promise<FoundOnDisk[]> {
  const found = new Map<string, FoundOnDisk>()
  let left = mostFolders
  async function search(folder: string, depth: number): Promise<void> {
    if (--left < 0) return
    if (await isFile(join(folder, manifestName))) {
      const content = await readPluginFolder(folder).catch((error: Error) => {
        log.error({ folder, reason: error.message }, 'a plugin cannot be read')
        return null
      })
      if (!content) return
      const { name } = content.manifest
      const other = found.get(name)
      if (other) throw new Error(`two plugins are called ${name}: ${other.path} and ${folder}; take one of them away`)
      found.set(name, { ...content, path: folder })
      return
    }
    if (depth === deepest) return
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
    const folders = entries
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
      .map(({ name }) => name)
    for (const name of folders.sort()) await search(join(folder, name), depth + 1)
  }
  for (const path of paths) {
    const there = await stat(path).catch(() => null)
    if (there?.isDirectory()) await search(path, 0)
    else log.warn({ folder: path }, 'a folder of plugins is not there')
  }
  return [...found.values()]
}

/** Registers the found plugins; new plugins are off. A plugin with the name of an installed one is left out. */
export async function registerPlugins(
  { db, bus, folders, log }: { db: Db; bus: Bus; folders: Pick<Folders, 'ofDisk'>; log: Logger },
  found: readonly FoundOnDisk[],
): Promise<void> {
  if (found.length === 0) return
  const known = new Map((await store.loadPlugins(db)).map((plugin) => [plugin.name, plugin]))
  for (const { path, raw, manifest, buildInfo } of found) {
    const { name } = manifest
    const before = known.get(name)
    if (before && before.type !== 'disk') {
      log.error({ plugin: name, folder: path }, 'a plugin of this name is installed: the one in the folder is left out')
      continue
    }
    try {
      await folders.ofDisk(manifest, path)
    } catch (error) {
      log.error({ plugin: name, folder: path, reason: (error as Error).message }, 'a plugin cannot be read')
      continue
    }
    await db.transaction(async (tx) => {
      const content = { package: null, zipFile: null, etag: null, manifest: raw, buildInfo }
      if (before) await store.updatePlugin(tx, before.id, { path, content })
      else {
        const settings = { name, type: 'disk', path, url: null, updatePolicy: 'never' } as const
        await store.insertPlugin(tx, { ...settings, ...content })
      }
      await bus.publish(tx, pluginTopic)
    })
    if (manifest.unsupported.length > 0) {
      log.warn({ plugin: name, unsupported: manifest.unsupported }, 'parts of the manifest of a plugin have no effect')
    }
  }
}

function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (info) => info.isFile(),
    () => false,
  )
}
