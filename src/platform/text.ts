import { badRequest } from './errors.ts'

/** Deeper than any record of ours, shallow enough for every recursion. */
const maxDepth = 64

/**
 * Refuses by its place what neither PostgreSQL nor a reader of the record could cope with: NUL and lone surrogates in
 * text (the driver would store the latter as something else), numbers beyond a double, endless nesting.
 */
export function assertStorable(value: unknown, path: string, depth = 0): void {
  if (typeof value === 'string') assertText(value, path)
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw badRequest(`The number at ${path} is out of range.`, { path })
  }
  if (typeof value !== 'object' || value === null) return
  if (depth >= maxDepth) throw badRequest(`The value at ${path.slice(0, 200)} is nested too deep.`, { path })
  for (const [key, member] of Object.entries(value)) {
    assertText(key, path)
    assertStorable(member, Array.isArray(value) ? `${path}[${key}]` : `${path}.${key}`, depth + 1)
  }
}

/** The same value with what cannot be stored replaced: for what is told of a request that was refused for it. */
export function storable(value: unknown): unknown {
  if (typeof value === 'string') return storableText(value)
  if (Array.isArray(value)) return value.map(storable)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [storableText(key), storable(member)]))
}

function storableText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd')
}

function assertText(text: string, path: string): void {
  if (!text.includes('\0') && text.isWellFormed()) return
  throw badRequest(`The text at ${path} has a character that cannot be stored.`, { path })
}
