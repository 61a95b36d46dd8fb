import { badRequest } from '../errors.ts'

/**
 * A name in the one form in which names are kept and compared: a letter with its marks as one character (NFC), however it was
 * typed. Two that look alike to everybody are not two.
 */
export const composed = (name: string): string => name.normalize('NFC')

/** Things by their names, whatever form these are asked for in. */
export class ByName<T> extends Map<string, T> {
  override get(name: string): T | undefined {
    return super.get(composed(name))
  }

  /** Of two from before this was so, the one that is written in this form has the name. */
  override set(name: string, value: T): this {
    const key = composed(name)
    return key !== name && this.has(key) ? this : super.set(key, value)
  }
}

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

/** Without the characters that stand at its end. A pattern such as `/ +$/` would look at a text of spaces once for each of them. */
export function withoutEnd(text: string, characters: string): string {
  let end = text.length
  while (end > 0 && characters.includes(text[end - 1] as string)) end--
  return text.slice(0, end)
}

/** Without the characters that stand at its beginning or its end. */
export function withoutEnds(text: string, characters: string): string {
  let start = 0
  while (start < text.length && characters.includes(text[start] as string)) start++
  return withoutEnd(text.slice(start), characters)
}

/** More marks than this on one letter are no writing (UAX #15, Stream-Safe Text Format). */
const manyMarks = /[\p{M}\uff9e\uff9f]{31}/u
const thirtyMarks = /[\p{M}\uff9e\uff9f]{30}(?=[\p{M}\uff9e\uff9f])/gu
/** Characters that are put in order in no time, whatever they are. */
const short = 100

/**
 * A text in one form of Unicode. Marks on one letter are put in order, which takes as long as the square of their number: a
 * minute for those that fit into one request. So every thirty of them are followed by a joiner that nobody sees (U+034F), as
 * the Stream-Safe Text Format has it.
 */
export function normalized(text: string, form: 'NFC' | 'NFKC' | 'NFKD'): string {
  if (text.length <= short || !manyMarks.test(text)) return text.normalize(form)
  return text.replaceAll(thirtyMarks, (marks) => `${marks}\u034f`).normalize(form)
}
