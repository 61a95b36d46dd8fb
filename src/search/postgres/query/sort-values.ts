import type { SortKey } from '../../plan/plan.ts'

/** Texts go by their sort keys in hexadecimal digits, null last; moments by microseconds. */
export function isSortValue({ field: { by } }: SortKey, value: unknown): boolean {
  if (by === 'standard' || by === 'field') {
    return value === null || (typeof value === 'string' && value.length <= longest && /^(?:[0-9a-f]{2})*$/.test(value))
  }
  // Nobody shows the times of objects that are known by their title alone.
  if ((by === 'created' || by === 'modified') && value === null) return true
  return by === 'score' ? Number.isFinite(value) : Number.isSafeInteger(value)
}

/** Digits of the longest key. */
const longest = 1000
