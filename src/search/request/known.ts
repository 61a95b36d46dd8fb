/**
 * Names of a search request. Clients send keys of their own, which are ignored and reported. Two kinds of names are refused
 * instead: an unknown name that is close to a known one is a misspelling, and a known name where it has no effect was meant
 * otherwise. Otherwise `{"serch": []}` would find everything (decision 87).
 */

import { badRequest } from '../../platform/errors.ts'
import { nearestName } from '../../platform/values/nearest.ts'
import { isRecord } from '../../platform/values/records.ts'
import { SearchRequest } from '../schema.ts'
import { deepest, type Fields } from './read.ts'

type Names = ReadonlySet<string>

const names = (...list: string[]): Names => new Set(list)

const requestNames: Names = new Set(Object.keys(SearchRequest.properties))

/** The members of a search within an `in` element. */
const subsearchNames = names('objecttypes', 'search', 'field', 'timezone')

const bounds = ['from', 'to', 'from_equals', 'to_equals']
const someFields = ['field', 'fields']
const textNames = names(...someFields, 'string', 'mode', 'query', 'phrase', 'languages')

/** The members of elements of each type, beside the members that all elements have. */
const elementNames: Readonly<Record<string, Names>> = {
  text: textNames,
  match: textNames,
  in: names(...someFields, 'in', 'objecttype', 'include_path', 'subsearch'),
  range: names('field', ...bounds),
  changelog_range: names('field', ...bounds, 'operation', 'comment', 'user'),
  complex: names('search'),
  nested: names('path', 'search'),
  similar: names(...someFields, '_id', 'bits'),
  geo_bounding_box: names(...someFields, 'geo_bounding_box'),
  geo_shape: names(...someFields, 'geo_shape'),
}
const ofAllElements = names('type', 'bool', 'boost')
const anyElement: Names = new Set([...ofAllElements, ...Object.values(elementNames).flatMap((set) => [...set])])

const fieldNames: Names = new Set(Object.keys(SearchRequest.properties.fields.items.properties))
const sortNames: Names = new Set(Object.keys(SearchRequest.properties.sort.items.properties))

const pointNames: Names = names('id', 'keep_alive')

const facetNames = ['limit', 'offset', 'sort', 'order', 'include', 'language']
const gridNames = ['limit', 'offset', 'sort', 'order', 'precision', 'bounds']
const aggregationNames: Readonly<Record<string, Names>> = {
  term: names(...facetNames),
  linked_object: names(...facetNames, 'filter_parent', 'format'),
  term_stats: names(...facetNames, 'value_field'),
  range: names('ranges'),
  date_range: names('ranges'),
  geo_bounds: names(),
  geohash_grid: names(...gridNames),
  geotile_grid: names(...gridNames),
}
const ofAllAggregations = names('type', 'field', 'objecttype')
const anyAggregation = names(...ofAllAggregations, ...Object.values(aggregationNames).flatMap((set) => [...set]))

/**
 * Places of unknown names, which have no effect.
 * @throws {AppError} naming the place, and the name that was meant.
 */
export function ignoredNames(request: Fields): readonly string[] {
  const ignored: string[] = []
  const assertNames = (record: Fields, read: Names, known: Names, place: string): void => {
    for (const name of unknownNames(record, read, known, place)) {
      if (ignored.length === mostIgnored) throw notKnown(name)
      ignored.push(name)
    }
  }
  assertNames(request, requestNames, requestNames, '')
  eachRecord(request.search, 'search', (element, place) => assertElement(element, place, 0))
  eachRecord(request.fields, 'fields', (entry, place) => assertNames(entry, fieldNames, fieldNames, place))
  eachRecord(request.sort, 'sort', (key, place) => assertNames(key, sortNames, sortNames, place))
  if (isRecord(request.point_in_time)) assertNames(request.point_in_time, pointNames, pointNames, 'point_in_time')
  if (!isRecord(request.aggregations)) return ignored
  for (const [name, entry] of Object.entries(request.aggregations)) {
    if (!isRecord(entry)) continue
    const place = `aggregations.${name}`
    assertNames(entry, readBy(aggregationNames, entry.type, ofAllAggregations, anyAggregation), anyAggregation, place)
    eachRecord(entry.ranges, `${place}.ranges`, (range, at) => assertNames(range, rangeNames, rangeNames, at))
  }
  return ignored

  function assertElement(element: Fields, place: string, depth: number): void {
    // Deeper elements are refused by the code that reads them.
    if (depth > deepest) return
    assertNames(element, readBy(elementNames, element.type, ofAllElements, anyElement), anyElement, place)
    eachRecord(element.search, `${place}.search`, (inner, at) => assertElement(inner, at, depth + 1))
    if (!isRecord(element.subsearch)) return
    const at = `${place}.subsearch`
    assertNames(element.subsearch, subsearchNames, requestNames, at)
    eachRecord(element.subsearch.search, `${at}.search`, (inner, where) => assertElement(inner, where, depth + 1))
  }
}

/** The same for other requests than searches, by their known names. @throws {AppError} with the path. */
export function ignoredIn(request: Fields, known: ReadonlySet<string>): readonly string[] {
  const ignored: string[] = []
  for (const name of unknownNames(request, known, known, '')) {
    if (ignored.length === mostIgnored) throw notKnown(name)
    ignored.push(name)
  }
  return ignored
}

const rangeNames = names('from', 'to')

/** Names that a type reads. Other code refuses an unknown type. */
function readBy(byType: Readonly<Record<string, Names>>, type: unknown, common: Names, any: Names): Names {
  const own = typeof type === 'string' && Object.hasOwn(byType, type) ? byType[type] : undefined
  return own ? new Set([...common, ...own]) : any
}

function* unknownNames(record: Fields, read: Names, known: Names, place: string): Generator<string> {
  for (const name in record) {
    if (read.has(name)) continue
    const at = (place === '' ? name : `${place}.${name}`).slice(0, 300)
    if (known.has(name)) {
      if (saysSomething(record[name])) throw badRequest(`${at} would have no effect here.`, { name: at })
      continue
    }
    const nearest = nearestName(name, [...read, ...known], Math.min(mostWrongLetters, name.length - 1))
    if (nearest !== null) throw notKnown(at, nearest)
    yield at
  }
}

/** An unknown name that differs from a known one by at most this number of letters counts as misspelled. */
const mostWrongLetters = 2

/** Each unknown name is compared with all known ones. A request with more of them is refused. */
const mostIgnored = 200

/** Many clients send every name with an empty value. */
export function saysSomething(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0
  return value !== null && value !== undefined && value !== '' && value !== false
}

/** The error for an unknown name; `nearest` is the known name that was probably meant. */
export function notKnown(place: string, nearest: string | null = null) {
  return badRequest(`${place} is not known in a search${nearest === null ? '' : `; did you mean ${nearest}?`}`, {
    name: place,
    ...(nearest === null ? {} : { nearest }),
  })
}

function eachRecord(list: unknown, place: string, check: (record: Fields, place: string) => void): void {
  if (!Array.isArray(list)) return
  for (const [index, entry] of list.entries()) if (isRecord(entry)) check(entry, `${place}[${index}]`)
}
