import { type CallerRights, coversFile, type Guarded } from '../../rights/service.ts'
import type { FileVersion, StoredFile } from '../model.ts'

/** An object that has a file, in its latest version or an old one, and that the caller may see with its column. */
export interface FileUse {
  readonly columnId: number
  readonly object: Guarded
  /** In the trash. */
  readonly deleted: boolean
}

export type AssetRight = 'asset_show' | 'asset_download'

/** Who may see a file: whoever uploaded it, and whoever an object that has it lets. */
export interface FileAccess {
  may(right: AssetRight, version: FileVersion): boolean
  /** Whether anything of the file may be had. */
  readonly any: boolean
  /** Whether its name and reference may be changed. */
  readonly change: boolean
}

export function accessTo(caller: CallerRights, file: StoredFile, uses: readonly FileUse[]): FileAccess {
  const everything = caller.root || file.uploadUser === caller.userId
  const may = (right: AssetRight, version: FileVersion): boolean =>
    everything || uses.some((use) => mayThrough(caller, right, use, version))
  return {
    may,
    get any() {
      return file.versions.some((version) => may('asset_show', version) || may('asset_download', version))
    },
    get change() {
      return everything || uses.some(({ object, deleted }) => !deleted && caller.may('write', object))
    },
  }
}

/** Whether one object lets the caller have a version of the file in one of its columns. */
function mayThrough(
  caller: CallerRights,
  right: AssetRight,
  { object, columnId }: Pick<FileUse, 'object' | 'columnId'>,
  version: FileVersion,
): boolean {
  const { class: kind, extension, name, size } = version
  const file = { class: kind, extension, columnId, version: name, size }
  return caller.itemsOn(right, object).some((item) => coversFile(item, file))
}
