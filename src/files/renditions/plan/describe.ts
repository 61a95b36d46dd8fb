import { createHash } from 'node:crypto'
import type { EventActor } from '../../../events/service.ts'
import type { JobContext } from '../../../jobs/service.ts'
import type { Queryable } from '../../../platform/postgres/db.ts'
import type { BlobStore } from '../../blobs/blob-store.ts'
import { type FileVersion, originalOf, type StoredFile, whoOf } from '../../model.ts'
import * as records from '../../records/store.ts'
import { mostAttempts, type ProduceDeps } from '../make/produce.ts'
import * as store from '../make/store.ts'
import type { OriginalType } from '../model.ts'
import type { RecipePrograms } from '../recipes/added.ts'
import { localPath } from '../sources/sources.ts'
import { CannotMake } from '../workshop/failure.ts'
import type { ResultOf, TextTask } from '../workshop/tasks.ts'
import { checkedTags, type Tag, technicalOf } from '../workshop/technical.ts'
import { hasText } from '../workshop/text-types.ts'
import { missingFingerprint } from './perceptual-hash.ts'
import { noPluginMetadata, type PluginMetadata, sayAll } from './plugin-metadata.ts'

/** The pseudo-rendition for reading a file's own metadata. */
export const metadataName = ':metadata'

export const metadataJob = 'files.metadata'

/** Changed when the same file would give other metadata. */
const ownHash = 'tags-5'

/** The same with the programs installed beside the service that read such originals. */
export function metadataHash(programs: Pick<RecipePrograms, 'saying'>, type: OriginalType): string {
  const added = programs.saying(type)
  if (added.length === 0) return ownHash
  const prints = added.map(({ name, params, fingerprint }) => [name, params, fingerprint])
  return `${ownHash} ${createHash('sha256').update(JSON.stringify(prints)).digest('hex').slice(0, 24)}`
}

/** Most characters of a text that are stored. */
const mostText = 1_000_000

interface Told {
  readonly tags: readonly Tag[] | null
  readonly text: ResultOf<TextTask> | null
  /** The statements of programs beside the service. */
  readonly said: PluginMetadata
  /** The reasons why a part is missing. */
  readonly problems: readonly CannotMake[]
}

export interface DescribeDeps extends ProduceDeps {
  /** The uploader of a file: the event of reading its metadata is logged in their name (EVENT-018). */
  readonly uploader: (from: Queryable, file: StoredFile) => Promise<EventActor | null>
}

/** Reads the metadata and the text of a file, and stores them. If they cannot be read, the reason is noted once. */
export function createDescribe(deps: DescribeDeps) {
  const { db, pipelined, events, locations, folders, changed, uploader, recipePrograms } = deps
  return async function describe(
    { fileId }: { readonly fileId: number },
    { attempt, signal }: JobContext,
  ): Promise<void> {
    const [file] = await records.readFiles(pipelined, [fileId])
    if (!file) return
    const begun = await store.beginRenditions(db, fileId, { names: [metadataName], again: attempt > 1 })
    if (begun.size === 0) return
    const original = originalOf(file)
    const hash = metadataHash(recipePrograms, original)
    const who = whoOf(file)
    const about = { actor: await uploader(db, file), basetype: 'file', objectId: fileId } as const
    const tired = (begun.get(metadataName) ?? 0) > mostAttempts
    await using folder = await folders.make()
    const told = tired
      ? {
          tags: null,
          text: null,
          said: noPluginMetadata,
          problems: [new CannotMake('unreadable', 'the service ended each time')],
        }
      : await readAll(deps, who, original, locations.storeOf(original.locationId), folder.path, signal)
    const { said, problems } = told
    const { tags, text } = together(told)
    const look = tired ? undefined : await missingFingerprint(deps, file, folder.path, signal)
    // A missing program may be installed later; a broken file stays broken.
    const [problem] = [...problems].sort((a, b) => Number(b.kind === 'unavailable') - Number(a.kind === 'unavailable'))
    const lacking = said.unsaid.find(({ problem: one }) => one.kind === 'unavailable')?.problem
    // Of the file itself: what others say of it is kept, and makes it no readable file.
    const ended = endOf(told.tags !== null, problem?.kind === 'unavailable' ? problem : (lacking ?? problem))
    await db.transaction(async (tx) => {
      if (!(await store.lockOriginal(tx, fileId, original.sha256))) return
      // Metadata found by others meanwhile stays.
      const known = await store.lockMetadata(tx, fileId)
      const technical = {
        ...noted(said, known),
        ...(tags ? technicalOf(tags, known) : {}),
        ...(text?.pages ? { pages: text.pages, page_sizes: text.sizes } : {}),
        ...(look?.blurhash === undefined || known.blurhash !== undefined ? {} : { blurhash: look.blurhash }),
      }
      if (tags || text || look) await store.addMetadata(tx, fileId, technical)
      if (tags) await store.putTags(tx, fileId, tags)
      if (text) await store.putText(tx, fileId, text)
      // Only programs beside the service gave a text, and now they give none.
      else if (known.said !== undefined) await store.dropText(tx, fileId)
      if (look) await store.putPerceptualHash(tx, fileId, original.sha256, look.perceptualHash)
      await store.endRenditions(tx, fileId, [
        { name: metadataName, recipeHash: hash, madeOf: original.sha256, ...ended },
      ])
      await changed(tx, [fileId])
      if (tags) {
        const metadata = { tags: tags.length, technical, ...(text ? { characters: text.text.length } : {}) }
        await events.append(tx, [{ ...about, type: 'FILE_METADATA', info: { metadata } }])
      }
      if (problem) {
        const receipt = { status: ended.status, reason: problem.message }
        await events.append(tx, [{ ...about, type: 'FILE_METADATA_ERROR', info: { recipe: 'metadata', receipt } }])
      }
      if (said.unsaid.length > 0)
        await events.append(
          tx,
          said.unsaid.map((one) => ({ ...about, ...unsaidEvent(one) })),
        )
    })
  }
}

/** A missing program may be installed later, so the file is then read once more; a broken file stays broken. */
function endOf(read: boolean, problem: CannotMake | undefined): Pick<store.Ended, 'status' | 'reason' | 'needs'> {
  const unavailable = problem?.kind === 'unavailable'
  const status = unavailable ? 'not_produced' : read ? 'done' : 'failed'
  return { status, reason: problem?.message ?? null, needs: problem?.needs ?? null }
}

function unsaidEvent({ recipe, problem, body }: PluginMetadata['unsaid'][number]) {
  const receipt = { status: statusOf(problem), reason: problem.message }
  const info = { recipe, receipt, ...(body === null ? {} : { body }) }
  return { type: 'FILE_METADATA_ERROR', info } as const
}

function statusOf(problem: CannotMake): 'not_produced' | 'failed' {
  return problem.kind === 'unavailable' ? 'not_produced' : 'failed'
}

/** Tags and text of the file, with those from programs beside the service. */
function together({ tags, text, said }: Told): Pick<Told, 'tags' | 'text'> {
  const all = [...(text ? [text.text] : []), ...said.texts].join('\n').replaceAll('\0', '').toWellFormed()
  return {
    tags: said.tags.length === 0 ? tags : [...(tags ?? []), ...said.tags],
    text:
      said.texts.length === 0
        ? text
        : {
            pages: null,
            sizes: [],
            ...text,
            text: all.slice(0, mostText).toWellFormed(),
            cut: text?.cut === true || all.length > mostText,
          },
  }
}

/**
 * The statements of programs beside the service, stored apart from the file's own metadata, so that they can be removed
 * with the program.
 */
function noted(
  { technical, texts }: PluginMetadata,
  known: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const nothing = Object.keys(technical).length === 0 && texts.length === 0
  return nothing && known.said === undefined ? {} : { said: nothing ? null : { technical } }
}

async function readAll(
  { workers, recipePrograms }: ProduceDeps,
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
  const path = await trying(() => localPath(original, blobs, folder))
  if (path === null) return { tags: null, text: null, said: noPluginMetadata, problems }
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
  const said = await sayAll(recipePrograms, original, source, signal)
  return { tags: found, text, said, problems }
}
