import type { Column } from '../../datamodel/model.ts'
import { AppError } from '../../platform/errors.ts'
import { parseDate } from '../../platform/values/dates.ts'
import { asDoubles, isExactNumber, isInRange, keepExact } from '../../platform/values/exact-json.ts'
import { composed } from '../../platform/values/text.ts'
import type { FileEntry } from './file-links.ts'

/** Deepest nesting of JSON in a geo or custom value; more is refused before anything recurses into it. */
const maxDepth = 60

/**
 * Wire value of a field to its stored form; `undefined` means that the field has no value (null, empty text, empty map and empty
 * list all do). Links are not values: see link-ref.ts.
 * @throws {AppError} `InvalidValue` naming `place` when the value does not fit the column's type.
 */
export function storedValue(column: Column, value: unknown, place: string): unknown {
  if (value === null || value === undefined) return undefined
  // Numbers of all other types are doubles.
  const given = column.type === 'custom' ? value : asDoubles(value)
  return converters[column.type](given, { column, place })
}

interface Context {
  readonly column: Column
  readonly place: string
}

type Converter = (value: unknown, context: Context) => unknown

const converters: Record<Column['type'], Converter> = {
  text: plainText,
  text_oneline: plainText,
  string: plainText,
  text_l10n: localizedText,
  text_l10n_oneline: localizedText,
  number: integer,
  'integer.2': integer,
  double: double,
  boolean: (value, context) => (typeof value === 'boolean' ? value : fail(context, value, 'true or false')),
  date: date,
  datetime: date,
  daterange: dateRange,
  geo_json: geoJson,
  eas: files,
  link: (value, context) => fail(context, value, 'an object'),
  custom: (value, context) => {
    if (!isRecord(value)) return fail(context, value, 'an object')
    assertStorable(value, context)
    return Object.keys(value).length === 0 ? undefined : keepExact(value)
  },
}

function plainText(value: unknown, context: Context): string | undefined {
  if (typeof value !== 'string') return fail(context, value, 'text')
  assertText(value, context)
  return value === '' ? undefined : value
}

function localizedText(value: unknown, context: Context): Record<string, string> | undefined {
  if (!isRecord(value)) return fail(context, value, 'a map from language to text')
  const result: Record<string, string> = {}
  for (const [language, text] of Object.entries(value)) {
    if (text === null || text === '') continue
    if (typeof text !== 'string') return fail(context, text, `text in language ${printable(language)}`)
    if (!/^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$/.test(language))
      return fail(context, language, 'a language such as en-US')
    assertText(text, context)
    result[language] = text
  }
  return Object.keys(result).length === 0 ? undefined : result
}

function integer(value: unknown, context: Context): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) {
    return fail(context, value, 'an integer between -(2^53)+1 and (2^53)-1')
  }
  return value === 0 ? 0 : value
}

function double(value: unknown, context: Context): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) return fail(context, value, 'a finite number')
  return value === 0 ? 0 : value
}

function date(value: unknown, context: Context): { value: string } | undefined {
  if (!isRecord(value)) return fail(context, value, 'an object {"value": "2026-11"}')
  if (value.value === null || value.value === undefined || value.value === '') return undefined
  return { value: dateText(value.value, context) }
}

function dateRange(value: unknown, context: Context): Record<string, unknown> | undefined {
  if (!isRecord(value)) return fail(context, value, 'an object {"from", "to", "text"}')
  const result: Record<string, unknown> = {}
  for (const bound of ['from', 'to'] as const) {
    const given = value[bound]
    if (given !== null && given !== undefined && given !== '') result[bound] = dateText(given, context)
  }
  if (value.text !== null && value.text !== undefined) {
    const text = localizedText(value.text, context)
    if (text) result.text = text
  }
  if (result.from === undefined && result.to === undefined) {
    return result.text === undefined ? undefined : fail(context, value, 'a range with "from" or "to"')
  }
  if (typeof result.from === 'string' && typeof result.to === 'string') {
    const from = parseDate(result.from)
    const to = parseDate(result.to)
    if (from && to && from.from > to.to) return fail(context, value, 'a range whose "from" is not after its "to"')
  }
  return result
}

function dateText(value: unknown, context: Context): string {
  const parsed = typeof value === 'string' ? parseDate(value) : null
  return parsed ? parsed.text : fail(context, value, 'a date such as 2026, 2026-11, 2026-11-21 or 2026-11-21T10:00:00Z')
}

const geometryTypes = new Set([
  'Point',
  'MultiPoint',
  'LineString',
  'MultiLineString',
  'Polygon',
  'MultiPolygon',
  'GeometryCollection',
  'Feature',
  'FeatureCollection',
])

/** RFC 7946: the types, the shape of coordinates and their ranges are checked, properties are free. */
function geoJson(value: unknown, context: Context): Record<string, unknown> | undefined {
  if (!isRecord(value)) return fail(context, value, 'a GeoJSON object')
  if (Object.keys(value).length === 0) return undefined
  assertStorable(value, context)
  assertGeometry(value, context)
  return value
}

function assertGeometry(value: unknown, context: Context): void {
  if (!isRecord(value) || typeof value.type !== 'string' || !geometryTypes.has(value.type)) {
    fail(context, value, 'a GeoJSON object with a known type')
    return
  }
  if (value.type === 'Feature') {
    if (value.geometry !== null) assertGeometry(value.geometry, context)
  } else if (value.type === 'FeatureCollection' || value.type === 'GeometryCollection') {
    const members = value.type === 'FeatureCollection' ? value.features : value.geometries
    if (!Array.isArray(members)) fail(context, value, 'a GeoJSON collection with its list')
    else for (const member of members) assertGeometry(member, context)
  } else {
    assertCoordinates(value.coordinates, coordinateDepth[value.type] ?? 0, context)
  }
}

const coordinateDepth: Record<string, number> = {
  Point: 0,
  MultiPoint: 1,
  LineString: 1,
  MultiLineString: 2,
  Polygon: 2,
  MultiPolygon: 3,
}

function assertCoordinates(value: unknown, depth: number, context: Context): void {
  if (!Array.isArray(value)) {
    fail(context, value, 'GeoJSON coordinates')
    return
  }
  if (depth > 0) {
    for (const member of value) assertCoordinates(member, depth - 1, context)
    return
  }
  const [longitude, latitude] = value as unknown[]
  const numbers =
    value.length >= 2 && value.length <= 3 && value.every((n) => typeof n === 'number' && Number.isFinite(n))
  if (!numbers || Math.abs(longitude as number) > 180 || Math.abs(latitude as number) > 90) {
    fail(context, value, 'a position [longitude, latitude, altitude?]')
  }
}

/**
 * References to stored files: `[{"_id": 5, "preferred": true, "name": "front"}]`, or by `lookup:_id`; at most one is preferred,
 * else the first one is. Other members of a file are allowed and ignored, so a client can send back a file as it was answered.
 */
function files(value: unknown, context: Context): FileEntry[] | undefined {
  if (!Array.isArray(value)) return fail(context, value, 'a list of files')
  const seen = new Set<number | string>()
  const result = value.map((entry): FileEntry => {
    if (!isRecord(entry)) return fail(context, entry, 'a file with its _id')
    const named = namedFile(entry, context)
    const key = named._reference ?? named._id
    if (seen.has(key)) return fail(context, key, 'each file once')
    seen.add(key)
    return {
      ...named,
      preferred: entry.preferred === true,
      ...(isAbsent(entry.name) ? {} : { name: fileName(entry.name, context) }),
      ...(isAbsent(entry.frontend_prefs) ? {} : { frontend_prefs: preferences(entry.frontend_prefs, context) }),
    }
  })
  if (result.filter((file) => file.preferred).length > 1) return fail(context, value, 'at most one preferred file')
  const first = result[0]
  if (first && !result.some((file) => file.preferred)) first.preferred = true
  return result.length === 0 ? undefined : result
}

function namedFile(entry: Record<string, unknown>, context: Context): Pick<FileEntry, '_id' | '_reference'> {
  const { _id: id, 'lookup:_id': lookup } = entry
  if (id === undefined && isRecord(lookup) && typeof lookup.reference === 'string' && lookup.reference !== '') {
    assertText(lookup.reference, context)
    return { _id: 0, _reference: composed(lookup.reference) }
  }
  if (typeof id !== 'number' || !Number.isSafeInteger(id) || id < 1) return fail(context, entry, 'a file with its _id')
  return { _id: id }
}

const isAbsent = (value: unknown): boolean => value === undefined || value === null

function fileName(value: unknown, context: Context): string {
  if (typeof value !== 'string' || value.length > 1000) return fail(context, value, 'a name of at most 1000 characters')
  assertText(value, context)
  return value
}

function preferences(value: unknown, context: Context): Record<string, unknown> {
  if (!isRecord(value)) return fail(context, value, 'frontend_prefs as an object')
  assertStorable(value, context)
  return value
}

function assertText(value: string, context: Context): void {
  if (value.includes('\0')) fail(context, value, 'text without NUL characters')
  if (!value.isWellFormed()) fail(context, value, 'well-formed Unicode')
}

/** Whether any JSON can be stored as jsonb: no NUL, no lone surrogates (keys too), bounded nesting. */
function assertStorable(value: unknown, context: Context, depth = 0): void {
  if (depth > maxDepth) fail(context, '…', `nesting of at most ${maxDepth} levels`)
  if (typeof value === 'string') assertText(value, context)
  else if (typeof value === 'number' ? !Number.isFinite(value) : isExactNumber(value) && !isInRange(value)) {
    fail(context, value, 'a number between 1e-307 and 1e308')
  } else if (Array.isArray(value)) for (const member of value) assertStorable(member, context, depth + 1)
  else if (isRecord(value)) {
    for (const [key, member] of Object.entries(value)) {
      assertText(key, context)
      assertStorable(member, context, depth + 1)
    }
  }
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isExactNumber(value)
}

/** A value for an error message: short, printable, never a whole payload. */
export function printable(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value))
  const clean = text.toWellFormed().replaceAll('\0', '\\0')
  return clean.length > 100 ? `${clean.slice(0, 100)}…` : clean
}

function fail(context: Context, value: unknown, expected: string): never {
  const { column, place } = context
  throw new AppError(
    'InvalidValue',
    { name: place, field: column.fullName, type: column.typeName, value: printable(value), expected },
    { message: `${place}: expected ${expected}` },
  )
}

/** `InvalidValue` for a place of a payload. */
export function invalidValue(place: string, value: unknown, expected: string): AppError {
  return new AppError(
    'InvalidValue',
    { name: place, value: printable(value), expected },
    { message: `${place}: expected ${expected}` },
  )
}

/** A `_uuid` in a form that clients may choose. */
export function isUuid(value: unknown): value is string {
  return typeof value === 'string' && /^[\x21-\x7e]{1,255}$/.test(value)
}
