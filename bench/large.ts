import { access, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { importTate } from '../src/import/tate/import.ts'
import { silentProgress } from '../src/platform/process/progress.ts'
import { type Context, type DataFolder, keptFolder, openContext, temporaryFolder } from './context.ts'
import type { Load } from './load.ts'
import { measureMemory } from './memory.ts'
import { multiply } from './multiply.ts'
import { atMost, exactly, figureOnly, type Row } from './report.ts'
import { facetSearch, freshFacetSearch, type SearchAnswer, searchLoad, textSearch } from './search.ts'
import { measureTyping } from './suggest.ts'
import { titleWords } from './words.ts'

/** What is measured on. */
export interface LargeOptions {
  /** 15 copies of the collection are more than a million objects. */
  readonly copies: number
  /** Folder in which the data stays, for a later run without an import; null: it is removed. */
  readonly keep: string | null
  readonly say: (line: string) => void
}

/** The collection several times over with changed ids, in a separate service. */
export async function measureLarge(source: string, { copies, keep, say }: LargeOptions): Promise<Row[]> {
  const data = keep === null ? await temporaryFolder() : await keptFolder(keep)
  const copied = await temporaryFolder()
  try {
    const known = await access(importedFile(data)).then(
      () => true,
      () => false,
    )
    if (!known) await multiply(source, copied.path, copies)
    const context = await openContext(copied.path, say, {}, data)
    try {
      const imported = known ? [] : await importAll(context)
      await writeFile(importedFile(data), '')
      return [...imported, ...(await measure(context, source, copies))]
    } finally {
      await context.close()
    }
  } finally {
    await copied.remove()
    await data.remove()
  }
}

/** It is there once all objects are imported. */
const importedFile = ({ path }: DataFolder): string => join(path, 'bench-imported')

async function importAll({ client, source, say }: Context): Promise<Row[]> {
  const { created, seconds, rebuiltSeconds } = await importTate({ client, folder: source, progress: silentProgress })
  const objects = Object.values(created).reduce((sum, count) => sum + count, 0)
  say(`imported ${objects} objects in ${seconds.toFixed(0)} s`)
  return [
    figureOnly(`large: import until searchable (${objects} objects)`, objects / seconds, 'objects/s'),
    figureOnly('  time of the import', seconds, 's'),
    figureOnly('  until the search indexes are built', rebuiltSeconds, 's'),
  ]
}

/** What a server that has run for a while has in its memory, as far as searches read it. */
const searched = [
  'search_document',
  'search_document_pkey',
  'search_document_lexemes_idx',
  'search_term',
  'search_term_pkey',
  'search_term_length_idx',
  'search_term_trigram_idx',
  'object',
  'object_pkey',
]

/** Reads it into the memory of PostgreSQL, which has been started a moment ago where the data is that of an earlier run. */
async function warmPostgres({ dsn }: Context): Promise<void> {
  const db = new pg.Client({ connectionString: dsn })
  await db.connect()
  try {
    await db.query('create extension if not exists pg_prewarm')
    await db.query('select pg_prewarm(name::regclass) from unnest($1::text[]) as t(name)', [searched])
  } finally {
    await db.end()
  }
}

async function measure(context: Context, source: string, copies: number): Promise<Row[]> {
  await warmPostgres(context)
  const word = await titleWords(source)
  const body = () => facetSearch(word())
  await searchLoad(context, { connections: 4, seconds: 10, body })
  const facets = await searchLoad(context, { connections: 4, seconds: 30, body })
  const fresh = await searchLoad(context, { connections: 4, seconds: 20, body: () => freshFacetSearch(word()) })
  const deep = await deepPages(context)
  return [
    atMost('large: search with two facets, 4 connections, median', 100, facets.median, 'ms'),
    atMost('large: the same, p95', 400, facets.p95, 'ms'),
    figureOnly('  without cached results, median', fresh.median, 'ms'),
    figureOnly('  without cached results, p95', fresh.p95, 'ms'),
    ...(await exactCounts(context, word, copies)),
    atMost('large: a page deep in the result, p95', 50, deep.p95, 'ms'),
    figureOnly('  median', deep.median, 'ms'),
    ...(await measureTyping(context, source, 'large: ')),
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
async function deepPages({ client, ...context }: Context): Promise<Load> {
  const request = {
    objecttypes: ['artwork'],
    search: [],
    sort: [{ field: 'artwork.title', order: 'asc' }],
    format: 'short',
  }
  const { count: artworks } = await client.post<SearchAnswer>('/search', { ...request, limit: 0 })
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
