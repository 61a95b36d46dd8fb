import { badRequest } from '../errors.ts'

/**
 * A name in the form in which names are stored and compared: a letter with its marks as one character (NFC), however it was typed.
 * Names that look the same are equal.
 */
export const composed = (name: string): string => name.normalize('NFC')

/** A map by name in which all Unicode forms of a name are equal. */
export class ByName<T> extends Map<string, T> {
  override get(name: string): T | undefined {
    return super.get(composed(name))
  }

  /** Of two old entries that differ only in their form, the entry in this form has the name. */
  override set(name: string, value: T): this {
    const key = composed(name)
    return key !== name && this.has(key) ? this : super.set(key, value)
  }
}

/** Deeper than any of our records, and safe for every recursion. */
const maxDepth = 64

/**
 * Refuses, by its place, data that PostgreSQL or the readers of the record cannot handle: NUL and lone surrogates in text (the
 * driver would store the latter as something else), numbers beyond a double, endless nesting.
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

/** The same value with parts that cannot be stored replaced: for reports on a request that was refused for them. */
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

/** The text without these characters at its end. A pattern such as `/ +$/` would scan a text of spaces once for each of them. */
export function withoutEnd(text: string, characters: string): string {
  let end = text.length
  while (end > 0 && characters.includes(text[end - 1] as string)) end--
  return text.slice(0, end)
}

/** The text without these characters at its beginning and its end. */
export function withoutEnds(text: string, characters: string): string {
  let start = 0
  while (start < text.length && characters.includes(text[start] as string)) start++
  return withoutEnd(text.slice(start), characters)
}

/** More marks than this on one letter do not occur in real texts (UAX #15, Stream-Safe Text Format). */
const manyMarks = /[\p{M}\uff9e\uff9f]{31}/u
const thirtyMarks = /[\p{M}\uff9e\uff9f]{30}(?=[\p{M}\uff9e\uff9f])/gu
/** Number of characters that can always be normalized quickly. */
const short = 100

/**
 * A text in one form of Unicode. Normalizing sorts the marks on one letter, which takes time that grows with the square of their
 * number: a minute for those that fit into one request. So every thirty marks are followed by an invisible joiner (U+034F), as in
 * the Stream-Safe Text Format.
 */
export function normalized(text: string, form: 'NFC' | 'NFKC' | 'NFKD'): string {
  if (text.length <= short || !manyMarks.test(text)) return text.normalize(form)
  return text.replaceAll(thirtyMarks, (marks) => `${marks}\u034f`).normalize(form)
}
