/** Reads requests of recursive shape by hand. Every error contains the path. */
import { badRequest } from '../../platform/errors.ts'

export type Fields = Readonly<Record<string, unknown>>

/** Elements of one list. */
export const mostElements = 500
/** Deepest nesting of elements and sub-searches. */
export const deepest = 20

export function fieldsAt(value: unknown, place: string): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields
  throw wrong(place, 'an object')
}

export function listAt(value: unknown, place: string, longest: number): readonly unknown[] {
  if (!Array.isArray(value)) throw wrong(place, 'a list')
  if (value.length > longest) throw wrong(place, `a list of at most ${longest} entries`)
  return value
}

/** A whole number, also as text; null for any other value. */
export function integerOf(value: unknown): number | null {
  const number = typeof value === 'string' && /^-?\d{1,16}$/.test(value) ? Number(value) : value
  return Number.isSafeInteger(number) ? (number as number) : null
}

/** A number, also as text (a facet has its values as texts); null for any other value. */
export function numberOf(value: unknown): number | null {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : null
}

interface Kinds {
  string: string
  number: number
  integer: number
  boolean: boolean
}

/** An optional member of a kind; null counts as absent, and a whole number may come as text. */
export function optional<K extends keyof Kinds>(
  from: Fields,
  name: string,
  kind: K,
  place: string,
): Kinds[K] | undefined {
  const value = from[name]
  if (value === undefined || value === null) return undefined
  const found = kind === 'integer' ? integerOf(value) : typeof value === kind ? value : null
  if (found !== null) return found as Kinds[K]
  throw wrong(`${place}.${name}`, kind === 'integer' ? 'an integer' : `a ${kind}`)
}

/** An optional language tag. */
export function languageAt(from: Fields, place: string): string | undefined {
  const language = optional(from, 'language', 'string', place)
  if (language === undefined || language === '') return undefined
  try {
    Intl.getCanonicalLocales(language)
    return language
  } catch {
    throw wrong(`${place}.language`, 'a language tag such as en-US')
  }
}

export function stringsAt(value: unknown, place: string, longest = 1000): readonly string[] {
  return listAt(value, place, longest).map((entry, index) => {
    if (typeof entry === 'string') return entry
    throw wrong(`${place}[${index}]`, 'a string')
  })
}

export function choice<T extends string>(value: string, of: readonly T[], place: string): T {
  if ((of as readonly string[]).includes(value)) return value as T
  throw wrong(place, `one of ${of.join(', ')}`)
}

export function wrong(place: string, expected: string) {
  return badRequest(`${place} must be ${expected}.`, { name: place, expected })
}

/** The error for a feature that the interface specifies and this service does not have yet. */
export function unsupported(place: string, what: string) {
  return badRequest(`${place}: ${what} is not supported.`, { name: place })
}
