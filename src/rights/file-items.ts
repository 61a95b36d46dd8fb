import type { RightItem } from './model.ts'

/** The known data of a file when a grant is checked for it; unknown data restricts nothing. */
export interface CheckedFile {
  readonly class: string
  readonly extension: string
  readonly columnId?: number
  /** Name of the requested version. */
  readonly version?: string
  readonly size?: number
}

/** Whether a grant of `asset_upload`, `asset_show` or `asset_download` covers a file. */
export function coversFile(item: RightItem, file: CheckedFile): boolean {
  const { class: kind, extension, columnId, version, size } = file
  return (
    among(item.column_ids, columnId) &&
    among(item.classes, kind) &&
    among(item.extensions, extension) &&
    among(item.versions, version === undefined ? undefined : `${kind}.${version}`) &&
    (!item.limit || size === undefined || size <= item.limit)
  )
}

function among<T>(list: readonly T[] | undefined, value: T | undefined): boolean {
  return list === undefined || value === undefined || list.includes(value)
}
