import { isDeepStrictEqual } from 'node:util'
import { type AppError, badRequest } from '../platform/errors.ts'
import { LockedSecret, type Secret } from '../platform/secrets/sealed-texts.ts'
import { masked, scrubAddress } from '../platform/secrets/secrets.ts'
import { assertStorable } from '../platform/values/text.ts'

/**
 * The kinds of values of the base configuration. A *wire* value is the form that clients send and the database stores; a *value* is
 * the form that the code uses (a duration `24h` is 86400).
 */
export interface Field<Value> {
  /** The kind of control in a form. */
  readonly type: string
  /** Wire form. */
  readonly default: unknown
  /** The form's description beside type, default and position. */
  readonly more: Readonly<Record<string, unknown>>
  /**
   * Checks a wire value that is to replace `stored`, and returns the value to store.
   * @throws {AppError} `ServerGeneric` with `parameters.path`.
   */
  check(wire: unknown, path: string, stored: unknown): unknown
  /** The checked wire value as the code sees it. */
  read(wire: unknown): Value
  /** The wire value as clients see it: without secrets. */
  show(wire: unknown): unknown
  /** Whether rows of a table must have a value for it. */
  readonly required?: boolean
  /** Members of a form: a path can go on into them. */
  readonly members?: Readonly<Record<string, Field<unknown>>>
  /** The rows of a table, each a form. */
  readonly row?: Field<unknown>
  /**
   * For texts that may be or contain a secret: the text that is shown instead, or null if there is no secret. Texts with a secret
   * are stored sealed.
   */
  readonly hide?: (text: string) => string | null
  /** For files whose content is stored with the setting (taken-files.ts). */
  readonly taking?: Taking
}

/** A file as it was uploaded. */
export interface TakenContent {
  readonly extension: string
  readonly bytes: Buffer
}

/** Converts a file to the content that is stored, or tells why the setting does not accept it. */
export interface Taking {
  readonly mostBytes: number
  readonly take: (content: TakenContent) => { readonly kept: string } | { readonly expected: string }
}

export type ValueOf<F> = F extends Field<infer Value> ? Value : never
export type Members = Readonly<Record<string, Field<unknown>>>
export type ValuesOf<M extends Members> = { readonly [K in keyof M]: ValueOf<M[K]> }

/** Text per language; any language, since data languages are configured. */
export type Localized = Readonly<Record<string, string>>

export function wrong(path: string, expected: string): AppError {
  return badRequest(`${path} must be ${expected}`, { path, expected })
}

interface Plain<Value> {
  type: string
  default: unknown
  more?: Record<string, unknown>
  required?: boolean
  check: (wire: unknown, path: string) => unknown
  read?: (wire: unknown) => Value
}

function plain<Value>({ default: fallback, more = {}, read, ...rest }: Plain<Value>): Field<Value> {
  return { ...rest, default: fallback, more, read: read ?? ((wire) => wire as Value), show: (wire) => wire }
}

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

interface TextOptions {
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
  if (typeof texts === 'string') return texts
  const found = languages.find((language) => texts[language])
  return (found === undefined ? Object.values(texts)[0] : texts[found]) ?? ''
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

/**
 * A text that is never returned, and stored sealed. Clients see `***` if there is one. `***`, `true` or an absent value keeps it, a
 * text replaces it, and `""`, `"-"`, `false` or `null` remove it. `***` is refused if there is none to keep: otherwise the document
 * of another instance, or a row with a new name, would silently lose its secret.
 */
export function secret(rule?: (text: string) => string | null, maxLength = 1000): Field<Secret> {
  return { ...hashed(rule, maxLength), hide: (text) => (text === '' ? null : masked) } as Field<Secret>
}

/** The same for hashes, which cannot be turned back into a secret, so a reader of the database cannot use them. */
export function hashed(rule?: (text: string) => string | null, maxLength = 1000): Field<string> {
  const inner = text('', { maxLength, ...(rule ? { rule } : {}) })
  return {
    type: 'secret',
    default: '',
    more: {},
    check: (wire, path, stored) => {
      if (wire instanceof LockedSecret) return wire
      if (keepsSecret(wire)) {
        if (stored instanceof LockedSecret) return stored
        if (typeof stored === 'string' && (stored !== '' || wire === undefined)) return stored
        if (wire === undefined) return ''
        throw wrong(path, 'the secret itself: none is stored that could be kept')
      }
      if (wire === false || wire === null || wire === '-') return ''
      return inner.check(wire, path, stored)
    },
    read: (wire) => (typeof wire === 'string' || wire instanceof LockedSecret ? wire : '') as string,
    show: (wire) => (wire instanceof LockedSecret || (typeof wire === 'string' && wire !== '') ? masked : ''),
  }
}

/**
 * An address. Its credentials (`user:password@`) and secret parameters are shown as `***`; an address that is sent as it was shown
 * is the stored one. It is stored sealed if it contains such parts.
 */
export function address(options: TextOptions): Field<Secret> {
  const inner = text('', options)
  const hide = (url: string): string | null => {
    const shown = scrubAddress(url)
    return shown === url ? null : shown
  }
  const show = (wire: unknown): unknown =>
    wire instanceof LockedSecret ? wire.shown : ((typeof wire === 'string' ? hide(wire) : null) ?? wire)
  return {
    ...inner,
    hide,
    check: (wire, path, stored) => {
      if (wire instanceof LockedSecret) return wire
      const kept = inner.check(wire, path, stored)
      if (wire !== stored && show(stored) === wire) return stored
      if (String(wire).includes(masked)) throw wrong(path, 'the whole address: none is stored that is shown like this')
      return kept
    },
    read: (wire) => wire as Secret,
    show,
  }
}

function keepsSecret(wire: unknown): boolean {
  return wire === undefined || wire === true || wire === masked
}

/**
 * The stored value of a field as a client would send it: secrets are kept. Tables are not converted, because their rows are checked
 * against the stored ones.
 */
export function asSent(field: Field<unknown>, stored: unknown): unknown {
  if (field.type === 'secret') return stored ? masked : stored
  if (!field.members || !isRecord(stored)) return stored
  const { members } = field
  return Object.fromEntries(
    Object.entries(stored).map(([name, value]) => [name, members[name] ? asSent(members[name], value) : value]),
  )
}

/**
 * A member that the service does not use yet: only its default can be set, since any other value would have no effect. A value that
 * an earlier release stored is still shown, and may be sent back with its document.
 */
export function waiting<Value>(field: Field<Value>, reason: string): Field<Value> {
  return {
    ...field,
    more: { ...field.more, refused: reason },
    check(wire, path, stored) {
      const kept = field.check(wire, path, stored)
      if (isDeepStrictEqual(kept, field.default) || isDeepStrictEqual(kept, stored)) return kept
      throw badRequest(`${path} has no effect yet: ${reason}`, { path, reason })
    },
  }
}

interface FormOptions<M extends Members> {
  /**
   * The addresses to which the secrets of the form are sent. A stored secret is not kept for an address that it was not given for;
   * otherwise a caller could enter an own server and receive the secret.
   */
  sentTo?: (values: ValuesOf<M>) => readonly Secret[]
}

/** Named members, all of them always present. */
export function form<const M extends Members>(members: M, { sentTo }: FormOptions<M> = {}): Field<ValuesOf<M>> {
  const entries = Object.entries(members)
  const read = (wire: unknown): ValuesOf<M> =>
    mapped(entries, ([name, member]) => member.read(effective(member, wire, name))) as ValuesOf<M>
  return {
    type: 'form',
    default: mapped(entries, ([, member]) => member.default),
    more: { parameters: describeMembers(members) },
    members,
    check: (wire, path, stored) => {
      const given = objectOf(wire, path)
      for (const name of Object.keys(given)) {
        if (!Object.hasOwn(members, name))
          throw badRequest(`${path}/${name} does not exist`, { path: `${path}/${name}` })
      }
      const before = isRecord(stored) ? stored : {}
      const kept: Record<string, unknown> = {}
      for (const [name, member] of entries) {
        const value = checkMember(member, given[name], `${path}/${name}`, before[name])
        if (value !== undefined) kept[name] = value
      }
      const known = new Set(sentTo?.(read(before)))
      if (sentTo?.(read(kept)).some((address) => !known.has(address))) assertNoneKept(members, given, before, path)
      return kept
    },
    read,
    show: (wire) => mapped(entries, ([name, member]) => member.show(effective(member, wire, name))),
  }
}

/** @throws {AppError} with the path of the first secret that would be kept. */
function assertNoneKept(members: Members, given: unknown, stored: unknown, path: string): void {
  for (const [name, member] of Object.entries(members)) {
    const [wire, before] = [given, stored].map((one) => (isRecord(one) ? one[name] : undefined))
    if (member.members) assertNoneKept(member.members, wire, before, `${path}/${name}`)
    else if (member.type === 'secret' && before && keepsSecret(wire)) {
      throw wrong(`${path}/${name}`, 'the secret itself: what is stored was given for another address')
    }
  }
}

/** Absent and `null` mean "the default", which is not stored. For secrets, their own check decides. */
function checkMember(member: Field<unknown>, wire: unknown, path: string, stored: unknown): unknown {
  if (member.type === 'secret') return member.check(wire, path, stored) || undefined
  if (member.members && (wire === undefined || wire === null)) return member.check({}, path, stored)
  if (member.required && (wire === undefined || wire === null)) throw wrong(path, 'given')
  return wire === undefined || wire === null ? undefined : member.check(wire, path, stored)
}

function effective(member: Field<unknown>, wire: unknown, name: string): unknown {
  const given = isRecord(wire) && Object.hasOwn(wire, name) ? wire[name] : undefined
  return given === undefined || given === null ? member.default : given
}

interface TableOptions<M extends Members> {
  default?: readonly unknown[]
  /** Member whose value must be unique among the rows. It also identifies the row whose secrets are kept. */
  key?: string
  required?: boolean
  maxRows?: number
  /** The same as for forms, for each row. */
  sentTo?: FormOptions<M>['sentTo']
}

/** Any number of rows of the same members. */
export function table<const M extends Members>(
  members: M,
  { default: fallback = [], key, required = false, maxRows = 1000, sentTo }: TableOptions<M> = {},
): Field<readonly ValuesOf<M>[]> {
  const row = form(members, sentTo ? { sentTo } : {})
  const rowsOf = (wire: unknown): unknown[] => (Array.isArray(wire) ? wire : [])
  return {
    type: 'table',
    default: fallback,
    more: { fields: Object.values(describeMembers(members)) },
    row,
    check: (wire, path, stored) => {
      if (!Array.isArray(wire)) throw wrong(path, 'a list')
      if (wire.length > maxRows) throw wrong(path, `a list of at most ${maxRows} rows`)
      if (required && wire.length === 0) throw wrong(path, 'a list of at least one row')
      const before = new Map(rowsOf(stored).map((old) => [key && isRecord(old) ? old[key] : undefined, old]))
      const rows = wire.map((item, index) => {
        const old = key !== undefined && isRecord(item) ? before.get(item[key]) : undefined
        return row.check(item, `${path}/${index}`, old) as Record<string, unknown>
      })
      if (key !== undefined) assertUnique(rows, key, path)
      return rows
    },
    read: (wire) => rowsOf(wire).map((item) => row.read(item)),
    show: (wire) => rowsOf(wire).map((item) => row.show(item)),
  }
}

function assertUnique(rows: readonly Record<string, unknown>[], key: string, path: string): void {
  const seen = new Set<unknown>()
  rows.forEach((row, index) => {
    const value = row[key]
    if (value === undefined || value === '') throw wrong(`${path}/${index}/${key}`, 'given')
    if (seen.has(value)) throw wrong(`${path}/${index}/${key}`, `unique: ${String(value)} stands there twice`)
    seen.add(value)
  })
}

/** Description of members for forms (`GET /config/list`). */
export function describeMembers(members: Members): Record<string, Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(members).map(([name, field], position) => [
      name,
      { name, position, type: field.type, default: field.show(field.default), ...field.more },
    ]),
  )
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function objectOf(wire: unknown, path: string): Record<string, unknown> {
  if (!isRecord(wire)) throw wrong(path, 'an object')
  return wire
}

function mapped<T>(
  entries: readonly [string, Field<unknown>][],
  of: (entry: [string, Field<unknown>]) => T,
): Record<string, T> {
  return Object.fromEntries(entries.map((entry) => [entry[0], of(entry)]))
}
