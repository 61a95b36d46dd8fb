import { type Fields, integerOf } from './read.ts'

const integers = ['offset', 'limit', 'merge_max_depth', 'file_url_expire'] as const

/**
 * A request as clients of this interface send it, in the shape of the schema: null is what was not said, whole numbers
 * may come as text, and `object` is the domain without a name. Anything else is left for the schema to judge.
 */
export function lenientRequest(body: unknown): unknown {
  if (!isRecord(body)) return body
  const request: Record<string, unknown> = said(body)
  for (const name of integers) if (name in request) request[name] = integerOf(request[name]) ?? request[name]
  if (request.type === 'object') request.type = ''
  if (Array.isArray(request.sort)) request.sort = request.sort.map((key) => (isRecord(key) ? said(key) : key))
  return request
}

function said(record: Fields): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== null))
}

function isRecord(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
