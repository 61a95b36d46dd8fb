import { badRequest } from '../../platform/errors.ts'

/** Deeper than any real mask (each level of nesting costs about three), shallow enough for every recursion here. */
const maxDepth = 100

/**
 * A copy of a request body that is safe to walk and to store: members that are `null` are left out (everywhere in a datamodel they
 * mean "absent"). Values that PostgreSQL or a reader cannot handle are refused with their path: NUL and lone surrogates in text,
 * numbers beyond the range of a double, endless nesting.
 */
export function cleanBody(body: unknown): unknown {
  return clean(body, '', 0)
}

function clean(value: unknown, path: string, depth: number): unknown {
  if (depth > maxDepth)
    throw badRequest(`The body is nested deeper than ${maxDepth} levels.`, { path: path.slice(0, 200) })
  if (typeof value === 'string') return checkedText(value, path)
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw badRequest(`The number at ${path} is out of range.`, { path })
  }
  if (Array.isArray(value)) return value.map((item, index) => clean(item, `${path}[${index}]`, depth + 1))
  if (typeof value !== 'object' || value === null) return value
  const copy: Record<string, unknown> = {}
  for (const [key, member] of Object.entries(value)) {
    if (member === null) continue
    const place = path === '' ? key : `${path}.${key}`
    checkedText(key, place)
    copy[key] = clean(member, place, depth + 1)
  }
  return copy
}

function checkedText(text: string, path: string): string {
  if (text.includes('\0') || !text.isWellFormed()) {
    throw badRequest(
      `The text at ${path.toWellFormed().replaceAll('\0', '\\0')} has a character that cannot be stored.`,
      {
        path: path.toWellFormed().replaceAll('\0', '\\0').slice(0, 200),
      },
    )
  }
  return text
}
