import type { FormatName, MergeMode } from '../objects/service.ts'

/** The options for rendering hits: the checked keys of the request. */
export interface HitOptions {
  readonly format: FormatName
  readonly languages: readonly string[] | null
  readonly mergeLinkedObjects: MergeMode | undefined
  readonly mergeMaxDepth: number | undefined
  readonly generateRights: boolean
  readonly allFields: boolean
  readonly includeFields: readonly string[]
  /** Validity of addresses of files in days; undefined: the default. */
  readonly fileDays: number | undefined
  readonly excludeFields: readonly string[]
}
