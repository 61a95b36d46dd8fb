import { rm } from 'node:fs/promises'
import { LRUCache } from 'lru-cache'
import type { BlobStore } from '../blobs/blob-store.ts'
import type { FileVersion } from '../model.ts'
import { localPath } from '../renditions/sources/sources.ts'
import type { WorkFolders } from '../renditions/sources/work-folders.ts'

/** Bytes of local copies of contents that are stored elsewhere. */
const maxBytes = 4_000_000_000

/** Paths of contents that are read again and again. Contents that are not in a local folder are copied to one. */
export function createLocalCopies(folders: WorkFolders) {
  const copies = new LRUCache<string, { readonly path: Promise<string>; readonly folder: Promise<string> }>({
    maxSize: maxBytes,
    dispose: ({ folder }) => void folder.then((path) => rm(path, { recursive: true, force: true })).catch(() => {}),
  })
  return {
    path(version: FileVersion, store: BlobStore): Promise<string> {
      const own = store.local?.(version.sha256)
      if (own !== undefined) return Promise.resolve(own)
      const known = copies.get(version.sha256)
      if (known) return known.path
      const folder = folders.make().then(({ path }) => path)
      const path = folder.then((at) => localPath(version, store, at))
      copies.set(version.sha256, { path, folder }, { size: Math.max(1, version.size) })
      path.catch(() => copies.delete(version.sha256))
      return path
    },

    close(): void {
      copies.clear()
    },
  }
}
