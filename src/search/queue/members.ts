/**
 * The indexed members of values of plugins' types. They are put beside the stored values, under the keys of the placeholder
 * columns.
 */
import type { MemberType } from '../../datamodel/service.ts'
import { parseDate } from '../../platform/values/dates.ts'
import { asDoubles, readExact } from '../../platform/values/exact-json.ts'
import type { IndexSource } from '../document/source.ts'
import { rectanglesOf } from '../geo/rectangles.ts'
import type { FieldCatalogue, NestedFields, SearchField } from '../plan/fields.ts'
import { longestIndexed } from '../plan/file-fields.ts'

type Row = Readonly<Record<string, unknown>>

/** The highest number of indexed values of one member, if it is a list. */
const mostValues = 1000

/** The sources with the indexed members of their values. */
export function withMembers(fields: FieldCatalogue, sources: readonly IndexSource[]): readonly IndexSource[] {
  return sources.map((source) => {
    const type = fields.types.get(source.objecttype)
    if (!type?.all.some(({ part }) => part?.member)) return source
    const content = filled(type.fields, type.nested, source.content)
    return content === source.content ? source : { ...source, content }
  })
}

function filled(own: readonly SearchField[], nested: readonly NestedFields[], row: Row): Row {
  const more: Record<string, unknown> = {}
  for (const { column, part } of own) {
    if (!part?.member) continue
    const values = membersOf(row[part.of.key], part.member)
    if (values.length > 0) more[column.key] = values
  }
  for (const inner of nested) {
    const rows = (row[inner.table.key] as readonly Row[] | undefined) ?? []
    const next = rows.map((each) => filled(inner.fields, inner.nested, each))
    if (next.some((each, index) => each !== rows[index])) more[inner.table.key] = next
  }
  return Object.keys(more).length === 0 ? row : { ...row, ...more }
}

/** The values of a member in the form of a column of its type. Values of another kind are left out. */
function membersOf(stored: unknown, { name, type }: { readonly name: string; readonly type: MemberType }): unknown[] {
  if (stored === undefined) return []
  const value = asDoubles(readExact(stored)) as Row
  const member = Object.hasOwn(value, name) ? value[name] : undefined
  const list = Array.isArray(member) ? member.slice(0, mostValues) : [member]
  return list.map(converters[type]).filter((each) => each !== undefined)
}

function text(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' && value !== '' ? value.slice(0, longestIndexed).toWellFormed() : undefined
}

function localized(value: unknown): Row | undefined {
  // A plain text is a text without a language.
  if (typeof value === 'string') return value === '' ? undefined : { und: text(value) }
  if (typeof value !== 'object' || value === null) return undefined
  const texts = Object.entries(value).flatMap(([language, each]) => {
    const found = typeof each === 'string' ? text(each) : undefined
    return found === undefined ? [] : [[language, found] as const]
  })
  return texts.length === 0 ? undefined : Object.fromEntries(texts)
}

const number = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) ? value : undefined

function date(value: unknown): { readonly value: string } | undefined {
  const written = typeof value === 'object' && value !== null && 'value' in value ? value.value : value
  return typeof written === 'string' && parseDate(written) ? { value: written } : undefined
}

function geometry(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return undefined
  try {
    return rectanglesOf(value).length > 0 ? value : undefined
  } catch {
    return undefined
  }
}

const converters: Readonly<Record<MemberType, (value: unknown) => unknown>> = {
  text,
  text_oneline: text,
  string: text,
  text_l10n: localized,
  text_l10n_oneline: localized,
  number,
  'integer.2': number,
  double: number,
  boolean: (value) => (typeof value === 'boolean' ? value : undefined),
  date,
  datetime: date,
  geo_json: geometry,
}
