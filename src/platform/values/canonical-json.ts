/** JSON with sorted keys, for comparisons: jsonb does not keep their order. */
import { isRecord } from './records.ts'

export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) =>
    isRecord(member) ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1))) : member,
  )
}
