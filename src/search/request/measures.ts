/** Measuring aggregations: numbers by term, years and months of dates, cells and bounds of geometries. */
import { AppError } from '../../platform/errors.ts'
import { longestHash } from '../geo/geohash.ts'
import type { Measure, TextChoice } from '../plan/measures.ts'
import type { ElementContext } from './clauses.ts'
import { boxAt, geoField } from './geo.ts'
import { type Named, notAllowed } from './names.ts'
import { resolveOwn } from './paths.ts'
import { type Fields, languageAt, optional, wrong } from './read.ts'

export const measureTypes = ['term_stats', 'geo_bounds', 'geohash_grid', 'geotile_grid'] as const
export type MeasureType = (typeof measureTypes)[number]

const deepestTile = 29

export function measureOf(
  type: MeasureType,
  entry: Fields,
  field: string,
  place: string,
  context: ElementContext,
): Measure {
  if (type === 'term_stats') return statsOf(entry, field, place, context)
  const geo = geoField(field, context)
  if (type === 'geo_bounds') return { kind: 'bounds', field: geo }
  const [least, usual, most] = type === 'geohash_grid' ? [1, 5, longestHash] : [0, 7, deepestTile]
  const precision = optional(entry, 'precision', 'integer', place) ?? usual
  if (precision < least || precision > most) throw wrong(`${place}.precision`, `an integer from ${least} to ${most}`)
  const bounds = entry.bounds === undefined || entry.bounds === null ? [] : boxAt(entry.bounds, `${place}.bounds`)
  return { kind: 'grid', field: geo, grid: type === 'geohash_grid' ? 'geohash' : 'tile', precision, bounds }
}

const termKinds = ['text', 'string', 'l10n', 'number', 'boolean', 'date', 'custom']

function statsOf(entry: Fields, field: string, place: string, { fields }: ElementContext): Measure {
  const name = optional(entry, 'value_field', 'string', place)
  if (!name) throw wrong(`${place}.value_field`, 'the name of a field of numbers')
  const term = resolveOwn(fields, field, 'aggregations')
  const value = resolveOwn(fields, name, 'value_field')
  if (term.kind !== 'field' || term.field.part || !termKinds.includes(term.field.kind)) {
    throw new AppError('UnsupportedInAggregation', { name: place, type: 'term_stats', field })
  }
  if (value.kind !== 'field' || value.field.part || value.field.kind !== 'number') throw notAllowed(name, 'value_field')
  if (value.field.column.table.root !== term.field.column.table.root) {
    throw wrong(`${place}.value_field`, 'a field of the object type that has the terms')
  }
  const text = textChoice(term, languageAt(entry, place))
  return { kind: 'stats', field: term.field, value: value.field, ...(text && { text }) }
}

/**
 * The texts of a localized column that are counted: those in the language in its name, or in `language`, where an object without
 * one counts by another text. `undefined`: the usual ones, or the column is not localized.
 */
export function textChoice(
  { field, language: named }: Extract<Named, { kind: 'field' }>,
  language: string | undefined,
): TextChoice | undefined {
  if (field.kind !== 'l10n') return undefined
  if (named !== null) return { language: named, others: false }
  return language === undefined ? undefined : { language, others: true }
}

/** `artwork.date.range_year`; null: the field is of another kind. */
export function periodsOf(field: string, place: string, { fields }: ElementContext): Measure | null {
  if (!/\.range_(?:year|month)$/.test(field)) return null
  const named = resolveOwn(fields, field, 'aggregations')
  if (named.kind !== 'period') throw notAllowed(field, 'aggregations')
  // Data of files, and rows of nested tables, may have several dates.
  if (named.field.part || named.field.path.length > 0) {
    throw new AppError('UnsupportedInAggregation', { name: place, type: 'term', field })
  }
  return { kind: 'periods', field: named.field, unit: named.unit }
}
