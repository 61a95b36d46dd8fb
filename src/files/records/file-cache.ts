import { createByteCache, heapBytes } from '../../platform/memory/byte-cache.ts'
import type { Queryable } from '../../platform/postgres/db.ts'
import type { StoredFile } from '../model.ts'
import { readRowVersions, readVersionedFiles } from './store.ts'

/** Bytes of the largest record that is cached. */
const largest = 200_000

interface Kept {
  readonly rowVersion: string
  readonly file: StoredFile
}

/**
 * Records of files in memory. Loading and parsing them, with all versions, is most of the database work for a page of
 * objects with files (bench/file-delivery.ts). The cache is never out of date: each read asks for the row versions of the
 * files, and a cached record is used only if its row version has not changed.
 *
 * A record is replaced, never changed: an unchanged record is the same JavaScript object at each read. All records
 * together take up to `maxBytes` in memory.
 */
export function createFileCache(maxBytes: number) {
  const kept = createByteCache<number, Kept>({
    name: 'files',
    maxBytes,
    maxEntryBytes: largest,
    sizeOf: ({ file }) => heapBytes(file),
  })

  async function load(from: Queryable, ids: readonly number[]): Promise<StoredFile[]> {
    const found = await readVersionedFiles(from, ids)
    // Within a transaction a row can change again without a new row version.
    if (!('afterCommit' in from)) for (const { file, rowVersion } of found) kept.set(file.id, { file, rowVersion })
    return found.map(({ file }) => file)
  }

  return {
    /** The existing files with their versions, in the order of their ids. */
    async read(from: Queryable, ids: readonly number[]): Promise<StoredFile[]> {
      if ('afterCommit' in from || !ids.some((id) => kept.has(id))) return load(from, ids)
      const rowVersions = await readRowVersions(from, ids)
      const missing: number[] = []
      const files: StoredFile[] = []
      for (const [id, rowVersion] of rowVersions) {
        const known = kept.get(id)
        if (known?.rowVersion === rowVersion) files.push(known.file)
        else missing.push(id)
      }
      if (missing.length > 0) files.push(...(await load(from, missing)))
      return files.sort((a, b) => a.id - b.id)
    },
  }
}
