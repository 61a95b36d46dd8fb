import type { SheetFormat } from '../read/model.ts'
import { isAddress } from '../values/text.ts'
import type { ColumnMapping } from './mapping.ts'
import type { ColumnStatistics } from './statistics.ts'

export interface ProposalContext {
  readonly file: string
  readonly format: SheetFormat
  readonly type: string
  /** Languages of the instance; texts without language are in the first one. */
  readonly languages: readonly string[]
  /** Whether an object type of this name can be created, or exists with this column as the key of a list. */
  readonly listFits: (type: string, column: string) => boolean
  readonly fileExists: (path: string) => boolean
}

/** One column with the decisions about it. */
export interface Draft {
  readonly statistics: ColumnStatistics
  mapping: ColumnMapping
  reason: string
}

/** The separator that occurs in cells more often than by chance. */
export function separatorOf({ several, filled, examples }: ColumnStatistics): string | null {
  for (const [separator, { cells }] of Object.entries(several)) {
    if (cells >= Math.max(1, filled * 0.02) && !examples.some((text) => isAddress(text) && !text.includes(' '))) {
      return separator
    }
  }
  return null
}
