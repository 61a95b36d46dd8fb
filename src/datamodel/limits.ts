/**
 * The largest size of a datamodel. The limits are far above real ones, and low enough that no operation takes more than seconds.
 */
export const limits = {
  tables: 2000,
  /** Instructions of all `check_regexp`, compiled. */
  patterns: 50_000,
  columns: 20_000,
  columnsPerTable: 1000,
  ownershipDepth: 10,
  masks: 5000,
  maskFields: 200_000,
  maskDepth: 12,
} as const
