import { readFile, realpath, stat } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { readManifest } from '../manifest/manifest.ts'
import type { Manifest } from '../manifest/model.ts'
import { isObject, manifestName, wrongManifest } from '../manifest/reader.ts'
import { longestManifest, readYaml } from '../manifest/yaml.ts'

/** The content of a plugin's folder. */
export interface FolderContent {
  /** The manifest as written, in which file names of `fas_config` are replaced by the contents of the files. */
  readonly raw: Record<string, unknown>
  readonly manifest: Manifest
  readonly buildInfo: BuildInfo
}

export type BuildInfo = Readonly<Partial<Record<(typeof buildKeys)[number], string>>>
const buildKeys = ['repository', 'rev', 'release', 'lastchanged', 'builddate'] as const
const longestBuildInfo = 64 * 1024

/** @throws {AppError} naming the error. */
export async function readPluginFolder(folder: string): Promise<FolderContent> {
  const bytes = await readBounded(join(folder, manifestName), longestManifest)
  if (!bytes) throw wrongManifest('the folder of the plugin has none')
  const raw = await withRecipes(readYaml(bytes), folder)
  return { raw, manifest: readManifest(raw), buildInfo: await readBuildInfo(folder) }
}

const mostCookbooks = 50

/** Recipes are in separate files, which are read with the manifest: all processes get them from the database. */
async function withRecipes(raw: Record<string, unknown>, folder: string): Promise<Record<string, unknown>> {
  const { fas_config: fas } = raw
  if (!isObject(fas)) return raw
  const read = async (path: unknown, place: string): Promise<Record<string, unknown>> => {
    const found = typeof path === 'string' ? await fileWithin(folder, path) : null
    if (!found) throw wrongManifest(`${place} must be the path of a file of the plugin`, { path: place })
    return readYaml((await readBounded(found.path, longestManifest)) ?? Buffer.alloc(0), String(path))
  }
  const { produce_config: produce, cookbooks, ...rest } = fas
  const books = cookbooks ?? []
  if (!Array.isArray(books) || books.length > mostCookbooks) {
    const message = `fas_config.cookbooks must be a list of at most ${mostCookbooks} files`
    throw wrongManifest(message, { path: 'fas_config.cookbooks' })
  }
  const contents: Record<string, unknown>[] = []
  for (const [index, book] of books.entries()) contents.push(await read(book, `fas_config.cookbooks.${index}`))
  return {
    ...raw,
    fas_config: {
      ...rest,
      ...(produce == null ? {} : { produce_config: await read(produce, 'fas_config.produce_config') }),
      cookbooks: contents,
    },
  }
}

/** Information about the build, as far as it can be read: nothing depends on it. */
async function readBuildInfo(folder: string): Promise<BuildInfo> {
  try {
    const bytes = await readBounded(join(folder, 'build-info.json'), longestBuildInfo)
    const info: unknown = bytes ? JSON.parse(bytes.toString('utf8')) : null
    if (!isObject(info)) return {}
    const told = buildKeys.flatMap((key) => {
      const value = info[key]
      return typeof value === 'string' && value !== ''
        ? [[key, value.slice(0, 500).replaceAll('\0', '').toWellFormed()]]
        : []
    })
    return Object.fromEntries(told)
  } catch {
    return {}
  }
}

async function readBounded(path: string, most: number): Promise<Buffer | null> {
  const info = await stat(path).catch(() => null)
  if (!info?.isFile()) return null
  return info.size > most ? Buffer.alloc(most + 1) : readFile(path)
}

/** A file below a folder, by a path in an address; null when there is none. Links that lead out of the folder are ignored. */
export async function fileWithin(
  folder: string,
  path: string,
): Promise<{ path: string; size: number; modified: Date } | null> {
  if (path.includes('\0') || path.split('/').includes('..')) return null
  try {
    const [root, found] = await Promise.all([realpath(folder), realpath(join(folder, path))])
    if (!found.startsWith(root + sep)) return null
    const info = await stat(found)
    return info.isFile() ? { path: found, size: info.size, modified: info.mtime } : null
  } catch {
    return null
  }
}
