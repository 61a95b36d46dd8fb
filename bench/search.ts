import type { Context } from './context.ts'
import { type Load, load } from './load.ts'
import { atMost, figureOnly, type Row } from './report.ts'
import { titleWords } from './words.ts'

export interface SearchAnswer {
  count: number
  objects: { _system_object_id: number; _sort?: unknown[] }[]
  aggregations?: Record<string, unknown>
}

/** A word of a title, the total, and the first page by an ICU sort key. */
export function textSearch(word: string): Record<string, unknown> {
  return {
    objecttypes: ['artwork'],
    search: [{ type: 'match', mode: 'fulltext', string: word }],
    sort: [{ field: 'artwork.title', order: 'asc' }],
    limit: 20,
    format: 'short',
  }
}

/** The same with two facets: the kinds of works, and their artists. */
export function facetSearch(word: string): Record<string, unknown> {
  return {
    ...textSearch(word),
    aggregations: {
      classification: { type: 'term', field: 'artwork.classification', limit: 10 },
      artist: {
        type: 'linked_object',
        field: 'artwork._nested:artwork__contributor.artist',
        objecttype: 'artist',
        limit: 10,
      },
    },
  }
}

let times = 0

/** The same with a condition that all objects fulfil and no other search has: no cached result of the service answers it. */
export function freshFacetSearch(word: string): Record<string, unknown> {
  const { search, ...rest } = facetSearch(word) as { search: object[] }
  return {
    ...rest,
    search: [...search, { type: 'in', bool: 'must_not', fields: ['_system_object_id'], in: [1_000_000_000 + times++] }],
  }
}

export async function searchLoad(
  { service, headers }: Context,
  options: { connections: number; seconds: number; body: () => object },
): Promise<Load> {
  const sent = await headers()
  return load({
    origin: service.url,
    connections: options.connections,
    seconds: options.seconds,
    request: () => ({ method: 'POST', path: '/api/v1/search', body: JSON.stringify(options.body()), headers: sent }),
  })
}

/** Searches on the collection as imported. */
export async function measureSearch(context: Context): Promise<Row[]> {
  const word = await titleWords(context.source)
  const run = async (connections: number, body: (word: string) => object): Promise<Load> => {
    await searchLoad(context, { connections, seconds: 2, body: () => body(word()) })
    return searchLoad(context, { connections, seconds: 6, body: () => body(word()) })
  }
  const text = await run(16, textSearch)
  const facets = await run(4, facetSearch)
  const fresh = await run(4, freshFacetSearch)
  return [
    atMost('search text, total, page by title, 16 connections, p95', 40, text.p95, 'ms'),
    figureOnly('  median', text.median, 'ms'),
    figureOnly('  throughput', text.perSecond, '/s'),
    atMost('search with two facets, 4 connections, p95', 60, facets.p95, 'ms'),
    figureOnly('  median', facets.median, 'ms'),
    figureOnly('  throughput', facets.perSecond, '/s'),
    figureOnly('  without cached results, p95', fresh.p95, 'ms'),
    figureOnly('  without cached results, median', fresh.median, 'ms'),
  ]
}
