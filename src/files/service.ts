/**
 * Files: their contents in locations, each content once under its hash, and the records that name them. A *blob* is a
 * content in a location, a *file* what somebody uploaded, a *version* what the file can be had as, a *use* an object that
 * has it. Rights on a file are those on the objects that use it; until one does it belongs to its uploader.
 */
import type { Logger } from 'pino'
import type { BaseConfig } from '../config/service.ts'
import type { EventLog, NewEvent } from '../events/service.ts'
import type { Jobs } from '../jobs/service.ts'
import type { Actor } from '../platform/actor.ts'
import type { Bus } from '../platform/bus.ts'
import type { Config } from '../platform/config.ts'
import type { Db, Queryable, Tx } from '../platform/db.ts'
import { AppError } from '../platform/errors.ts'
import { outsideLifetimes } from '../platform/lifetime.ts'
import { blockedHosts } from '../platform/outgoing-addresses.ts'
import type { Snapshots } from '../platform/snapshot.ts'
import { type CallerRights, type Principal, renderWho, type WhoNames } from '../rights/service.ts'
import { openSignatures } from './delivery/signatures.ts'
import { createFixity, scheduleFixity } from './fixity/service.ts'
import { createImages } from './images/service.ts'
import { createJanitor } from './janitor.ts'
import { createLocations } from './locations/service.ts'
import { type FileVersion, original, originalOf, type StoredFile } from './model.ts'
import { accessTo, type FileAccess, type FileUse } from './records/access.ts'
import { sameContents } from './records/duplicates.ts'
import { type FileFormat, type FileLink, renderFile, type Wire } from './records/render.ts'
import * as store from './records/store.ts'
import type { RemoteSource } from './remote/fetch.ts'
import { remoteOpener } from './remote/open.ts'
import { createRemoteStore } from './remote/remote-store.ts'
import { uploadRemote } from './remote/upload.ts'
import { isFree } from './renditions/recipes.ts'
import { createRenditions, type RenditionConfig } from './renditions/service.ts'
import { readTags } from './renditions/store.ts'
import type { Tag } from './renditions/technical.ts'
import { createResumable } from './resumable/service.ts'
import { cleanFileName } from './upload/file-name.ts'
import { uploadInfo } from './upload/keep.ts'
import type { Incoming } from './upload/multipart.ts'
import { type UploadPermission, uploadPermission } from './upload/permission.ts'
import { type UploadOptions, upload } from './upload/upload.ts'

export { verifyAll } from './fixity/verify-all.ts'
export type { FileUse } from './records/access.ts'
export type { FileLink } from './records/render.ts'

export interface FileOptions {
  readonly db: Db
  readonly bus: Bus
  readonly events: EventLog
  readonly snapshots: Pick<Snapshots, 'open'>
  readonly log: Logger
  readonly jobs: Jobs
  readonly config: RenditionConfig &
    Pick<
      Config,
      'fileFolders' | 'externalUrl' | 'readOnly' | 'allowPrivateFiles' | 'blockedFileHosts' | 'slowGrace' | 'leastRate'
    >
  readonly settings: () => Settings
  readonly rights: { forActor(actor: Actor): Promise<CallerRights> }
  /** Objects that have the files, by file, as far as the caller may see them. */
  readonly usesOf: (
    from: Queryable,
    caller: CallerRights,
    fileIds: readonly number[],
  ) => Promise<ReadonlyMap<number, readonly FileUse[]>>
  /** Whether the object of that uuid has the file. */
  readonly hasFile: (from: Queryable, fileId: number, uuid: string) => Promise<boolean>
  readonly whoNames: (from: Queryable, who: Iterable<Principal>, languages: readonly string[]) => Promise<WhoNames>
  /** The user that callers without a token are; null: there are none such. */
  readonly anonymous: () => Promise<Actor | null>
}

/** What of the base configuration files need. */
export type Settings = Pick<BaseConfig, 'location_defaults' | 'produce_config' | 'file_url_expire' | 'janitor'>

/** What is said of renditions with an upload. */
export interface ProduceWish {
  /** Whether they are made of the file at this place of the request. */
  produce(index: number): boolean
  /** The smaller, the earlier. */
  readonly priority: number
}

export type FileService = Awaited<ReturnType<typeof createFileService>>

const day = 86_400

export async function createFileService(options: FileOptions) {
  const { db, bus, events, snapshots, config, settings, rights, usesOf, whoNames, anonymous } = options
  const open = remoteOpener({
    rules: { allowPrivate: config.allowPrivateFiles, blocked: blockedHosts(config.blockedFileHosts) },
    pace: { grace: config.slowGrace, leastRate: config.leastRate },
  })
  const locations = await createLocations({
    db,
    remote: createRemoteStore({ db, open }),
    bus,
    events,
    snapshots,
    folders: { dataDir: config.dataDir, folders: config.fileFolders },
    defaultName: () => settings().location_defaults.originals,
    versionsName: () => settings().location_defaults.versions,
  })
  const signatures = await openSignatures(db)
  const janitor = createJanitor({
    db,
    events,
    log: options.log,
    locations,
    settings: () => settings().janitor,
    paused: () => config.readOnly,
  })
  const renditions = await createRenditions({
    db,
    jobs: options.jobs,
    log: options.log,
    events,
    config,
    locations,
    settings: () => settings().produce_config.value,
  })
  const images = createImages({
    externalUrl: config.externalUrl,
    folders: renditions.folders,
    workers: renditions.viewers,
    storeOf: locations.storeOf,
    open: (actor, place, signature) => openVersion(actor, place, signature),
  })
  const fixity = createFixity({ db, events, log: options.log, locations })
  const fixitySchedule = scheduleFixity(fixity, { db, jobs: options.jobs, paused: () => config.readOnly })
  /** Downloads whose event is not written yet. */
  const logging = new Set<Promise<unknown>>()

  /** Where viewers find parts of a picture: the signature stands in the path, behind which they put theirs. */
  function imageAddress(file: StoredFile, version: FileVersion, seconds: number, kind: 'iiif' | 'zoom'): string {
    const signed = { fileId: file.id, hash: version.sha256, version: version.name }
    const signature = signatures.sign(signed, seconds)
    const path = `${file.id}/${version.sha256}/${signature}/${encodeURIComponent(version.name)}`
    return `${config.externalUrl}/api/v1/eas/${kind}/${path}`
  }

  function addressOf(file: StoredFile, version: FileVersion, seconds: number): string {
    const signed = { fileId: file.id, hash: version.sha256, version: version.name }
    const path = `${file.id}/${version.sha256}/${encodeURIComponent(version.name)}`
    return `${config.externalUrl}/api/v1/eas/download/${path}?x-svc-signature=${signatures.sign(signed, seconds)}`
  }

  function accessOf(caller: CallerRights, file: StoredFile, uses: readonly FileUse[]): FileAccess {
    const type = originalOf(file)
    return accessTo(caller, file, uses, (version) => isFree(settings().produce_config.value, type, version))
  }

  /** Renditions of the files of a request. */
  const planBy = (wish: ProduceWish) => (tx: Tx, ids: readonly number[]) =>
    renditions.plan(
      tx,
      ids.map((fileId, index) => ({ fileId, produce: wish.produce(index), priority: wish.priority })),
    )

  interface Known {
    readonly file: StoredFile
    readonly access: FileAccess
  }

  async function load(from: Queryable, caller: CallerRights, ids: readonly number[]): Promise<Known[]> {
    if (ids.length === 0) return []
    const files = await store.readFiles(from, ids)
    const uses = caller.root ? new Map<number, FileUse[]>() : await usesOf(from, caller, ids)
    return files.map((file) => ({ file, access: accessOf(caller, file, uses.get(file.id) ?? []) }))
  }

  async function render(
    from: Queryable,
    actor: Actor,
    known: readonly Known[],
    format: FileFormat,
    { days, tags }: { readonly days?: number | undefined; readonly tags?: ReadonlyMap<number, readonly Tag[]> } = {},
  ): Promise<Map<number, Wire>> {
    const who = new Set(known.map(({ file }): Principal => `u${file.uploadUser}`))
    const names = format === 'short' ? new Map() : await whoNames(from, who, actor.languages)
    const seconds = (days ?? settings().file_url_expire.default_days) * day
    return new Map(
      known.map(({ file, access }) => {
        const address = (version: FileVersion): string => addressOf(file, version, seconds)
        const viewer = (version: FileVersion, kind: 'iiif' | 'zoom'): string =>
          imageAddress(file, version, seconds, kind)
        const uploader = format === 'short' ? null : renderWho(`u${file.uploadUser}`, names)
        return [file.id, renderFile(file, { format, access, address, viewer, uploader, tags: tags?.get(file.id) })]
      }),
    )
  }

  async function callerOf(actor: Actor | null): Promise<Actor> {
    const known = actor ?? (await anonymous())
    if (!known) throw new AppError('InsufficientRights')
    return known
  }

  /**
   * The version at an address. A signature is a right of its own; without one the rights of the caller count.
   * @throws {AppError} `ResourceNotFound`, `InsufficientRights`.
   */
  async function openVersion(
    actor: Actor | null,
    place: {
      readonly fileId: number
      readonly hash: string
      readonly version: string
      readonly objUuid?: string | null
    },
    signature: string | undefined,
  ): Promise<{ file: StoredFile; version: FileVersion; keep: number }> {
    const { fileId, hash, version: name, objUuid = null } = place
    const [file] = await store.readFiles(db, [fileId])
    const version = file?.versions.find((one) => one.name === name)
    if (!file || !version) throw new AppError('ResourceNotFound', { fileId })
    if (hash !== version.sha256) throw new AppError('InsufficientRights')
    let left: number | null = 0
    if (signature !== undefined) left = signatures.left({ fileId, hash, version: name }, signature)
    else {
      const caller = await rights.forActor(await callerOf(actor))
      const uses = caller.root ? new Map<number, FileUse[]>() : await usesOf(db, caller, [fileId])
      const access = accessOf(caller, file, uses.get(fileId) ?? [])
      if (!access.may('asset_show', version) && !access.may('asset_download', version)) left = null
    }
    if (left === null) throw new AppError('InsufficientRights')
    if (objUuid !== null && !(await options.hasFile(db, fileId, objUuid))) {
      throw new AppError('ResourceNotFound', { fileId, obj_uuid: objUuid })
    }
    return { file, version, keep: Math.min(left, day) }
  }

  async function mayChange(actor: Actor, ids: readonly number[]): Promise<ReadonlySet<number>> {
    const known = await load(db, await rights.forActor(actor), ids)
    return new Set(known.filter(({ access }) => access.change).map(({ file }) => file.id))
  }

  async function tellingFailures<T>(actor: Actor, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      if (error instanceof AppError) {
        log({ type: 'FILE_UPLOAD_ERROR', actor, basetype: 'file', info: { error: error.message } })
      }
      throw error
    }
  }

  /** Of files that are the caller's own. */
  async function renderUploaded(actor: Actor, files: readonly StoredFile[]): Promise<Wire[]> {
    const caller = await rights.forActor(actor)
    const known = files.map((file) => ({ file, access: accessOf(caller, file, []) }))
    const wires = await render(db, actor, known, 'long')
    return files.map((file) => wires.get(file.id) ?? {})
  }

  /** With the other files of the same content that the caller may see, and which objects have these. */
  async function withDuplicates(caller: CallerRights, wires: ReadonlyMap<number, Wire>): Promise<Map<number, Wire>> {
    const same = await sameContents(db, [...wires.keys()])
    const others = [...new Set([...same.values()].flat())]
    const [known, uses] = await Promise.all([load(db, caller, others), usesOf(db, caller, others)])
    const seen = new Set(known.filter(({ access }) => access.any).map(({ file }) => file.id))
    const told = (_id: number) => ({
      _id,
      certainty: 1,
      linked_system_objects: (uses.get(_id) ?? []).map(({ object, columnId }) => ({
        _system_object_id: object.systemObjectId,
        _column_id: columnId,
      })),
    })
    return new Map(
      [...wires].map(([id, wire]) => {
        const _duplicates = (same.get(id) ?? []).filter((one) => seen.has(one)).map(told)
        return [id, _duplicates.length === 0 ? wire : { ...wire, _duplicates }]
      }),
    )
  }

  function log(event: NewEvent): void {
    const written = outsideLifetimes(() => events.append(db, [event])).catch(() => {})
    logging.add(written)
    written.finally(() => logging.delete(written))
  }

  async function permission(actor: Actor): Promise<UploadPermission> {
    const caller = await rights.forActor(actor)
    return uploadPermission(caller.itemsAnywhere('asset_upload'), settings().produce_config.value)
  }

  return {
    locations,
    fixity,

    images: { iiif: images.iiif, zoom: images.zoom },

    renditions: { resync: renditions.resync, resyncs: renditions.resyncs, wake: renditions.wake },
    uploads: createResumable({
      db,
      events,
      plan: planBy({ produce: () => true, priority: 0 }),
      locations,
      permission,
      mayChange,
      tellingFailures,
    }),

    /** What the base configuration says of files must be possible. */
    async checkSettings(tx: Tx, { location_defaults }: Settings, changed: ReadonlySet<string>): Promise<void> {
      if (!changed.has('location_defaults')) return
      await locations.assertUsable(tx, location_defaults.originals, 'originals')
      if (location_defaults.versions !== '') {
        await locations.assertUsable(tx, location_defaults.versions, 'versions')
      }
    },

    /** Days that addresses hold. @throws {AppError} `UrlParameterNotSupported` when that is longer than allowed. */
    expiry(days: number | undefined): number | undefined {
      const { max_days } = settings().file_url_expire
      if (days === undefined || days <= max_days) return days
      const message = `file_url_expire is at most ${max_days} days.`
      throw new AppError('UrlParameterNotSupported', { param: 'file_url_expire', most: max_days }, { message })
    },

    /** What the caller may upload, before anything is read. @throws {AppError} `RightRequired` when that is nothing. */
    permission,

    /** Stores all files or none, and answers their records. */
    async put(
      actor: Actor,
      incoming: AsyncIterable<Incoming>,
      permission: UploadPermission,
      more: UploadOptions,
      wish: ProduceWish,
      { duplicates = false }: { readonly duplicates?: boolean | undefined } = {},
    ): Promise<Wire[]> {
      const files = await tellingFailures(actor, () =>
        upload({ db, events, locations, mayChange, plan: planBy(wish) }, actor, incoming, permission, more),
      )
      const wires = await renderUploaded(actor, files)
      if (!duplicates) return wires
      const told = await withDuplicates(
        await rights.forActor(actor),
        new Map(files.map(({ id }, index) => [id, wires[index] as Wire])),
      )
      return [...told.values()]
    },

    /**
     * The same for files on the web. With `skipDuplicates` a reference that a file has stands for that file, if the caller
     * may see it; so does one that stands in the list twice.
     */
    async putRemote(
      actor: Actor,
      sources: readonly RemoteSource[],
      permission: UploadPermission,
      { skipDuplicates, priority }: { readonly skipDuplicates: boolean; readonly priority: number },
    ): Promise<Wire[]> {
      const references = sources.flatMap(({ reference }) => reference ?? [])
      const stored = skipDuplicates ? await store.findByReference(db, references) : new Map<string, number>()
      const wanted = sources.filter(
        ({ reference }, index) =>
          reference === undefined ||
          !skipDuplicates ||
          (!stored.has(reference) && sources.findIndex((one) => one.reference === reference) === index),
      )
      const wish: ProduceWish = {
        // What stays where it is is not fetched for that.
        produce: (index) => wanted[index]?.produce_versions !== false && wanted[index]?.leave !== true,
        priority,
      }
      const deps = { db, events, locations, open, mayChange, plan: planBy(wish) }
      const files =
        wanted.length === 0 ? [] : await tellingFailures(actor, () => uploadRemote(deps, actor, wanted, permission))
      const made = new Map(wanted.map((source, index) => [source, files[index] as StoredFile]))
      const byReference = new Map(files.map((file) => [file.reference, file.id]))
      const idOf = (source: RemoteSource): number | undefined =>
        made.get(source)?.id ?? stored.get(source.reference ?? '') ?? byReference.get(source.reference ?? null)
      const ids = sources.map((source) => idOf(source) as number)
      const caller = await rights.forActor(actor)
      const known = (await load(db, caller, [...new Set(ids)])).filter(({ access }) => access.any)
      const wires = await render(db, actor, known, 'long')
      return ids.map((id) => {
        const wire = wires.get(id)
        if (!wire) throw new AppError('DatabaseUniqueKeyViolation', { name: 'reference' })
        const twice = stored.has(`${wire.reference}`) || ids.filter((one) => one === id).length > 1
        return twice ? { ...wire, _duplicates: [{ _id: id, certainty: 1 }] } : wire
      })
    },

    /** Records by id; of those that the caller may not see there is none. @throws {AppError} `InsufficientRights`. */
    async read(
      actor: Actor | null,
      ids: readonly number[],
      format: FileFormat,
      { duplicates = false }: { readonly duplicates?: boolean | undefined } = {},
    ): Promise<Map<number, Wire>> {
      const known = await callerOf(actor)
      const caller = await rights.forActor(known)
      const found = await load(db, caller, ids)
      const seen = found.filter(({ access }) => access.any)
      if (seen.length === 0 && ids.length > 0) throw new AppError('InsufficientRights')
      const shown = seen.map(({ file }) => file.id)
      const tags = format === 'long' ? await readTags(db, shown) : new Map<number, readonly Tag[]>()
      const wires = await render(db, known, seen, format, { tags })
      return duplicates ? withDuplicates(caller, wires) : wires
    },

    /** Files as objects show them, each with what its place in the object says. */
    async shown(
      from: Queryable,
      actor: Actor,
      links: readonly FileLink[],
      days: number | undefined,
      format: FileFormat,
    ): Promise<Wire[]> {
      const caller = await rights.forActor(actor)
      const found = await load(from, caller, [...new Set(links.map(({ _id }) => _id))])
      const wires = await render(
        from,
        actor,
        found.filter(({ access }) => access.any),
        format,
        { days },
      )
      return links.map((link) => ({ ...wires.get(link._id), ...link }))
    },

    /**
     * Of the files those that exist and that the caller may give to an object: whoever uploaded them, or may download the
     * original from an object that has it. Less would let it take what it may only look at. They stay until the end of the
     * transaction.
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

    byReference: store.findByReference,

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
        const filepath = change.filename === undefined ? null : cleanFileName(change.filename)
        await store.changeFile(tx, id, { filepath, reference: change.reference })
      })
    },

    /**
     * What is to be delivered at an address. A signature is a right of its own; without one the rights of the caller count.
     * @throws {AppError} `ResourceNotFound`, `InsufficientRights`.
     */
    async download(
      actor: Actor | null,
      { fileId, hash, version: name }: { fileId: number; hash: string; version: string },
      signature: string | undefined,
    ) {
      const { file, version, keep } = await openVersion(actor, { fileId, hash, version: name }, signature)
      const info = { ...uploadInfo(file), version: version.name }
      const path = `/api/v1/eas/download/${fileId}/${hash}/${encodeURIComponent(name)}`
      return {
        version,
        store: locations.storeOf(version.locationId),
        fileName: name === original ? file.filepath : `${file.filepath}.${name}.${version.extension}`,
        keep,
        delivered(bytes: number, statuscode: number): void {
          const url = config.externalUrl + path
          log({
            type: 'FILE_DOWNLOAD',
            actor,
            basetype: 'file',
            objectId: fileId,
            info: { file: info, bytes_count: bytes, statuscode, url },
          })
        },
        failed(error: Error): void {
          log({
            type: 'FILE_DOWNLOAD_ERROR',
            actor,
            basetype: 'file',
            objectId: fileId,
            info: { file: info, error: error.message },
          })
        },
      }
    },

    async close(): Promise<void> {
      images.close()
      fixitySchedule.close()
      await Promise.all([janitor.close(), renditions.close()])
      await Promise.all(logging)
      locations.close()
    },
  }
}
