import { badRequest } from '../../platform/errors.ts'
import { JsonReader } from '../../platform/http/body/json-reader.ts'
import { bodyLimits } from '../../platform/http/body/limits.ts'
import { isRecord } from '../../platform/values/records.ts'
import { type Fields, integerOf } from './read.ts'

const integers = ['offset', 'limit', 'merge_max_depth', 'file_url_expire'] as const

/**
 * A request as clients of this interface send it, brought into the shape of the schema: a member that is `null` counts as missing,
 * whole numbers may come as text, and `object` is the domain without a name. The schema checks everything else.
 */
export function lenientRequest(body: unknown): unknown {
  const request = lenient(body, { integers })
  if (!isRecord(request)) return request
  if (request.type === 'object') request.type = ''
  if (Array.isArray(request.sort)) request.sort = request.sort.map((key) => (isRecord(key) ? said(key) : key))
  return request
}

/** The members that are not `null`, with whole numbers also accepted as text. */
export function lenient(body: unknown, of: { readonly integers: readonly string[] }): unknown {
  if (!isRecord(body)) return body
  const request = said(body)
  for (const name of of.integers) if (name in request) request[name] = integerOf(request[name]) ?? request[name]
  return request
}

type Validate = (value: unknown) => boolean | PromiseLike<unknown>

/** The request in the parameter `BODY`, checked by the same rules as a body. */
export function parseBody<T>(
  text: string,
  read: (body: unknown) => unknown,
  validate: Validate & { errors?: unknown },
): T {
  // Limited like a body.
  const reader = new JsonReader(bodyLimits.one)
  reader.write(Buffer.from(text))
  const value = read(reader.end())
  if (validate(value) === true) return value as T
  const [error] = (validate.errors ?? []) as { instancePath?: string; message?: string; params?: object }[]
  const place = `BODY${error?.instancePath ?? ''}`
  throw badRequest(`${place} ${error?.message ?? 'is wrong'}`, { name: place, ...error?.params })
}

function said(record: Fields): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== null))
}
