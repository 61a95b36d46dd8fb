import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { type BaseConfig, namesProfile } from '../../config/service.ts'
import type { Actor } from '../../platform/actor.ts'
import { AppError, badRequest } from '../../platform/errors.ts'
import type { CallerRights } from '../../rights/service.ts'
import type { Locations } from '../locations/service.ts'
import { originalOf, type StoredFile } from '../model.ts'
import { baseOf } from '../records/file-name.ts'
import { metadataName } from '../renditions/plan/describe.ts'
import type { RenditionRequest } from '../renditions/plan/plan.ts'
import { clashOf, coloursOf } from '../renditions/recipes/colours.ts'
import { profileFor, profileNamed } from '../renditions/recipes/profiles.ts'
import { localPath } from '../renditions/sources/sources.ts'
import type { WorkFolders } from '../renditions/sources/work-folders.ts'
import { CannotMake } from '../renditions/workshop/failure.ts'
import { type Crop, type DerivedFormat, type DeriveTask, pictureFormats } from '../renditions/workshop/tasks.ts'
import type { Workers } from '../renditions/workshop/workers.ts'
import type { Records } from '../shown/service.ts'
import type { UploadPermission } from './permission.ts'
import { receiveFile } from './receive.ts'
import { discardAll, type StoreReceivedDeps, storeReceived, uploadInfo } from './store-received.ts'

/** The parameters for making another original. */
export interface Derivation {
  readonly eas_parent_id?: number | undefined
  readonly format?: string | undefined
  readonly transform?: {
    readonly 'rotate-x'?: number
    readonly 'rotate-y'?: number
    readonly 'rotate-z'?: number
    readonly crop?: Crop | null
  }
  readonly colorspace?: '' | 'rgb' | 'sRGB' | 'cmyk' | 'gray'
  readonly colorprofile?: string
}

export interface DerivedDeps extends Omit<StoreReceivedDeps, 'plan'> {
  readonly locations: Pick<Locations, 'forOriginals' | 'storeOf'>
  readonly records: Pick<Records, 'load'>
  readonly workers: Workers
  readonly folders: WorkFolders
  readonly plan: (tx: Parameters<StoreReceivedDeps['plan']>[0], wishes: readonly RenditionRequest[]) => Promise<void>
  readonly profiles: () => BaseConfig['colorprofiles']
  /** Whether the object with that uuid has the file. */
  readonly hasFile: (fileId: number, uuid: string) => Promise<boolean>
}

const { bmp: _bmp, ...written } = pictureFormats
/** Formats that are kept when no format is given. */
const kept: Readonly<Record<string, DerivedFormat>> = { ...written, avif: 'avif' }
/** Formats that can be asked for. */
const { webp: _, ...asked } = written
const formats: Readonly<Record<string, DerivedFormat>> = asked

const readable = 'jpg jpeg jfif png webp gif tif tiff avif heic heif'.split(' ')

/**
 * Makes another original of a picture: turned, mirrored, cut, in another format. It is a separate file, and belongs to
 * the caller.
 * @throws {AppError} when the caller may not have the original, or nothing can be made of it.
 */
export async function deriveFile(
  deps: DerivedDeps,
  actor: Actor,
  caller: CallerRights,
  permission: UploadPermission,
  wish: Derivation,
  { objUuid, signal }: { readonly objUuid: string | undefined; readonly signal: AbortSignal },
): Promise<StoredFile> {
  const parent = await parentOf(deps, caller, wish.eas_parent_id, objUuid)
  await using folder = await deps.folders.make()
  const wanted = wish.colorprofile ?? ''
  const named = namesProfile(wanted) ? profileNamed(wanted, deps.profiles()) : null
  if (named === undefined) {
    throw badRequest(`There is no profile ${wanted}.`, { path: 'colorprofile', value: wanted })
  }
  const reading = { db: deps.db, storeOf: deps.locations.storeOf }
  const profile = named === null ? null : await profileFor(named, reading, folder.path)
  const task = readDerivation(wish, originalOf(parent).extension, typeof profile === 'string' ? null : profile)
  permission.check({ extension: task.format, class: 'image', mimeType: `image/${task.format}` })
  const location = deps.locations.forOriginals()
  const path = await made(deps, parent, { ...task, folder: folder.path }, signal)
  const name = `${baseOf(parent.filepath)}.${task.format}`
  const incoming = { name, content: createReadStream(path), bytes: (await stat(path)).size }
  const arrived = await receiveFile(incoming, location.store, permission)
  const [file] = await storeReceived(
    {
      ...deps,
      plan: (tx, originals) =>
        deps.plan(
          tx,
          originals.map(({ fileId }) => ({ fileId, produce: isProduced(parent), priority: 0 })),
        ),
    },
    actor,
    [{ ...arrived, locationId: location.id, reference: null, parentId: parent.id }],
    (one) => [
      {
        type: 'FILE_UPLOAD',
        actor,
        basetype: 'file',
        objectId: one.id,
        info: { file: { ...uploadInfo(one), eas_parent_id: parent.id } },
      },
    ],
  ).catch(async (error: unknown) => {
    await discardAll([arrived])
    throw error
  })
  if (!file) throw new Error('nothing was stored')
  return file
}

async function parentOf(
  { records, db, hasFile }: DerivedDeps,
  caller: CallerRights,
  id: number | undefined,
  objUuid: string | undefined,
): Promise<StoredFile> {
  const [known] = id === undefined ? [] : await records.load(db, caller, [id])
  if (id === undefined || !known?.access.any || (objUuid !== undefined && !(await hasFile(id, objUuid)))) {
    const where = objUuid === undefined ? '' : ' in that object'
    const message = `There is no file ${id ?? 'named'}${where} that you may see.`
    throw new AppError('EasNoParentID', { eas_parent_id: id ?? null }, { message })
  }
  if (!known.access.may('asset_download', originalOf(known.file))) throw new AppError('InsufficientRights')
  return known.file
}

/** @throws {AppError} naming the wrong member. */
function readDerivation(
  wish: Derivation,
  extension: string,
  profile: DeriveTask['profile'],
): Omit<DeriveTask, 'source' | 'folder'> {
  if (!readable.includes(extension)) {
    const message = `Nothing can be made of files of the type ${extension}.`
    throw new AppError('ProduceExtensionNotSupported', { extension, supported_extensions: readable }, { message })
  }
  const format = wish.format === undefined ? (kept[extension] ?? 'jpg') : formats[wish.format]
  if (format === undefined) {
    const supported = Object.keys(formats)
    const message = `The format ${wish.format} cannot be written, only ${supported.join(', ')}.`
    throw new AppError('ProduceFormatNotSupported', { format: wish.format, supported_formats: supported }, { message })
  }
  const { 'rotate-x': x = 0, 'rotate-y': y = 0, 'rotate-z': turn = 0, crop = null } = wish.transform ?? {}
  if (x !== 0 && (y !== 0 || turn !== 0)) {
    const other = y === 0 ? 'rotate-z' : 'rotate-y'
    throw badRequest(`transform: rotate-x does not go with ${other}.`, { path: 'transform.rotate-x' })
  }
  const { colorspace = '' } = wish
  const clash = clashOf(colorspace, profile?.space, format)
  if (clash) throw badRequest(clash.reason, { path: clash.of, value: wish[clash.of] ?? '', format })
  const mirror = x !== 0 ? 'x' : y !== 0 ? 'y' : null
  return { kind: 'derive', format, turn, mirror, crop, ...coloursOf(colorspace, profile) }
}

async function made(
  { locations, workers }: DerivedDeps,
  parent: StoredFile,
  task: Omit<DeriveTask, 'source'>,
  signal: AbortSignal,
): Promise<string> {
  const original = originalOf(parent)
  try {
    const path = await localPath(original, locations.storeOf(original.locationId), task.folder)
    return (await workers.run({ ...task, source: { path, extension: original.extension } }, signal)).path
  } catch (error) {
    if (!(error instanceof CannotMake)) throw error
    const message = `Nothing can be made of the file: ${error.message}.`
    throw new AppError('ProduceExtensionNotSupported', { extension: original.extension }, { message, cause: error })
  }
}

/** Renditions are made of it if they are made of its source. */
function isProduced({ renditions }: StoredFile): boolean {
  return renditions.some(({ name }) => name !== metadataName)
}
