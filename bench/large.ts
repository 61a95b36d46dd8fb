import { importTate } from '../src/import/tate/import.ts'
import { silentProgress } from '../src/platform/process/progress.ts'
import { type Context, openContext, temporaryFolder } from './context.ts'
import type { Load } from './load.ts'
import { measureMemory } from './memory.ts'
import { multiply } from './multiply.ts'
import { atMost, exactly, figureOnly, type Row } from './report.ts'
import { facetSearch, freshFacetSearch, type SearchAnswer, searchLoad, textSearch } from './search.ts'
import { titleWords } from './words.ts'

/** The collection several times over with changed ids, in a separate service; 15 times is more than a million. */
export async function measureLarge(source: string, copies: number, say: (line: string) => void): Promise<Row[]> {
  const folder = await temporaryFolder()
  try {
    await multiply(source, folder.path, copies)
    const context = await openContext(folder.path, say)
    try {
      return await measure(context, source, copies)
    } finally {
      await context.close()
    }
  } finally {
    await folder.remove()
  }
}

async function measure(context: Context, source: string, copies: number): Promise<Row[]> {
  const { client } = context
  const { created, seconds, rebuiltSeconds } = await importTate({
    client,
    folder: context.source,
    progress: silentProgress,
  })
  const objects = Object.values(created).reduce((sum, count) => sum + count, 0)
  context.say(`imported ${objects} objects in ${seconds.toFixed(0)} s`)
  const word = await titleWords(source)
  const body = () => facetSearch(word())
  await searchLoad(context, { connections: 4, seconds: 10, body })
  const facets = await searchLoad(context, { connections: 4, seconds: 30, body })
  const fresh = await searchLoad(context, { connections: 4, seconds: 20, body: () => freshFacetSearch(word()) })
  const deep = await deepPages(context, created.artwork ?? 0)
  return [
    figureOnly(`large: import until searchable (${objects} objects)`, objects / seconds, 'objects/s'),
    figureOnly('  time of the import', seconds, 's'),
    figureOnly('  until the search indexes are built', rebuiltSeconds, 's'),
    atMost('large: search with two facets, 4 connections, median', 100, facets.median, 'ms'),
    atMost('large: the same, p95', 400, facets.p95, 'ms'),
    figureOnly('  without cached results, median', fresh.median, 'ms'),
    figureOnly('  without cached results, p95', fresh.p95, 'ms'),
    ...(await exactCounts(context, word, copies)),
    atMost('large: a page deep in the result, p95', 50, deep.p95, 'ms'),
    figureOnly('  median', deep.median, 'ms'),
    ...(await measureMemory(context)).map((row) => ({ ...row, path: `large: ${row.path}` })),
  ]
}

/** Each artwork exists `copies` times, so each total is the same multiple of one copy's. */
async function exactCounts({ client }: Context, word: () => string, copies: number): Promise<Row[]> {
  let wrong = 0
  for (let round = 0; round < 20; round++) {
    const text = word()
    const all = await client.post<SearchAnswer>('/search', { ...textSearch(text), limit: 1 })
    const first = await client.post<SearchAnswer>('/search', {
      ...textSearch(text),
      search: [
        { type: 'match', mode: 'fulltext', string: text },
        { type: 'range', field: 'artwork.tate_id', to: 9_999_999 },
      ],
      limit: 1,
    })
    if (all.count !== first.count * copies) wrong++
  }
  return [exactly('large: totals that are not exact', 0, wrong, 'of 20')]
}

/** Pages that begin after a hit in the middle, as a client requests them that reads on from its last page. */
async function deepPages({ client, ...context }: Context, artworks: number): Promise<Load> {
  const request = {
    objecttypes: ['artwork'],
    search: [],
    sort: [{ field: 'artwork.title', order: 'asc' }],
    format: 'short',
  }
  const places: unknown[][] = []
  for (let tenth = 1; tenth < 10; tenth++) {
    const offset = Math.floor((artworks * tenth) / 10)
    const { objects } = await client.post<SearchAnswer>('/search', { ...request, offset, limit: 1000 })
    places.push(...objects.map((object) => object._sort ?? []))
  }
  const after = () => ({ ...request, limit: 20, search_after: places[Math.floor(Math.random() * places.length)] })
  // Of 9,000 positions, hardly one is requested twice, so that cached results do not count.
  await searchLoad({ client, ...context }, { connections: 1, seconds: 2, body: after })
  return searchLoad({ client, ...context }, { connections: 1, seconds: 10, body: after })
}
