import { type Format, type FormatName, formats, type MergeMode } from '../render/formats.ts'
import { defaultOptions, type RenderDeps, type RenderOptions } from '../render/render.ts'

/** The options that requests for one object and for a list have in common. */
export interface ShownAs {
  readonly format: FormatName
  /** Days for which addresses of files are valid; undefined: the default. */
  readonly fileDays?: number | undefined
  /** Every version, newest first, instead of the latest one. */
  readonly allVersions?: boolean
  readonly skipReverseNested?: boolean
  readonly latestLinked?: boolean
  readonly mergeLinkedObjects?: MergeMode | undefined
  readonly mergeMaxDepth?: number | undefined
  /** The differences between this answer and its format. */
  readonly differing?: Partial<Pick<Format, 'inherited' | 'linked'>>
}

export interface ReadOptions extends ShownAs {
  readonly version?: number | undefined
}

export interface ListOptions extends ShownAs {
  readonly limit: number
  readonly offset: number
}

export function renderOptions(deps: Pick<RenderDeps, 'files'>, options: Omit<ShownAs, 'allVersions'>): RenderOptions {
  return {
    ...defaultOptions,
    format: options.differing ? { ...formats[options.format], ...options.differing } : formats[options.format],
    fileDays: deps.files.expiry(options.fileDays),
    skipReverseNested: options.skipReverseNested ?? false,
    latestLinked: options.latestLinked ?? false,
    mergeLinkedObjects: options.mergeLinkedObjects ?? 'none',
    mergeMaxDepth: options.mergeMaxDepth ?? 1,
  }
}

/** Whether linked objects contain further linked objects. */
export function isDeep({ mergeLinkedObjects, mergeMaxDepth }: RenderOptions): boolean {
  return mergeLinkedObjects !== 'none' && mergeMaxDepth > 1
}

export function isLong(count: number, shown: RenderOptions): boolean {
  if (!shown.format.fields) return count > 5000
  return count > (shown.mergeLinkedObjects === 'none' ? 300 : 50) || (count > 0 && isDeep(shown))
}

/** Whether linked objects are only shown by their heads. */
export function hasShortLinks({ format, mergeLinkedObjects }: RenderOptions): boolean {
  return format.fields && format.linked === 'short' && mergeLinkedObjects === 'none'
}
