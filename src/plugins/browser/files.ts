import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { Readable } from 'node:stream'
import { contentType } from 'mime-types'
import { AppError } from '../../platform/errors.ts'
import { isObject } from '../manifest/reader.ts'
import type { Plugin, PluginSnapshot } from '../model.ts'
import type { PluginFolder } from '../packages/folders.ts'
import { textsFile } from '../packages/l10n.ts'
import { fileWithin } from '../packages/read-folder.ts'
import { parsedJson } from '../run/answer.ts'

export const bundleKinds = { js: 'url', css: 'css', html: 'html' } as const
export type BundleKind = keyof typeof bundleKinds

/** A file for browsers, which may have it in their cache. */
export interface BrowserFile {
  readonly etag: string
  readonly type: string
  readonly size: number | null
  open(): Readable
}

export interface BrowserDeps {
  readonly plugins: () => PluginSnapshot
  readonly folderOf: (plugin: Plugin) => Promise<PluginFolder>
}

/** Files of plugins for front ends. They contain nothing secret, so they need no token. */
export function createBrowserFiles({ plugins, folderOf }: BrowserDeps) {
  function enabled(name: string): Plugin {
    const plugin = plugins().byName.get(name)
    if (!plugin) throw new AppError('PluginNotFound', { plugin: name })
    if (!plugin.enabled) throw new AppError('PluginDisabled', { plugin: name })
    return plugin
  }

  /** The part of a plugin in a bundle; null: it has none. */
  async function partOf(plugin: Plugin, kind: BundleKind) {
    const path = plugin.manifest.webfrontend[bundleKinds[kind]]
    if (typeof path !== 'string' || path === '') return null
    const { root } = await folderOf(plugin)
    return fileWithin(root, [plugin.manifest.staticFolder, path].filter(Boolean).join('/'))
  }

  return {
    /** The files of all enabled plugins, one after the other. */
    async bundle(kind: BundleKind): Promise<BrowserFile> {
      const found = await Promise.all(plugins().enabled.map((plugin) => partOf(plugin, kind)))
      const parts = found.filter((part) => part !== null)
      return {
        etag: tagOf(parts.map(({ path, size, modified }) => [path, size, modified.getTime()])),
        type: `text/${kind === 'js' ? 'javascript' : kind}; charset=utf-8`,
        size: null,
        // A script may end without a semicolon.
        open: () => Readable.from(joined(parts, kind === 'js' ? '\n;\n' : '\n'), { objectMode: false }),
      }
    },

    /** The texts of all enabled plugins in a language; if two have the same key, the later plugin's text is used. */
    async texts(language: string): Promise<Record<string, string>> {
      const all = await Promise.all(
        plugins().enabled.map(async (plugin) => {
          if (plugin.manifest.l10n === null) return null
          const { texts } = await folderOf(plugin)
          return parsedJson(await readFile(textsFile(texts, language), 'utf8').catch(() => 'null'))
        }),
      )
      const merged: Record<string, string> = Object.create(null)
      for (const texts of all) if (isObject(texts)) Object.assign(merged, texts)
      return merged
    },

    /**
     * A file of the folder that a plugin serves to browsers.
     * @throws {AppError} `PluginNotFound`, `PluginDisabled`, `ResourceNotFound`
     */
    async file(name: string, path: string): Promise<BrowserFile> {
      const plugin = enabled(name)
      const { staticFolder } = plugin.manifest
      const { root } = await folderOf(plugin)
      const found = staticFolder === null ? null : await fileWithin(`${root}/${staticFolder}`, path)
      if (!found) throw new AppError('ResourceNotFound', { plugin: name, path })
      return {
        etag: tagOf([found.path, found.size, found.modified.getTime()]),
        type: contentType(extname(found.path)) || 'application/octet-stream',
        size: found.size,
        open: () => createReadStream(found.path),
      }
    },

    enabled,
  }
}

/** Paths contain the hash of their archive. */
function tagOf(of: unknown): string {
  return `"${createHash('sha256').update(JSON.stringify(of)).digest('base64url').slice(0, 27)}"`
}

async function* joined(parts: readonly { readonly path: string }[], separator: string): AsyncGenerator<Buffer> {
  for (const { path } of parts) {
    yield* createReadStream(path)
    yield Buffer.from(separator)
  }
}
