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

/** A version as far as rights ask for it; what is not there yet has neither extension nor size. */
export type AskedVersion = Pick<FileVersion, 'name'> & Partial<Pick<FileVersion, 'extension' | 'size'>>

/** Who may see a file: whoever uploaded it, and whoever an object that has it lets. */
export interface FileAccess {
  may(right: AssetRight, version: AskedVersion): boolean
  /** Whatever is asked is allowed. */
  readonly all: boolean
  /** Whether anything of the file may be had. */
  readonly any: boolean
  /** Whether its name and reference may be changed. */
  readonly change: boolean
}

/** A file, and what the caller may do with it. */
export interface KnownFile {
  readonly file: StoredFile
  readonly access: FileAccess
}

/** `isFree`: whether a version is not named by rights, so that it may be had by whoever may see an object with the file. */
export function accessTo(
  caller: CallerRights,
  file: StoredFile,
  uses: readonly FileUse[],
  isFree: (version: string) => boolean,
): FileAccess {
  const everything = caller.root || file.uploadUser === caller.userId
  // Rights mean the class of the file: the poster of a film is a version of a film.
  const { class: kind } = originalOf(file)
  const grants = once((right) => uses.map((use) => ({ use, items: caller.itemsOn(right, use.object) })))
  const may = (right: AssetRight, version: AskedVersion): boolean =>
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
function asked({ columnId }: Pick<FileUse, 'columnId'>, kind: string, { name, extension = '', size }: AskedVersion) {
  return { class: kind, extension, columnId, version: name, ...(size === undefined ? {} : { size }) }
}

/** A file has many versions, and they are all asked for: what grants say of its objects is looked up once for each right. */
function once<T>(find: (right: AssetRight) => T): (right: AssetRight) => T {
  const known: Partial<Record<AssetRight, T>> = {}
  return (right) => {
    known[right] ??= find(right)
    return known[right]
  }
}
