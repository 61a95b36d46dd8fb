import type { JobContext } from '../../jobs/service.ts'
import { BlobMissing } from '../blobs/blob-store.ts'
import { originalOf } from '../model.ts'
import * as records from '../records/store.ts'
import type { ProduceDeps } from './produce.ts'
import { localPath } from './sources.ts'
import * as store from './store.ts'
import { tagsOf, technicalOf } from './technical.ts'
import { CannotMake } from './workshop/failure.ts'

/** The reading of a file's own metadata, among its renditions. */
export const metadataName = ':metadata'

export const metadataJob = 'files.metadata'

/** Changes when the same file would tell something else. */
export const metadataHash = 'tags-1'

/** Reads what a file says of itself, and keeps it. What cannot be read says why, once. */
export function createDescribe({ db, events, locations, tags, folders }: Omit<ProduceDeps, 'workers'>) {
  return async function describe({ fileId }: { readonly fileId: number }, { attempt }: JobContext): Promise<void> {
    const [file] = await records.readFiles(db, [fileId])
    if (!file) return
    const begun = await store.beginRenditions(db, fileId, { names: [metadataName], again: attempt > 1 })
    if (begun.size === 0) return
    const original = originalOf(file)
    const ended = { name: metadataName, recipeHash: metadataHash, madeOf: original.sha256 }
    const about = { actor: null, basetype: 'file', objectId: fileId } as const
    await using folder = await folders.make()
    try {
      const path = await localPath(original, locations.storeOf(original.locationId), folder.path).catch((cause) => {
        throw cause instanceof BlobMissing ? new CannotMake('unreadable', 'its content is missing', { cause }) : cause
      })
      const found = tagsOf(await tags.read(path))
      await db.transaction(async (tx) => {
        if (!(await store.putVersions(tx, fileId, []))) return
        // What others have found out meanwhile stays.
        const known = await store.lockMetadata(tx, fileId)
        const technical = technicalOf(found, known)
        await store.addMetadata(tx, fileId, technical)
        await store.putTags(tx, fileId, found)
        await store.endRenditions(tx, fileId, [{ ...ended, status: 'done', reason: null, needs: null }])
        await events.append(tx, [
          { ...about, type: 'FILE_METADATA', info: { metadata: { tags: found.length, technical } } },
        ])
      })
    } catch (error) {
      if (!(error instanceof CannotMake)) throw error
      const { kind, message, needs = null } = error
      const status = kind === 'unavailable' ? 'not_produced' : 'failed'
      await db.transaction(async (tx) => {
        await store.endRenditions(tx, fileId, [{ ...ended, status, reason: message, needs }])
        const receipt = { status, reason: message }
        await events.append(tx, [{ ...about, type: 'FILE_METADATA_ERROR', info: { recipe: 'metadata', receipt } }])
      })
    }
  }
}
