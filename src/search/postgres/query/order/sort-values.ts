import type { SortKey } from '../../../plan/plan.ts'

/** Bytes of a key that an index contains: indexes limit the length of a value. */
const headBytes = 64
/** Bytes of a key that a hit contains completely. */
const mostCarried = 250

/** The beginning of a key. */
export function headSql(key: string): string {
  return `substring(${key} from 1 for ${headBytes})`
}

/** A key in the form for hits, in hexadecimal digits; a long one is cut, with a sign that there is more. */
export function shownKeySql(key: string): string {
  return `case when length(${key}) > ${mostCarried} then encode(${headSql(key)}, 'hex') || '+' else encode(${key}, 'hex') end`
}

/**
 * The key of a hit, from the digits in its `_sort`. For a shortened key, the rest is read from the document with the id of the hit.
 * If the object was changed since, the page begins with the keys that have the same beginning.
 */
export function carriedKeySql(
  value: string,
  { key, id, add }: { key: string; id: unknown; add: (value: unknown, type: string) => string },
): string {
  const head = add(Buffer.from(value.replace('+', ''), 'hex'), 'bytea')
  if (!value.endsWith('+')) return head
  return `coalesce((select ${key} from search_document d where d.id = ${add(id, 'bigint')} and ${headSql(key)} = ${head}), ${head})`
}

/** Texts are sorted by their keys (`shownKeySql`), null last; moments by microseconds. */
export function isSortValue({ field: { by } }: SortKey, value: unknown): boolean {
  if (by === 'standard' || by === 'field' || by === 'parent') {
    return (
      value === null || (typeof value === 'string' && value.length <= longest && /^(?:[0-9a-f]{2})*\+?$/.test(value))
    )
  }
  // Objects of which the caller knows only the title have no visible times.
  if ((by === 'created' || by === 'modified') && value === null) return true
  return by === 'score' ? Number.isFinite(value) : Number.isSafeInteger(value)
}

/** The longest value of a hit, in digits. */
const longest = 2 * mostCarried + 1
