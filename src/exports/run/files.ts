/** Plans which files of the objects are exported, and their names. Contents are read when they are fetched. */

import { nameFrom } from '../../files/service.ts'
import { addFiles, type NewExportFile, takenPaths } from '../files.ts'
import type { AssetSource } from '../model.ts'
import { foundOf, listedObjects } from '../runs.ts'
import { type PlannedAsset, pictureOf, planAssets, type Wire } from './assets.ts'
import type { Done, RunDeps, Running } from './model.ts'
import { uniqueNames } from './names.ts'
import { stepAfter } from './steps.ts'

/** Objects that are looked at together. */
const atATime = 200
/** Objects for each folder, by default. */
const usualBatch = 100

export async function planFiles(deps: RunDeps, running: Running): Promise<Done | null> {
  const { stored, run, actor } = running
  const listed = await listedObjects(deps.db, run.id, run.position, atATime)
  const last = listed.at(-1)
  if (!last) return { step: stepAfter(stored.body, 'files'), position: 0 }
  const positions = new Map(listed.map(({ id, position }) => [id, position]))
  const planned: { readonly object: Wire; readonly asset: PlannedAsset }[] = []
  const warnings: string[] = []
  const model = deps.datamodel.current()
  // Names may contain values of linked objects.
  for await (const object of deps.read.versions(actor, foundOf(listed), {
    format: 'long',
    differing: { linked: 'short' },
  })) {
    const table = model.objecttypes.get(`${object._objecttype}`)
    if (!table) continue
    const { assets, missing } = planAssets(stored.body, object, table)
    warnings.push(...missing)
    planned.push(...assets.map((asset) => ({ object, asset })))
  }
  const wanted = planned.map((one) => assetOf(deps, running, one, positions))
  const named = await uniqueNames(wanted, (keys) => takenPaths(deps.db, run.id, keys))
  const files = named.map(({ apart: _, ...file }): NewExportFile => file)
  return {
    step: 'files',
    position: last.position,
    warnings,
    write: (tx) => addFiles(tx, run.id, files),
  }
}

type NamedFile = NewExportFile & { readonly apart: string }

function assetOf(
  deps: RunDeps,
  running: Running,
  { object, asset }: { readonly object: Wire; readonly asset: PlannedAsset },
  positions: ReadonlyMap<number, number>,
): NamedFile {
  const { file, version, wanted } = asset
  const systemObjectId = Number(object._system_object_id)
  const source: AssetSource = {
    fileId: Number(file._id),
    hash: `${version.hash}`,
    version: `${version._id}`,
    extension: `${version.extension}`,
    objUuid: `${object._uuid}`,
    field: asset.column.fullName,
    metadata: `${wanted.metadata ?? 'standard'}`,
    ...pictureOf(asset),
  }
  const extension = deps.files.assets.extension(source)
  return {
    folder: folderOf(running, positions.get(systemObjectId) ?? 1),
    name: nameOf(deps, running, { object, asset, source, extension }),
    apart: `${systemObjectId}-${source.fileId}${labelOf(asset)}`,
    kind: 'asset',
    contentId: null,
    mimeType: 'application/octet-stream',
    size: source.metadata === 'keep' && !source.preset && !source.custom ? Number(version.filesize) : null,
    systemObjectId,
    source,
  }
}

function folderOf({ stored: { body }, run }: Running, position: number): string {
  if (body.flat) return ''
  const size = body.batch_size ?? usualBatch
  if (size === 0) return 'files'
  const digits = Math.max(4, `${Math.ceil(run.total / size)}`.length)
  return `files/${`${Math.ceil(position / size)}`.padStart(digits, '0')}`
}

/** A suffix that distinguishes the versions of one file; none for the original. */
function labelOf({ wanted, version }: PlannedAsset): string {
  if (wanted.type === 'custom') return `-${wanted.custom_version_preset ?? 'custom'}`
  return wanted.type === 'version' ? `-${version._id}` : ''
}

function nameOf(
  deps: RunDeps,
  { stored: { body }, actor }: Running,
  {
    object,
    asset,
    source,
    extension,
  }: { readonly object: Wire; readonly asset: PlannedAsset; readonly source: AssetSource; readonly extension: string },
): string {
  const { file, column } = asset
  const [uploaded, originalExtension] = [`${file.original_filename}`, `${file.extension}`]
  const own = body.filename_original
    ? null
    : deps.nameOfAsset(
        object,
        {
          field: column.fullName,
          id: source.fileId,
          class: `${file.class}`,
          extension,
          original_filename: uploaded,
          version: source.version,
        },
        { languages: actor.languages, template: body.filename_template || undefined },
      )
  const label = own === null ? labelOf(asset) : ''
  const text = own ?? uploaded
  const plain =
    nameFrom(text, extension, originalExtension) ?? nameFrom(`file ${source.fileId}`, extension, '') ?? 'file'
  if (label === '') return plain
  const end = extension === '' ? '' : `.${extension}`
  const base = plain.slice(0, plain.length - end.length)
  return `${base}${label}${end}`
}
