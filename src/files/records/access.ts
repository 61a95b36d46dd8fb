import { type CallerRights, coversFile, type Guarded } from '../../rights/service.ts'
import { type FileVersion, originalOf, type StoredFile } from '../model.ts'

/** An object that has a file, in its latest version or an old one, and that the caller may see with its column. */
export interface FileUse {
  readonly columnId: number
  readonly object: Guarded & { readonly systemObjectId: number }
  /** In the trash. */
  readonly deleted: boolean
}

export type AssetRight = 'asset_show' | 'asset_download'

/** The members of a version that rights are checked for. A version that does not exist yet has neither extension nor size. */
export type CheckedVersion = Pick<FileVersion, 'name'> & Partial<Pick<FileVersion, 'extension' | 'size'>>

/** Rights of the caller on a file: those of its uploader, and those by the objects that have it. */
export interface FileAccess {
  may(right: AssetRight, version: CheckedVersion): boolean
  /** All rights are granted. */
  readonly all: boolean
  /** Whether the caller may see or download any version of the file. */
  readonly any: boolean
  /** Whether its name and reference may be changed. */
  readonly change: boolean
}

/** A file, with the rights of the caller on it. */
export interface FileWithAccess {
  readonly file: StoredFile
  readonly access: FileAccess
}

/** `isFree`: whether rights do not restrict a version, so that every caller who may see an object with the file may have it. */
export function accessTo(
  caller: CallerRights,
  file: StoredFile,
  uses: readonly FileUse[],
  isFree: (version: string) => boolean,
): FileAccess {
  const everything = caller.root || file.uploadUser === caller.userId
  // Rights refer to the class of the file: the poster of a film counts as a version of a film.
  const { class: kind } = originalOf(file)
  const grants = once((right) => uses.map((use) => ({ use, items: caller.itemsOn(right, use.object) })))
  const may = (right: AssetRight, version: CheckedVersion): boolean =>
    everything ||
    (uses.length > 0 &&
      (isFree(version.name) ||
        grants(right).some(({ use, items }) => items.some((item) => coversFile(item, asked(use, kind, version))))))
  return {
    may,
    all: everything,
    get any() {
      return file.versions.some((version) => may('asset_show', version) || may('asset_download', version))
    },
    get change() {
      return everything || uses.some(({ object, deleted }) => !deleted && caller.may('write', object))
    },
  }
}

/** A version of the file in the column of one object. */
function asked({ columnId }: Pick<FileUse, 'columnId'>, kind: string, { name, extension = '', size }: CheckedVersion) {
  return { class: kind, extension, columnId, version: name, ...(size === undefined ? {} : { size }) }
}

/** A file has many versions, and all of them are checked: grants on its objects are looked up once for each right. */
function once<T>(find: (right: AssetRight) => T): (right: AssetRight) => T {
  const known: Partial<Record<AssetRight, T>> = {}
  return (right) => {
    known[right] ??= find(right)
    return known[right]
  }
}
