import type { BaseConfig } from '../../config/service.ts'
import type { Actor } from '../../platform/actor.ts'
import { AppError, badRequest } from '../../platform/errors.ts'
import type { Shares } from '../../platform/memory/shares.ts'
import type { Db, Queryable, Tx } from '../../platform/postgres/db.ts'
import { type CallerRights, type Principal, renderWho, type WhoNames } from '../../rights/service.ts'
import type { Addresses } from '../addresses/addresses.ts'
import { type FileVersion, mostBits, originalOf, type Similar, type StoredFile } from '../model.ts'
import { accessTo, type FileAccess, type FileUse, type FileWithAccess } from '../records/access.ts'
import { createFileCache } from '../records/file-cache.ts'
import { cleanFileName } from '../records/file-name.ts'
import { similarTo } from '../records/similar.ts'
import * as store from '../records/store.ts'
import { readTags } from '../renditions/make/store.ts'
import type { WithRecipes } from '../renditions/recipes/added.ts'
import { isFree } from '../renditions/recipes/recipes.ts'
import type { Tag } from '../renditions/workshop/technical.ts'
import { createAlike } from './alike.ts'
import { createShown } from './for-objects.ts'
import { type FileFormat, type FileInObject, renderFile, seesOriginal, type Wire } from './render.ts'

export interface RecordOptions {
  readonly db: Db
  readonly settings: () => WithRecipes<Pick<BaseConfig, 'produce_config' | 'file_url_expire' | 'deep_link_access'>>
  readonly addresses: Addresses
  readonly rights: { forActor(actor: Actor): Promise<CallerRights> }
  /** Objects that have the files, by file, as far as the caller may see them. */
  readonly usesOf: (
    from: Queryable,
    caller: CallerRights,
    fileIds: readonly number[],
  ) => Promise<ReadonlyMap<number, readonly FileUse[]>>
  /** Metadata or names of files have changed: data derived from them is out of date. */
  readonly changed: (tx: Tx, fileIds: readonly number[]) => Promise<void>
  /** Whether the object with that uuid has the file, in its latest version or an old one, in the order of the pairs. */
  readonly filesWithin: (
    from: Queryable,
    pairs: readonly { readonly fileId: number; readonly uuid: string }[],
  ) => Promise<readonly boolean[]>
  readonly whoNames: (from: Queryable, who: Iterable<Principal>, languages: readonly string[]) => Promise<WhoNames>
  /** The user for callers without a token; null: there is none. */
  readonly anonymous: () => Promise<Actor | null>
  /** The files when a version of that name has been made of each, or will not be made. */
  readonly awaitVersion: (files: readonly StoredFile[], name: string) => Promise<readonly StoredFile[]>
  readonly memory: Pick<Shares, 'files' | 'fileTexts'>
}

/** Optional parts of a read of records. */
export interface ReadFiles {
  readonly duplicates?: boolean | undefined
  /** uuid of an object that must have the files; their addresses use the object's names for them. */
  readonly object?: string | undefined
  /** A version that must be made before the answer. */
  readonly awaited?: string | undefined
}

/** The metadata of a file. */
export interface FileMetadata {
  readonly tags: readonly Tag[]
  /** The extension of the original. */
  readonly extension: string
}

export type Records = ReturnType<typeof createRecords>

const day = 86_400
/** Most similar pictures that are searched among objects. */
const mostAlike = 1000

/** Records of files as callers may see and change them. */
export function createRecords({
  db,
  settings,
  addresses,
  rights,
  usesOf,
  changed,
  filesWithin,
  whoNames,
  anonymous,
  awaitVersion,
  memory,
}: RecordOptions) {
  function accessOf(caller: CallerRights, file: StoredFile, uses: readonly FileUse[]): FileAccess {
    const type = originalOf(file)
    return accessTo(caller, file, uses, (version) => isFree(settings().produce_config.value, type, version))
  }

  /** Loads the existing files. `read`: how records are loaded. */
  async function load(
    from: Queryable,
    caller: CallerRights,
    ids: readonly number[],
    read: typeof store.readFiles = store.readFiles,
  ): Promise<FileWithAccess[]> {
    if (ids.length === 0) return []
    const files = await read(from, ids)
    const uses = caller.root ? new Map<number, FileUse[]>() : await usesOf(from, caller, ids)
    return files.map((file) => ({ file, access: accessOf(caller, file, uses.get(file.id) ?? []) }))
  }

  const secondsOf = (days: number | undefined): number => (days ?? settings().file_url_expire.default_days) * day

  async function render(
    from: Queryable,
    actor: Actor,
    known: readonly FileWithAccess[],
    format: FileFormat,
    {
      tags,
      object = null,
    }: { readonly tags?: ReadonlyMap<number, readonly Tag[]>; readonly object?: string | null | undefined } = {},
  ): Promise<Map<number, Wire>> {
    const who = new Set(known.map(({ file }): Principal => `u${file.uploadUser}`))
    const names = format === 'short' ? new Map() : await whoNames(from, who, actor.languages)
    const until = addresses.until(secondsOf(undefined))
    return new Map(
      known.map(({ file, access }) => {
        const addressesOf = (version: FileVersion) => addresses.of(file, version, until, object)
        const uploader = format === 'short' ? null : renderWho(`u${file.uploadUser}`, names)
        return [file.id, renderFile(file, { format, access, addressesOf, uploader, tags: tags?.get(file.id) })]
      }),
    )
  }

  /** The same after a version of them has been made, or will not be made. */
  async function settled(known: readonly FileWithAccess[], name: string): Promise<readonly FileWithAccess[]> {
    const files = await awaitVersion(
      known.map(({ file }) => file),
      name,
    )
    return known.map(({ access }, index) => ({ file: files[index] as StoredFile, access }))
  }

  const kept = createFileCache(memory.files)
  const loadKept = (from: Queryable, caller: CallerRights, ids: readonly number[]): Promise<FileWithAccess[]> =>
    load(from, caller, ids, kept.read)
  const shown = createShown({
    load: loadKept,
    addresses,
    whoNames,
    maxBytes: memory.fileTexts,
    secondsOf,
    hasDeepLinks: () => settings().deep_link_access.enabled,
  })

  const alike = createAlike({ db, usesOf, load })

  /** The user for callers without a token; null: there is none. */
  const callerIfAny = async (actor: Actor | null): Promise<Actor | null> => actor ?? anonymous()

  async function callerOf(actor: Actor | null): Promise<Actor> {
    const known = await callerIfAny(actor)
    if (!known) throw new AppError('InsufficientRights')
    return known
  }

  return {
    load,

    render,

    callerIfAny,

    /** The existing files, with the actor's rights on each. */
    known: async (actor: Actor, ids: readonly number[]): Promise<FileWithAccess[]> =>
      load(db, await rights.forActor(actor), ids),

    /** Records of files that the caller may see even without an object: pictures of users that it may read. */
    async pictures(actor: Actor, ids: readonly number[]): Promise<Map<number, Wire>> {
      const caller = await rights.forActor(actor)
      const known = (await store.readFiles(db, ids)).map((file) => {
        const access = accessOf(caller, file, [])
        const may: FileAccess['may'] = (right, version) => right === 'asset_show' || access.may(right, version)
        return { file, access: { may, all: access.all, any: true, change: access.change } }
      })
      return render(db, actor, known, 'short')
    },

    /** Records of the caller's own files. */
    async renderUploaded(actor: Actor, files: readonly StoredFile[]): Promise<Wire[]> {
      const caller = await rights.forActor(actor)
      const known = files.map((file) => ({ file, access: accessOf(caller, file, []) }))
      const wires = await render(db, actor, known, 'long')
      return files.map((file) => wires.get(file.id) ?? {})
    },

    /**
     * The rights of the caller, or of the user for callers without a token, on files that need not exist, in their order.
     * @throws {AppError} `InsufficientRights`.
     */
    async accessFor(
      actor: Actor | null,
      wanted: readonly { readonly id: number; readonly file: StoredFile | undefined }[],
    ): Promise<readonly FileAccess[]> {
      const caller = await rights.forActor(await callerOf(actor))
      // This runs for a file that does not exist, too: the time must not reveal whether it does.
      const ids = [...new Set(wanted.map(({ id }) => id))]
      const uses = caller.root ? new Map<number, FileUse[]>() : await usesOf(db, caller, ids)
      const { root } = caller
      return wanted.map(({ id, file }) =>
        file ? accessOf(caller, file, uses.get(id) ?? []) : { may: () => root, all: root, any: root, change: root },
      )
    },

    /** The existing files that the caller may change. */
    async mayChange(actor: Actor, ids: readonly number[]): Promise<ReadonlySet<number>> {
      const known = await load(db, await rights.forActor(actor), ids)
      return new Set(known.filter(({ access }) => access.change).map(({ file }) => file.id))
    },

    /** Records by id; files that the caller may not see are missing. @throws {AppError} `InsufficientRights`. */
    async read(
      actor: Actor | null,
      ids: readonly number[],
      format: FileFormat,
      { duplicates = false, object, awaited }: ReadFiles = {},
    ): Promise<Map<number, Wire>> {
      const known = await callerOf(actor)
      const caller = await rights.forActor(known)
      const pairs = object === undefined ? [] : ids.map((fileId) => ({ fileId, uuid: object }))
      const within = await filesWithin(db, pairs)
      const outside = new Set(pairs.flatMap(({ fileId }, index) => (within[index] ? [] : [fileId])))
      const found = await load(db, caller, ids)
      const allowed = found.filter(({ file, access }) => access.any && !outside.has(file.id))
      if (allowed.length === 0 && ids.length > 0) throw new AppError('InsufficientRights')
      const seen = awaited === undefined ? allowed : await settled(allowed, awaited)
      const shown = seen.map(({ file }) => file.id)
      const tags = format === 'long' ? await readTags(db, shown) : new Map<number, readonly Tag[]>()
      const wires = await render(db, known, seen, format, { tags, object })
      return duplicates ? alike.withDuplicates(caller, wires) : wires
    },

    /**
     * The metadata of files, for callers who may see or download their originals. Other files, and files not read yet,
     * are missing.
     */
    async metadata(actor: Actor | null, ids: readonly number[]): Promise<ReadonlyMap<number, FileMetadata>> {
      const known = await load(db, await rights.forActor(await callerOf(actor)), ids)
      const told = known.filter(({ file, access }) => seesOriginal(file, access)).map(({ file }) => file)
      const tags = await readTags(
        db,
        told.map(({ id }) => id),
      )
      return new Map(
        told.flatMap((file) => {
          const own = tags.get(file.id)
          return own ? [[file.id, { tags: own, extension: originalOf(file).extension }] as const] : []
        }),
      )
    },

    withDuplicates: alike.withDuplicates,

    /** Pictures that look like the file, the most similar first. @throws {AppError} `InsufficientRights`. */
    async similar(actor: Actor | null, id: number, asked: { readonly bits: number; readonly limit: number }) {
      const caller = await rights.forActor(await callerOf(actor))
      const [known] = await load(db, caller, [id])
      if (!known?.access.any) throw new AppError('InsufficientRights')
      return alike.similar(caller, id, asked)
    },

    /**
     * Pictures that look like the files, without a check of rights on the similar ones: the caller checks where each is
     * used.
     * @throws {AppError} `InsufficientRights` for a file that the actor may not see.
     */
    async alike(actor: Actor, ids: readonly number[]): Promise<Map<number, readonly Similar[]>> {
      const known = await load(db, await rights.forActor(actor), ids)
      const seen = new Set(known.filter(({ access }) => access.any).map(({ file }) => file.id))
      if (ids.some((id) => !seen.has(id))) throw new AppError('InsufficientRights')
      return similarTo(db, ids, { bits: mostBits, most: mostAlike })
    },

    /** Files as parts of objects, as JSON, each with the members of its place in the object. */
    async shown(
      from: Queryable,
      actor: Actor,
      places: readonly FileInObject[],
      days: number | undefined,
      format: 'standard' | 'long',
    ): Promise<readonly (readonly string[])[]> {
      return shown(from, actor, await rights.forActor(actor), places, { days, format })
    },

    /**
     * Finds existing files that the caller may add to an object: those that the caller has uploaded, and those whose
     * original the caller may download from an object that has it. With less, a caller who may only view a file could
     * take it. The files are locked until the end of the transaction.
     */
    async linkable(tx: Tx, actor: Actor, ids: readonly number[]): Promise<Map<number, FileVersion>> {
      await tx.query('select from file where id = any($1::bigint[]) order by id for key share', [ids])
      const found = await load(tx, await rights.forActor(actor), ids)
      return new Map(
        found
          .filter(({ file, access }) => access.may('asset_download', originalOf(file)))
          .map(({ file }) => [file.id, originalOf(file)]),
      )
    },

    /** Changes name or reference. @throws {AppError} `InsufficientRights`, also where there is no such file. */
    async change(
      actor: Actor,
      id: number,
      change: { readonly filename?: string | undefined; readonly reference?: string | null | undefined },
      checkOnly: boolean,
    ): Promise<void> {
      const caller = await rights.forActor(actor)
      await db.transaction(async (tx) => {
        await tx.query('select from file where id = $1 for update', [id])
        const [known] = await load(tx, caller, [id])
        if (!known?.access.change) throw new AppError('InsufficientRights')
        if (checkOnly) return
        if (change.filename === undefined && change.reference === undefined) {
          throw badRequest('The body needs filename or reference.', { name: 'body' })
        }
        const filepath = change.filename === undefined ? null : cleanFileName(change.filename)
        await store.changeFile(tx, id, { filepath, reference: change.reference?.normalize('NFC') ?? change.reference })
        if (filepath !== null) await changed(tx, [id])
      })
    },
  }
}
