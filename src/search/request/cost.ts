/** The cost of a search, counted in the request as it was sent, before any of it is compiled. */
import { AppError } from '../../platform/errors.ts'
import { words } from '../document/analyze.ts'
import type { Fields } from './read.ts'

/** The counted units, with the highest number of each in one request. */
export const searchLimits = {
  /** Elements at all levels, including those of searches within the search. */
  elements: 1000,
  /** Values of `in` and words, counted once for each field in which they are looked for. */
  terms: 20_000,
  /** Words with wildcards, each of which may match many words. */
  patterns: 100,
  /** Searches within the search. */
  subsearches: 10,
  /** How deep searches within the search may be nested. */
  subsearch_depth: 3,
  /** Steps through links to fields of other objects, counted once for each word that is looked for there. */
  links: 100,
  /** Elements that search for similar pictures. */
  pictures: 10,
  /** The total number of values that all aggregations may return (`limit`). */
  aggregated_values: 20_000,
  /** Ranges of all aggregations together. */
  ranges: 200,
} as const

type Counted = keyof typeof searchLimits

export type SearchCost = Readonly<Record<Exclude<Counted, 'links'>, number>>

/** A search is heavy from these numbers on, whatever its real cost turns out to be. */
const heavyFrom: Partial<SearchCost> = {
  elements: 100,
  terms: 5000,
  patterns: 20,
  subsearches: 3,
  aggregated_values: 3000,
  ranges: 50,
}

export function isHeavy(cost: SearchCost): boolean {
  return Object.entries(heavyFrom).some(([name, from]) => cost[name as keyof SearchCost] >= from)
}

/** @throws {AppError} `SearchTooCostly` with the name of the exceeded limit. */
export function costOf(request: Fields): SearchCost {
  const cost = {
    elements: 0,
    terms: 0,
    patterns: 0,
    subsearches: 0,
    subsearch_depth: 0,
    pictures: 0,
    aggregated_values: 0,
    ranges: 0,
  }
  const add = (name: keyof SearchCost, count: number): void => {
    cost[name] += count
    if (cost[name] > searchLimits[name]) throw tooCostly(name)
  }
  const elements = (list: unknown, depth: number): void => {
    for (const element of listOf(list)) {
      add('elements', 1)
      if (isFields(element)) one(element, depth)
    }
  }
  const one = (element: Fields, depth: number): void => {
    const fields = Math.max(1, listOf(element.fields).length)
    add('terms', fields * listOf(element.in).length)
    if (element.type === 'similar') add('pictures', 1)
    if (typeof element.string === 'string')
      text(element.string, element.mode === 'wildcard' || element.mode === 'exact', fields)
    elements(element.search, depth)
    if (!isFields(element.subsearch)) return
    add('subsearches', 1)
    cost.subsearch_depth = Math.max(cost.subsearch_depth, depth + 1)
    if (cost.subsearch_depth > searchLimits.subsearch_depth) throw tooCostly('subsearch_depth')
    elements(element.subsearch.search, depth + 1)
  }
  const text = (string: string, wildcard: boolean, fields: number): void => {
    // Longer texts are refused anyway, by their own limit.
    const short = string.slice(0, 10_000)
    add('terms', fields * words(short).length)
    if (wildcard) add('patterns', short.split(/\s+/).filter((word) => /[*?]/.test(word)).length)
  }
  elements(request.search, 0)
  for (const aggregation of isFields(request.aggregations) ? Object.values(request.aggregations) : []) {
    if (!isFields(aggregation)) continue
    const { limit } = aggregation
    add('ranges', listOf(aggregation.ranges).length)
    add('aggregated_values', typeof limit === 'number' && limit > 0 ? Math.min(limit, Number.MAX_SAFE_INTEGER) : 10)
  }
  return cost
}

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

export function tooCostly(name: Counted): AppError {
  const most = searchLimits[name]
  return new AppError(
    'SearchTooCostly',
    { name, most },
    { message: `The search has too many ${name.replaceAll('_', ' ')}: at most ${most}.` },
  )
}
