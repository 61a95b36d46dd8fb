import type { Localized } from '../../platform/values/localized.ts'
import { textIn } from '../../platform/values/localized.ts'
import { isRecord } from '../../platform/values/records.ts'
import { assertStorable } from '../../platform/values/text.ts'
import { type Field, objectOf, plain, wrong } from './field.ts'

export function bool(fallback: boolean): Field<boolean> {
  return plain({
    type: 'bool',
    default: fallback,
    check: (wire, path) => {
      if (typeof wire !== 'boolean') throw wrong(path, 'true or false')
      return wire
    },
  })
}

export function int(fallback: number, { min = 0, max = 2 ** 31 - 1 } = {}): Field<number> {
  return plain({
    type: 'int',
    default: fallback,
    more: { min, max },
    check: (wire, path) => {
      if (!Number.isSafeInteger(wire) || (wire as number) < min || (wire as number) > max) {
        throw wrong(path, `a whole number from ${min} to ${max}`)
      }
      return wire
    },
  })
}

/** A limit; null: no limit. */
export function bound({ min = 0, max = 1_000_000_000 } = {}): Field<number | null> {
  const inner = int(min, { min, max })
  return { ...inner, default: null, read: (wire) => (wire === null ? null : inner.read(wire)) }
}

export interface TextOptions {
  type?: string
  maxLength?: number
  required?: boolean
  /** A further rule: returns what is expected when the text does not fit. */
  rule?: (text: string) => string | null
}

export function text(fallback = '', options: TextOptions = {}): Field<string> {
  const { type = 'text', maxLength = 10_000, required = false, rule } = options
  return plain({
    type,
    default: fallback,
    required,
    check: (wire, path) => {
      if (typeof wire !== 'string') throw wrong(path, 'text')
      assertStorable(wire, path)
      if (wire.length > maxLength) throw wrong(path, `at most ${maxLength} characters long`)
      if (required && wire === '') throw wrong(path, 'given')
      const expected = wire === '' ? null : (rule?.(wire) ?? null)
      if (expected !== null) throw wrong(path, expected)
      return wire
    },
  })
}

export function select<const Option extends string>(options: readonly Option[], fallback: Option): Field<Option> {
  return plain({
    type: 'select',
    default: fallback,
    more: { options },
    check: (wire, path) => {
      if (!options.includes(wire as Option)) throw wrong(path, `one of ${options.join(', ')}`)
      return wire
    },
  })
}

interface ListOptions<Choice extends string> {
  choices: readonly Choice[]
  /** Whether the order matters: then forms let people sort. */
  sorted?: boolean
  required?: boolean
}

export function list<const Choice extends string>(
  fallback: readonly Choice[],
  { choices, sorted = false, required = false }: ListOptions<Choice>,
): Field<readonly Choice[]> {
  return plain({
    type: sorted ? 'string-list-sort' : 'string-list',
    default: fallback,
    more: { choices },
    check: (wire, path) => {
      if (!Array.isArray(wire)) throw wrong(path, 'a list')
      wire.forEach((item, index) => {
        if (!choices.includes(item)) throw wrong(`${path}/${index}`, `one of ${choices.join(', ')}`)
      })
      if (required && wire.length === 0) throw wrong(path, 'a list of at least one')
      return [...new Set(wire)]
    },
  })
}

/** Ids of records, each once. */
export function ids({ most }: { readonly most: number }): Field<readonly number[]> {
  return plain({
    type: 'id-list',
    default: [],
    check: (wire, path) => {
      if (!Array.isArray(wire) || wire.length > most) throw wrong(path, `a list of at most ${most} ids`)
      wire.forEach((id, index) => {
        if (!Number.isSafeInteger(id) || id < 1) throw wrong(`${path}/${index}`, 'an id')
      })
      return [...new Set(wire)]
    },
  })
}

export function localized(): Field<Localized> {
  return plain({
    type: 'text-loca',
    default: {},
    check: (wire, path) => {
      const members = objectOf(wire, path)
      for (const [language, value] of Object.entries(members)) {
        if (value !== null && typeof value !== 'string') throw wrong(`${path}/${language}`, 'text')
      }
      assertStorable(members, path)
      return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null && value !== ''))
    },
  })
}

/**
 * A text in several languages, or one text for all of them, as older releases stored it; it is shown as it was given. Code reads it
 * with `inLanguage`.
 */
export function localizedOrText({ maxLength }: { maxLength: number }): Field<string | Localized> {
  const [one, several] = [text('', { maxLength }), localized()]
  return {
    ...several,
    default: '',
    check: (wire, path, stored) => {
      if (typeof wire === 'string') return one.check(wire, path, stored)
      const texts = several.check(wire, path, stored) as Localized
      for (const [language, value] of Object.entries(texts)) one.check(value, `${path}/${language}`, undefined)
      return texts
    },
    read: (wire) => wire as string | Localized,
    show: (wire) => wire,
  }
}

/** The text in the first of the languages that it has, else in any. */
export function inLanguage(texts: string | Localized, languages: readonly string[]): string {
  return typeof texts === 'string' ? texts : textIn(texts, languages)
}

/** An uploaded file; the code sees its id. Other members that are sent with it are dropped. */
export function file(): Field<number> {
  return plain({
    type: 'file',
    default: null,
    required: true,
    check: (wire, path) => {
      const { _id, frontend_prefs } = objectOf(wire, path)
      if (!Number.isSafeInteger(_id) || (_id as number) < 1) throw wrong(`${path}/_id`, 'the id of a file')
      if (frontend_prefs === undefined || frontend_prefs === null) return { _id }
      assertStorable(frontend_prefs, path)
      return { _id, frontend_prefs: objectOf(frontend_prefs, `${path}/frontend_prefs`) }
    },
    read: (wire) => (isRecord(wire) ? (wire._id as number) : 0),
  })
}

/** A span of time such as `24h`, `90m`, `1h30m` or `30d` (days of 24 hours); the code sees seconds. */
export function duration(fallback: string, { min = 1, max = 10 * 365 * 86_400 } = {}): Field<number> {
  return plain({
    type: 'text',
    default: fallback,
    check: (wire, path) => {
      const seconds = typeof wire === 'string' ? parseDuration(wire) : null
      if (seconds === null) throw wrong(path, 'a duration such as 24h or 1h30m')
      if (seconds < min || seconds > max) throw wrong(path, `between ${min}s and ${Math.floor(max / 86_400)}d`)
      return wire
    },
    read: (wire) => parseDuration(wire as string) ?? 0,
  })
}

const unitSeconds = { d: 86_400, h: 3600, m: 60, s: 1 } as const

function parseDuration(wire: string): number | null {
  const match = /^(?:(\d{1,9})d)?(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9})s)?$/.exec(wire.replaceAll(' ', ''))
  if (!match || wire.trim() === '') return null
  return (['d', 'h', 'm', 's'] as const).reduce(
    (sum, unit, index) => sum + Number(match[index + 1] ?? 0) * unitSeconds[unit],
    0,
  )
}

const byteUnits: Readonly<Record<string, number>> = { '': 1, B: 1, KB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 }

/** A number of bytes such as `500MB` or `1048576`; the code sees bytes. */
export function byteSize(fallback: string): Field<number> {
  return plain({
    type: 'text',
    default: fallback,
    check: (wire, path) => {
      if (typeof wire !== 'string' || parseBytes(wire) === null) throw wrong(path, 'a size such as 500MB or 0')
      return wire
    },
    read: (wire) => parseBytes(wire as string) ?? 0,
  })
}

function parseBytes(wire: string): number | null {
  const [, digits, unit] = /^(\d{1,12}(?:\.\d{1,6})?) ?([KMGT]?B?)$/i.exec(wire.trim()) ?? []
  const factor = unit === undefined ? undefined : byteUnits[unit.toUpperCase()]
  const bytes = digits === undefined || factor === undefined ? Number.NaN : Math.round(Number(digits) * factor)
  return Number.isSafeInteger(bytes) ? bytes : null
}
