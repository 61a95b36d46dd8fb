/**
 * Files: their contents in locations, each content once under its hash, and the records that name them. A *blob* is a
 * content in a location, a *file* is an upload, a *version* is the original or a rendition of it, and a *use* is an
 * object that has the file. Rights on a file are those on the objects that use it; a file without a use belongs to its
 * uploader.
 */
import type { Readable } from 'node:stream'
import { buffer as bytesOf, text as textOf } from 'node:stream/consumers'
import type { Logger } from 'pino'
import type { BaseConfig } from '../config/service.ts'
import type { EventLog } from '../events/service.ts'
import type { Jobs } from '../jobs/service.ts'
import type { Actor } from '../platform/actor.ts'
import type { Config } from '../platform/config/config.ts'
import { AppError } from '../platform/errors.ts'
import { blockedHosts } from '../platform/outgoing/addresses.ts'
import type { Bus } from '../platform/postgres/bus.ts'
import type { Queryable, Tx } from '../platform/postgres/db.ts'
import type { Snapshots } from '../platform/postgres/snapshot.ts'
import type { Seal } from '../platform/secrets/seal.ts'
import { createSealedTexts } from '../platform/secrets/sealed-texts.ts'
import { createAddresses } from './addresses/addresses.ts'
import { createSignatures } from './addresses/signatures.ts'
import { openSigningKeys } from './addresses/signing-keys.ts'
import { createAssets } from './delivery/assets.ts'
import { createChosenVersion } from './delivery/chosen-version.ts'
import { createDelivery } from './delivery/service.ts'
import { createFixity, scheduleFixity } from './fixity/service.ts'
import { createImages } from './images/service.ts'
import { createJanitor, type JanitorOptions } from './janitor.ts'
import { createKeptContents } from './kept/service.ts'
import { createLocations } from './locations/service.ts'
import { originalOf } from './model.ts'
import { createMoves } from './moves/service.ts'
import { type Held, hold, holdSection } from './records/holders.ts'
import { findByReference, readFiles } from './records/store.ts'
import { resealAddresses } from './remote/addresses.ts'
import { remoteOpener } from './remote/open.ts'
import { createRemoteStore } from './remote/remote-store.ts'
import { metadataName } from './renditions/plan/describe.ts'
import type { WithRecipes } from './renditions/recipes/added.ts'
import { type Marking, readMarks } from './renditions/recipes/marks.ts'
import { checkProfiles, profileFor, profileNamed, withProfiles } from './renditions/recipes/profiles.ts'
import { createRenditions, type RenditionConfig } from './renditions/service.ts'
import { filesForIndex } from './shown/for-index.ts'
import { createRecords, type RecordOptions } from './shown/service.ts'
import { createUploads } from './upload/service.ts'

export type { WantedAsset } from './delivery/assets.ts'
export { type Delivery, deliver } from './delivery/deliver.ts'
export { nameFrom } from './delivery/file-names.ts'
export { disposition, isShown } from './delivery/headers.ts'
export { binary, partialResponses, sendContent } from './delivery/send.ts'
export type { MetadataInObject, NameInObject } from './delivery/service.ts'
export { verifyAll } from './fixity/verify-all.ts'
export { pageName, sizesOf as pageSizesOf } from './images/pages.ts'
export { holdContents } from './janitor.ts'
export type { ArrivedContent, KeptContents } from './kept/service.ts'
export {
  type BackupContent,
  type BackupLocation,
  backupContents,
  backupLocations,
  clearContents,
  hasContents,
  type Lack,
  lackOf,
} from './locations/backup-contents.ts'
export type { FileUse } from './records/access.ts'
export { inspectFileDetails, inspectFiles, renditionStates } from './records/inspection.ts'
export { userPictures } from './records/pictures.ts'
export type { RecipeProgram } from './renditions/model.ts'
export type { AskRecipes, Question, RecipeAnswer } from './renditions/plan/answers.ts'
export {
  type AddedRendition,
  type ProgramMetadata,
  type RecipePrograms,
  type RecipeSource,
  type WithRecipes,
  withAdded,
} from './renditions/recipes/added.ts'
export { CannotMake } from './renditions/workshop/failure.ts'
export type { MetadataToWrite as FileMetadataToWrite, TagValue } from './renditions/workshop/tasks.ts'
export type { Tag } from './renditions/workshop/technical.ts'
export type { FileForIndex } from './shown/for-index.ts'
export { type FileLink, tagGroups } from './shown/render.ts'
export type { FileMetadata } from './shown/service.ts'
export type { UploadsIntoCollections } from './upload/collections.ts'

export interface FileOptions
  extends Pick<
      RecordOptions,
      'db' | 'rights' | 'usesOf' | 'filesWithin' | 'whoNames' | 'anonymous' | 'changed' | 'memory'
    >,
    Pick<JanitorOptions, 'formerFiles'> {
  /** For reads of one file by its id. */
  readonly pipelined: Queryable
  readonly seal: Seal
  readonly bus: Bus
  readonly events: EventLog
  readonly snapshots: Pick<Snapshots, 'open'>
  readonly log: Logger
  readonly jobs: Jobs
  /** Nothing may be stored. */
  readonly readOnly: () => boolean
  readonly config: RenditionConfig &
    Pick<
      Config,
      | 'fileFolders'
      | 'externalUrl'
      | 'allowPrivateFiles'
      | 'blockedFileHosts'
      | 'slowGrace'
      | 'leastRate'
      | 'quotaUploads'
      | 'quotaUploadBytes'
    >
  readonly settings: () => WithRecipes<Settings>
  /** Reports problems to the administrators. */
  readonly alarm: (subject: string, text: string) => Promise<void>
  /** The marks for renditions of files: watermarks and captions. */
  readonly marking: Marking
}

/** The sections of the base configuration that concern files. */
export type Settings = Pick<
  BaseConfig,
  | 'deep_link_access'
  | 'location_defaults'
  | 'produce_config'
  | 'colorprofiles'
  | 'custom_version_presets'
  | 'file_url_expire'
  | 'janitor'
>

export type FileService = Awaited<ReturnType<typeof createFileService>>

export async function createFileService(options: FileOptions) {
  const { db, bus, events, snapshots, config, settings, jobs, rights } = options
  const { externalUrl } = config
  const open = remoteOpener({
    rules: { allowPrivate: config.allowPrivateFiles, blocked: blockedHosts(config.blockedFileHosts) },
    pace: { grace: config.slowGrace, leastRate: config.leastRate },
  })
  const locations = await createLocations({
    db,
    texts: createSealedTexts(options.seal),
    remote: createRemoteStore({ db, seal: options.seal, open }),
    bus,
    events,
    snapshots,
    folders: { dataDir: config.dataDir, folders: config.fileFolders },
    defaultName: () => settings().location_defaults.originals,
    versionsName: () => settings().location_defaults.versions,
    backupsName: () => settings().location_defaults.backups,
  })
  const { storeOf } = locations
  const janitor = createJanitor({
    db,
    events,
    log: options.log,
    locations,
    formerFiles: options.formerFiles,
    settings: () => settings().janitor,
    paused: options.readOnly,
  })
  const renditions = await createRenditions({
    db,
    pipelined: options.pipelined,
    jobs,
    log: options.log,
    readOnly: options.readOnly,
    events,
    config,
    locations,
    changed: options.changed,
    marking: options.marking,
    settings: () => withProfiles(settings()),
    async uploader(from, { uploadUser: userId }) {
      const name = (await options.whoNames(from, [`u${userId}`], [])).get(`u${userId}`)
      return name ? { userId, displayname: name.displayname, reference: name.reference, remoteAddr: '' } : null
    },
  })
  const fixity = createFixity({ db, events, log: options.log, alarm: options.alarm, locations })
  const fixitySchedule = scheduleFixity(fixity, { db, jobs, log: options.log, paused: options.readOnly })
  const moves = createMoves({
    db,
    events,
    jobs,
    locations,
    defaults: locations.defaults,
    paused: options.readOnly,
  })
  const mostDays = (): number => settings().file_url_expire.max_days
  const signatures = createSignatures(await openSigningKeys({ db, seal: options.seal, mostDays }))
  const hasFile = async (from: Queryable, fileId: number, uuid: string): Promise<boolean> =>
    (await options.filesWithin(from, [{ fileId, uuid }]))[0] === true
  const records = createRecords({
    ...options,
    addresses: createAddresses({ externalUrl, signatures }),
    awaitVersion: renditions.awaitVersion,
  })
  const { folders, viewers } = renditions
  const delivery = createDelivery({
    db,
    events,
    externalUrl,
    signatures,
    storeOf,
    records,
    filesWithin: options.filesWithin,
    folders,
    workers: viewers,
    marksOf: (ids) => readMarks(options.marking, db, ids),
    mostBytes: config.mediaOutput * 1_000_000,
    profiles: {
      named: (name) => profileNamed(name, settings().colorprofiles),
      load: (named, folder) => profileFor(named, { db, storeOf }, folder),
    },
  })
  const images = createImages({ externalUrl, folders, workers: viewers, storeOf, open: delivery.open })
  const uploads = createUploads({
    db,
    events,
    settings,
    rights,
    locations,
    records,
    open,
    seal: options.seal,
    plan: renditions.plan,
    expect: renditions.expect,
    awaitVersion: renditions.awaitVersion,
    uploadQuotas: { uploads: config.quotaUploads, bytes: config.quotaUploadBytes },
    inspect: renditions.inspect,
    changed: options.changed,
    workers: viewers,
    folders,
    hasFile,
    log: delivery.log,
  })

  return {
    locations,
    fixity,
    /** Removes unused data. */
    tidy: janitor.run,
    moves,
    images: { iiif: images.iiif, zoom: images.zoom },
    renditions: { resync: renditions.resync, resyncs: renditions.resyncs, wake: renditions.wake },
    uploads: uploads.resumable,
    permission: uploads.permission,
    put: uploads.put,
    putRemote: uploads.putRemote,
    derive: uploads.derive,
    read: records.read,
    metadata: records.metadata,
    similar: records.similar,
    alike: records.alike,
    renewMarks: renditions.renewMarks,
    drawsMarks: renditions.drawsMarks,
    resyncMarks: renditions.resyncMarks,

    /** Notes the pictures that settings use as watermarks; see `hold`. @throws {AppError} `ServerGeneric` */
    async holdImages(tx: Tx, actor: Actor, held: readonly Held[]): Promise<void> {
      await hold({ load: records.load, class: 'image' }, tx, await rights.forActor(actor), held)
    },

    /** Notes the files that a section of the base configuration uses; see `hold`. @throws {AppError} `ServerGeneric` */
    async holdForSection(tx: Tx, actor: Actor, section: string, files: Held['files']): Promise<void> {
      await hold({ load: records.load }, tx, await rights.forActor(actor), [{ holder: { section }, files }])
    },

    /** The content of a file that a setting names, without checking rights; null: the file does not exist or is larger. */
    async contentOfSetting(from: Queryable, id: number, mostBytes: number) {
      const [file] = await readFiles(from, [id])
      if (!file) return null
      const { locationId, sha256, size, extension } = originalOf(file)
      return { extension, text: size > mostBytes ? null : await textOf(await storeOf(locationId).read(sha256)) }
    },

    /** The contents of files used by settings, by id; null: the content is larger. */
    async contentsOfSettings(from: Queryable, ids: readonly number[], mostBytes: number) {
      const contents = new Map<number, { readonly extension: string; readonly bytes: Buffer } | null>()
      for (const file of await readFiles(from, ids)) {
        const { locationId, sha256, size, extension } = originalOf(file)
        const bytes = size > mostBytes ? null : await bytesOf(await storeOf(locationId).read(sha256))
        contents.set(file.id, bytes && { extension, bytes })
      }
      return contents
    },

    /** Waits until the metadata of the files is known, as far as a job reads it. */
    async awaitMetadata(ids: readonly number[]): Promise<void> {
      await renditions.awaitVersion(await readFiles(db, ids), metadataName)
    },

    /** Finds the files whose originals the actor may download, by the objects that have them. */
    async downloadable(actor: Actor, ids: readonly number[]): Promise<ReadonlySet<number>> {
      const known = await records.load(db, await rights.forActor(actor), ids)
      const own = known.filter(({ file, access }) => access.may('asset_download', originalOf(file)))
      return new Set(own.map(({ file }) => file.id))
    },

    /**
     * The content of an uploaded file, for another purpose than the file.
     * @throws {AppError} `InsufficientRights` when the actor may not download it, `ServiceUnavailable`.
     */
    async openOriginal(actor: Actor, id: number): Promise<Readable> {
      const [known] = await records.load(db, await rights.forActor(actor), [id])
      const original = known && originalOf(known.file)
      if (!original || !known.access.may('asset_download', original)) throw new AppError('InsufficientRights')
      return storeOf(original.locationId)
        .read(original.sha256)
        .catch((cause: unknown) => {
          const message = 'The content of the file cannot be read now.'
          throw new AppError('ServiceUnavailable', {}, { message, cause })
        })
    },

    /**
     * Contents of versions, in the requested order, to be opened one after the other; null: the actor may not see the
     * version, or there is none.
     */
    async openVersions(
      actor: Actor,
      wanted: readonly { readonly id: number; readonly version: string }[],
    ): Promise<readonly ((() => Promise<Readable>) | null)[]> {
      const ids = [...new Set(wanted.map(({ id }) => id))]
      const known = await records.load(db, await rights.forActor(actor), ids)
      const byId = new Map(known.map((one) => [one.file.id, one]))
      return wanted.map(({ id, version: name }) => {
        const { file, access } = byId.get(id) ?? {}
        const version = file?.versions.find((one) => one.name === name)
        if (!version || !access?.may('asset_show', version)) return null
        return () => storeOf(version.locationId).read(version.sha256)
      })
    },
    /** Where backups are stored now; null: nowhere. */
    backupPlace: locations.forBackups,
    storeOf,

    shown: records.shown,
    pictures: records.pictures,
    linkable: records.linkable,
    byReference: findByReference,
    /** The data of files for the search. */
    forIndex: filesForIndex,
    change: records.change,
    download: delivery.download,
    assets: createAssets({
      downloads: delivery.downloads,
      presets: () => settings().custom_version_presets.value.presets,
    }),
    kept: createKeptContents({ db, locations }),
    /** The version of a file for a download, as addresses name it. */
    chosenVersion: createChosenVersion({ records, settings }),
    downloadWithin: delivery.downloadWithin,

    useRecipes: renditions.useRecipes,
    askRecipes: renditions.ask,

    /** Named sets of parameters for downloads. */
    presets: () => settings().custom_version_presets.value.presets,

    /** Versions that rights do not restrict: `image.small`. */
    freeVersions(): string[] {
      return Object.entries(settings().produce_config.value.classes).flatMap(([kind, { versions }]) =>
        versions.filter((recipe) => recipe.rights_management === false).map(({ name }) => `${kind}.${name}`),
      )
    },

    /**
     * Seals all unsealed secrets with the present key. Answers how many secrets of locations and addresses none of the
     * keys here can open.
     */
    reseal: async () => ({ locations: await locations.reseal(), addresses: await resealAddresses(db, options.seal) }),

    /** Checks the settings for files in the base configuration. */
    async checkSettings(tx: Tx, config: Settings, changed: ReadonlySet<string>): Promise<void> {
      if (['colorprofiles', 'produce_config', 'custom_version_presets'].some((name) => changed.has(name))) {
        const profiles = await checkProfiles({ db: tx, storeOf }, config)
        await holdSection(tx, 'colorprofiles', profiles)
      }
      if (!changed.has('location_defaults')) return
      const { location_defaults } = config
      await locations.assertUsable(tx, location_defaults.originals, 'originals')
      if (location_defaults.versions !== '') {
        await locations.assertUsable(tx, location_defaults.versions, 'versions')
      }
      if (location_defaults.backups !== '') await locations.assertUsable(tx, location_defaults.backups, 'backups')
    },

    /** Days for which addresses are valid. @throws {AppError} `UrlParameterNotSupported` when that is longer than allowed. */
    expiry(days: number | undefined): number | undefined {
      const { max_days } = settings().file_url_expire
      if (days === undefined || days <= max_days) return days
      const message = `file_url_expire is at most ${max_days} days.`
      throw new AppError('UrlParameterNotSupported', { param: 'file_url_expire', most: max_days }, { message })
    },

    async close(): Promise<void> {
      images.close()
      await Promise.all([fixitySchedule.close(), janitor.close(), renditions.close()])
      await delivery.close()
      locations.close()
    },
  }
}
