import type { VersionAddresses } from '../addresses/addresses.ts'
import { isViewable } from '../images/service.ts'
import { type FileVersion, original, originalOf, type StoredFile } from '../model.ts'
import type { CheckedVersion, FileAccess } from '../records/access.ts'
import { baseOf } from '../records/file-name.ts'
import type { Rendition } from '../records/rendition.ts'
import { metadataName } from '../renditions/plan/describe.ts'
import { printed, type Tag } from '../renditions/workshop/technical.ts'

export type Wire = Record<string, unknown>

/** How much detail of a file is answered. */
export const fileFormats = ['short', 'standard', 'long'] as const
export type FileFormat = (typeof fileFormats)[number]

/** Members that belong to the place of a file in an object, not to the file. */
export interface FileLink {
  readonly _id: number
  readonly preferred?: boolean
  readonly name?: string
  readonly frontend_prefs?: Readonly<Record<string, unknown>>
}

/** A place of a file in an object. */
export interface FileInObject {
  readonly link: FileLink
  /** uuid of the object, if it gives its files names of its own. */
  readonly object: string | null
  /** uuid of the object, whether or not it names its files. */
  readonly uuid: string
}

export interface FileView {
  readonly format: FileFormat
  readonly access: FileAccess
  readonly addressesOf: (version: FileVersion) => VersionAddresses
  /** The deep link of a version, where there are deep links and an object has the file. */
  readonly deepLinkOf?: ((version: FileVersion) => string) | null
  /** The metadata of the file, where that is to be shown. */
  readonly tags: readonly Tag[] | undefined
  /** The uploader, as shown to others. */
  readonly uploader: unknown
}

/** The record `file`. Members of capabilities that are not installed are absent. */
export function renderFile(file: StoredFile, view: FileView): Wire {
  const version = originalOf(file)
  const known = seesOriginal(file, view.access)
  const name = file.filepath
  const record: Wire = {
    _id: file.id,
    class: version.class,
    extension: version.extension,
    class_extension: `${version.class}.${version.extension}`,
    status: statusOf(file),
    class_version_status: `${version.class}.${version.name}.${statusOf(file)}`,
    is_original: true,
    filesize: version.size,
    original_filename: name,
    original_filename_basename: baseOf(name),
    versions: renderVersions(file, version, view),
  }
  if (view.format === 'short') return record
  return {
    ...record,
    eas_parent_id: file.parentId,
    reference: file.reference,
    ...(file.reference === null ? {} : { 'lookup:_id': { reference: file.reference } }),
    original_filepath: file.filepath,
    upload_user: view.uploader,
    date_uploaded: file.uploadedAt.toISOString(),
    best_date: bestDate(file, known ? version : null),
    last_status_at: lastChange(file).toISOString(),
    ...(known ? { hash: version.sha256 } : {}),
    compiled: compiled(version, known),
    compiled_props: compiledProps(version, known),
    ...(known && view.format === 'long' ? { technical_metadata: technicalMetadata(version) } : {}),
    ...(known && view.tags ? { metadata: tagGroups(view.tags) } : {}),
  }
}

/** Facts and metadata of the original are only for callers who may have it: a rendition reveals nothing of it. */
export function seesOriginal(file: StoredFile, { may }: Pick<FileAccess, 'may'>): boolean {
  const version = originalOf(file)
  return may('asset_show', version) || may('asset_download', version)
}

function renderVersions(file: StoredFile, version: FileVersion, view: FileView): Wire {
  const versions: Wire = {}
  for (const one of file.versions) {
    const wire = renderVersion(one, version, view)
    if (wire) versions[one.name] = wire
  }
  for (const one of unmade(file)) {
    const wire = renderUnmade(one, view)
    if (wire) versions[one.name] = wire
  }
  return versions
}

/** A key for everything besides the file that changes the answer about its versions: the access to each of them. */
export function accessKey(file: StoredFile, { all, may }: FileAccess): string {
  if (all) return 'all'
  const key = (version: CheckedVersion): number =>
    (may('asset_show', version) ? 1 : 0) + (may('asset_download', version) ? 2 : 0)
  return [...file.versions.map(key), ...unmade(file).map(({ name }) => key({ name }))].join('')
}

const texts = ['width', 'height', 'dpi', 'orientation', 'aspect_ratio', 'duration'] as const

/** Numbers in versions are texts, as in the interface. */
function renderVersion(version: FileVersion, { metadata }: FileVersion, view: FileView): Wire | null {
  const { access, addressesOf } = view
  const show = access.may('asset_show', version)
  const take = access.may('asset_download', version)
  if (!show && !take) return null
  const { download, viewer } = addressesOf(version)
  const wire: Wire = {
    _id: version.name,
    class: version.class,
    extension: version.extension,
    class_extension: `${version.class}.${version.extension}`,
    status: version.status,
    date_created: version.createdAt.toISOString(),
    last_status_at: version.statusAt.toISOString(),
    percent_done: '100',
    filesize: String(version.size),
    hash: version.sha256,
  }
  if (version.metadata.watermark === true) wire.watermark = 'true'
  if (version.class === 'image' && metadata.blurhash !== undefined) wire.blurhash = metadata.blurhash
  for (const key of texts) {
    const value = version.metadata[key]
    if (value != null) wire[key] = `${value}`
  }
  // The original has them in its technical metadata.
  if (view.format === 'long' && version.name !== original && version.metadata.page_sizes !== undefined) {
    wire.page_sizes = version.metadata.page_sizes
  }
  wire._show_allowed = show
  wire._download_allowed = take
  wire.url = download
  if (take && view.deepLinkOf) wire.deep_link_url = view.deepLinkOf(version)
  if (isViewable(version)) {
    wire.zoom_url = viewer('zoom')
    wire.iiif_url = viewer('iiif')
  }
  return wire
}

/** Renditions without a content: not yet made, or not at all. */
function unmade({ versions, renditions }: StoredFile): readonly Rendition[] {
  return renditions.filter(
    ({ name, status }) =>
      name !== metadataName &&
      status !== 'too_small' &&
      status !== 'unmarked' &&
      status !== 'done' &&
      !versions.some((one) => one.name === name),
  )
}

function renderUnmade({ name, status, reason, percent, statusAt }: Rendition, { access }: FileView): Wire | null {
  const show = access.may('asset_show', { name })
  const download = access.may('asset_download', { name })
  if (!show && !download) return null
  return {
    _id: name,
    status,
    ...(reason === null ? {} : { reason }),
    percent_done: `${percent}`,
    last_status_at: statusAt.toISOString(),
    _show_allowed: show,
    _download_allowed: download,
  }
}

/** The status of the whole file: whether any rendition is still to be made. */
export function statusOf(file: StoredFile): string {
  const wanted = file.renditions.filter(({ status }) => status !== 'unmarked')
  const waiting = wanted.filter(({ status }) => status === 'pending' || status === 'processing')
  if (waiting.length === 0) return originalOf(file).status
  const begun = waiting.length < wanted.length || waiting.some(({ status }) => status === 'processing')
  return begun ? 'processing' : 'pending'
}

function lastChange(file: StoredFile): Date {
  const times = [originalOf(file).statusAt, ...file.renditions.map(({ statusAt }) => statusAt)]
  return new Date(Math.max(...times.map(Number)))
}

export function technicalMetadata(version: FileVersion): Wire {
  const { said, ...own } = version.metadata
  const { technical } = (said ?? {}) as { readonly technical?: Wire }
  return {
    ...technical,
    ...own,
    ...printed(own),
    filesize: version.size,
    file_type_extension: version.extension,
    mime_type: version.mimeType,
    sha256_hash: version.sha256,
  }
}

/** Tags by their groups, in the order of the file. */
export function tagGroups(tags: readonly Tag[]): Wire {
  const groups = Map.groupBy(tags, ({ group }) => group)
  return { groupnames: [...groups.keys()], groups: Object.fromEntries(groups) }
}

/** @param version null: the metadata of the file is not to be shown */
export function bestDate({ uploadedAt }: StoredFile, version: FileVersion | null): string {
  const { date_time_original, create_date } = version?.metadata ?? {}
  return `${date_time_original ?? create_date ?? uploadedAt.toISOString()}`
}

function compiledProps({ extension, metadata }: FileVersion, known: boolean): Wire {
  const { width, height } = known ? metadata : {}
  const dimensions = width == null || height == null ? {} : { dimensions: `${width} x ${height} px` }
  return { extension: extension.toUpperCase(), ...dimensions }
}

function compiled(version: FileVersion, known: boolean): string {
  const { extension, dimensions } = compiledProps(version, known)
  return [extension, dimensions, sizeText(version.size)].filter(Boolean).join(', ')
}

function sizeText(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  let size = bytes
  let unit = 0
  for (; size >= 1000 && unit < units.length - 1; unit++) size /= 1000
  return `${unit === 0 ? size : size.toFixed(1)} ${units[unit]}`
}
