import type { EventActor } from '../../../events/service.ts'
import type { JobContext } from '../../../jobs/service.ts'
import type { Queryable } from '../../../platform/postgres/db.ts'
import type { BlobStore } from '../../blobs/blob-store.ts'
import { BlobMissing } from '../../blobs/blob-store.ts'
import { type FileVersion, originalOf, type StoredFile, whoOf } from '../../model.ts'
import * as records from '../../records/store.ts'
import { mostAttempts, type ProduceDeps } from '../make/produce.ts'
import * as store from '../make/store.ts'
import { localPath } from '../sources/sources.ts'
import { CannotMake } from '../workshop/failure.ts'
import type { ResultOf, TextTask } from '../workshop/tasks.ts'
import { checkedTags, type Tag, technicalOf } from '../workshop/technical.ts'
import { hasText } from '../workshop/text-types.ts'
import { missingLook } from './perceptual-hash.ts'

/** The reading of a file's own metadata, among its renditions. */
export const metadataName = ':metadata'

export const metadataJob = 'files.metadata'

/** Changes when the same file would tell something else. */
export const metadataHash = 'tags-5'

/** Characters of a text that are kept. */
const mostText = 1_000_000

interface Told {
  readonly tags: readonly Tag[] | null
  readonly text: ResultOf<TextTask> | null
  /** Why one of them is missing. */
  readonly problems: readonly CannotMake[]
}

export interface DescribeDeps extends ProduceDeps {
  /** Who uploaded a file: what is read of it is logged as theirs (EVENT-018). */
  readonly uploader: (from: Queryable, file: StoredFile) => Promise<EventActor | null>
}

/** Reads what a file says of itself and what is written in it, and keeps it. What cannot be read says why, once. */
export function createDescribe(deps: DescribeDeps) {
  const { db, events, locations, folders, changed, uploader } = deps
  return async function describe(
    { fileId }: { readonly fileId: number },
    { attempt, signal }: JobContext,
  ): Promise<void> {
    const [file] = await records.readFiles(db, [fileId])
    if (!file) return
    const begun = await store.beginRenditions(db, fileId, { names: [metadataName], again: attempt > 1 })
    if (begun.size === 0) return
    const original = originalOf(file)
    const who = whoOf(file)
    const about = { actor: await uploader(db, file), basetype: 'file', objectId: fileId } as const
    const tired = (begun.get(metadataName) ?? 0) > mostAttempts
    await using folder = await folders.make()
    const told = tired
      ? { tags: null, text: null, problems: [new CannotMake('unreadable', 'the service ended each time')] }
      : await readAll(deps, who, original, locations.storeOf(original.locationId), folder.path, signal)
    const { tags, text, problems } = told
    const look = tired ? undefined : await missingLook(deps, file, folder.path, signal)
    // What is missing here may come; a broken file stays as it is.
    const [problem] = [...problems].sort((a, b) => Number(b.kind === 'unavailable') - Number(a.kind === 'unavailable'))
    const done = tags !== null && problem?.kind !== 'unavailable'
    await db.transaction(async (tx) => {
      if (!(await store.lockOriginal(tx, fileId, original.sha256))) return
      // What others have found out meanwhile stays.
      const known = await store.lockMetadata(tx, fileId)
      const technical = {
        ...(tags ? technicalOf(tags, known) : {}),
        ...(text?.pages ? { pages: text.pages, page_sizes: text.sizes } : {}),
        ...(look?.blurhash === undefined || known.blurhash !== undefined ? {} : { blurhash: look.blurhash }),
      }
      if (tags || text || look) await store.addMetadata(tx, fileId, technical)
      if (tags) await store.putTags(tx, fileId, tags)
      if (text) await store.putText(tx, fileId, text)
      if (look) await store.putPerceptualHash(tx, fileId, original.sha256, look.perceptualHash)
      const status = done ? 'done' : problem?.kind === 'unavailable' ? 'not_produced' : 'failed'
      const ended = { name: metadataName, recipeHash: metadataHash, madeOf: original.sha256 }
      const reason = problem?.message ?? null
      await store.endRenditions(tx, fileId, [{ ...ended, status, reason, needs: problem?.needs ?? null }])
      await changed(tx, [fileId])
      if (tags) {
        const metadata = { tags: tags.length, technical, ...(text ? { characters: text.text.length } : {}) }
        await events.append(tx, [{ ...about, type: 'FILE_METADATA', info: { metadata } }])
      }
      if (problem) {
        const receipt = { status, reason }
        await events.append(tx, [{ ...about, type: 'FILE_METADATA_ERROR', info: { recipe: 'metadata', receipt } }])
      }
    })
  }
}

async function readAll(
  { workers }: ProduceDeps,
  who: string,
  original: FileVersion,
  blobs: BlobStore,
  folder: string,
  signal: AbortSignal,
): Promise<Told> {
  const problems: CannotMake[] = []
  const trying = async <T>(work: () => Promise<T>): Promise<T | null> => {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof CannotMake)) throw error
      problems.push(error)
      return null
    }
  }
  const path = await trying(() =>
    localPath(original, blobs, folder).catch((cause) => {
      throw cause instanceof BlobMissing ? new CannotMake('unreadable', 'its content is missing', { cause }) : cause
    }),
  )
  if (path === null) return { tags: null, text: null, problems }
  const { extension } = original
  const source = { path, extension }
  const found = await trying(async () => {
    const read = checkedTags(await workers.run({ kind: 'tags', source, folder }, signal, who))
    if (read === null) throw new CannotMake('unreadable', 'its metadata cannot be read')
    return read
  })
  const text = hasText(extension)
    ? await trying(() => workers.run({ kind: 'text', source, most: mostText }, signal, who))
    : null
  return { tags: found, text, problems }
}
