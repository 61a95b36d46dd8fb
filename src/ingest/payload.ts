/** Objects in the form for `POST /db` and `PATCH /db`, with the new files. */
import { AppError } from '../platform/errors.ts'
import { type FileInColumn, filesIn, sendable } from './file-list.ts'
import type { Group } from './group.ts'
import type { HierarchyLink, IngestedFile, Target, Wire } from './model.ts'
import { nameKeys } from './names.ts'

const comment = 'Upload into a collection'

/** Objects for the folders of files, by path. */
export type FolderObjects = ReadonlyMap<string, number>

/** A new object with its files; `mapped` is the block made of the first file's metadata. */
export function createPayload(target: Target, { files }: Group, mapped: Wire, folders: FolderObjects): Wire {
  const { table, mask, poolId, tagIds } = target
  const block = { ...mapped, ...valuesWith(target, mapped, files, 'create_version', folders) }
  return {
    _objecttype: table.name,
    _mask: mask.name,
    _comment: comment,
    ...(poolId === null ? {} : { _pool: { pool: { _id: poolId } } }),
    ...(tagIds.length === 0 ? {} : { _tags: tagIds.map((_id) => ({ _id })) }),
    [table.name]: { ...block, ...folderLinks(target, block, files, folders) },
  }
}

/** Links of a new object to the folders of its files, unless the rows of the files have these links. */
function folderLinks(
  { hierarchy, rows }: Target,
  block: Wire,
  files: readonly IngestedFile[],
  folders: FolderObjects,
): Wire {
  if (!hierarchy || (hierarchy.rows && hierarchy.rows === rows)) return {}
  const ids = [...new Set(files.flatMap(({ path }) => folders.get(path) ?? []))]
  const links = ids.map((id) => folderLink(hierarchy, id))
  if (!hierarchy.rows) return links[0] ?? {}
  const there = (Array.isArray(block[hierarchy.rows.wireKey]) ? block[hierarchy.rows.wireKey] : []) as Wire[]
  return { [hierarchy.rows.wireKey]: [...there, ...links] }
}

function folderLink({ link: { name }, target }: HierarchyLink, id: number): Wire {
  return { [name]: { _objecttype: target.name, _mask: target.preferredMask.name, _system_object_id: id } }
}

/** Whether a file adds a link to its folder: with its new object, or with its row of an existing one. */
export function linksFolder({ hierarchy, rows }: Target, created: boolean): boolean {
  return hierarchy !== null && (created || (hierarchy.rows !== null && hierarchy.rows === rows))
}

/** The folder link of a file's row. */
function rowLink({ hierarchy, rows }: Target, { path }: IngestedFile, folders: FolderObjects): Wire {
  const id = folders.get(path)
  return hierarchy && hierarchy.rows !== null && hierarchy.rows === rows && id !== undefined
    ? folderLink(hierarchy, id)
    : {}
}

/**
 * The change of an object that gets files, for `PATCH`: it has only the field of files, or the nested table with it.
 * @throws {AppError} `UploadError` where the policy refuses
 */
export function updatePayload(target: Target, { files, byName }: Group, object: Wire, folders: FolderObjects): Wire {
  const { table, mask } = target
  const block = (object[table.name] ?? {}) as Wire
  const policy = byName ? target.policy : 'create_version'
  return {
    _objecttype: table.name,
    _mask: mask.name,
    _comment: comment,
    [table.name]: { _id: block._id, _version: block._version, ...valuesWith(target, block, files, policy, folders) },
  }
}

function valuesWith(
  target: Target,
  block: Wire,
  files: readonly IngestedFile[],
  policy: Target['policy'],
  folders: FolderObjects,
): Wire {
  const { column, rows, recognizeVersion } = target
  if (!rows) {
    const there = filesIn(block[column.name])
    if (policy === 'refuse' && there.length > 0) throw refusal(files)
    return { [column.name]: sendable(withFiles(there, files, policy)) }
  }
  const stored = (Array.isArray(block[rows.wireKey]) ? block[rows.wireKey] : []) as Wire[]
  if (policy === 'refuse' && stored.some((row) => filesIn(row[column.name]).length > 0)) throw refusal(files)
  const list = [...stored]
  for (const file of files) {
    const at = recognizeVersion || policy !== 'create_version' ? rowOfStem(list, column.name, file) : -1
    const row = list[at]
    if (row) list[at] = { ...row, [column.name]: withFiles(filesIn(row[column.name]), [file], policy) }
    else list.push({ [column.name]: [{ ...link(file), preferred: true }], ...rowLink(target, file, folders) })
  }
  return { [rows.wireKey]: list.map((row) => ({ ...row, [column.name]: sendable(filesIn(row[column.name])) })) }
}

/** The row that contains another version of the file. */
function rowOfStem(list: readonly Wire[], column: string, file: IngestedFile): number {
  const { stem } = nameKeys(file.name)
  return list.findIndex((row) =>
    filesIn(row[column]).some(({ original_filename: name }) => name !== undefined && nameKeys(name).stem === stem),
  )
}

function withFiles(there: readonly FileInColumn[], files: readonly IngestedFile[], policy: Target['policy']) {
  const kept = policy === 'replace' ? [] : there
  const preferNew = policy === 'create_version_preferred' || kept.length === 0
  return [
    ...kept.map((one) => (preferNew ? { ...one, preferred: false } : one)),
    ...files.map((file, index) => ({ ...link(file), preferred: preferNew && index === 0 })),
  ]
}

const link = ({ fileId, name }: IngestedFile): FileInColumn => ({ _id: fileId, original_filename: name })

function refusal(files: readonly IngestedFile[]): AppError {
  const file = files[0]?.name ?? ''
  const message = 'The object has a file already, and the collection refuses others.'
  return new AppError('UploadError', { file }, { message })
}
