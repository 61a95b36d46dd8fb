import type { FormatName, MergeMode } from '../objects/service.ts'

/** How hits are shown; the keys of a request that say so, checked. */
export interface HitOptions {
  readonly format: FormatName
  readonly languages: readonly string[] | null
  readonly mergeLinkedObjects: MergeMode | undefined
  readonly mergeMaxDepth: number | undefined
  readonly generateRights: boolean
  readonly allFields: boolean
  readonly includeFields: readonly string[]
  /** Days that addresses of files hold; undefined: as usual. */
  readonly fileDays: number | undefined
  readonly excludeFields: readonly string[]
}
