import { AppError } from '../../platform/errors.ts'
import { coversFile, type RightItem } from '../../rights/service.ts'
import type { FileType } from '../records/file-type.ts'
import type { RenditionSettings } from '../renditions/model.ts'

/** The permission of a caller to upload: by grants of `asset_upload`, and by the file types that the instance accepts. */
export interface UploadPermission {
  /** @throws {AppError} `RightRequired`, `UploadError`: this caller may not upload files of this type. */
  check(type: FileType): void
  /** Most bytes of a file of this type. */
  most(type: FileType): number
  /** Most bytes of a file of any type. */
  readonly largest: number
}

/** @throws {AppError} `RightRequired` when the caller may upload nothing. */
export function uploadPermission(grants: readonly RightItem[], settings: RenditionSettings): UploadPermission {
  if (grants.length === 0) throw new AppError('RightRequired', { right: 'asset_upload' })
  const fitting = (type: FileType) => grants.filter((grant) => coversFile(grant, type))
  const anyOwn = [settings.uploadmaxfilesize, ...Object.values(settings.classes).map((one) => one.uploadmaxfilesize)]
  return {
    // A limit of 0 for a class means the general limit; a general limit of 0 means none.
    largest: Math.min(
      Math.max(...grants.map(({ limit }) => limit || Number.POSITIVE_INFINITY)),
      settings.uploadmaxfilesize === 0 ? Number.POSITIVE_INFINITY : Math.max(...anyOwn),
    ),
    check(type) {
      const { class: kind, extension } = type
      if (kind === 'unknown' ? !settings.uploadallowunknown : !enabled(settings, type)) {
        throw new AppError('UploadError', { extension }, { message: `Files of the type ${extension} are not taken.` })
      }
      if (fitting(type).length > 0) return
      throw new AppError(
        'RightRequired',
        { right: 'asset_upload', class: kind, extension },
        { message: `The right asset_upload does not cover files of the class ${kind} and the type ${extension}.` },
      )
    },
    most(type) {
      const granted = Math.max(...fitting(type).map(({ limit }) => limit || Number.POSITIVE_INFINITY))
      const own = type.class === 'unknown' ? 0 : settings.classes[type.class].uploadmaxfilesize
      return Math.min(granted, own || settings.uploadmaxfilesize || Number.POSITIVE_INFINITY)
    },
  }
}

function enabled(settings: RenditionSettings, { class: kind, extension }: FileType): boolean {
  return kind === 'unknown' || (settings.classes[kind].uploadenabledextensions as readonly string[]).includes(extension)
}

export function tooLarge(most: number): AppError {
  return new AppError(
    'FileLimitExceeded',
    { bytes: most },
    { message: `A file of this type has at most ${most} bytes.` },
  )
}
