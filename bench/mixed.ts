import type { Context } from './context.ts'
import { load, type Request } from './load.ts'
import { residentMemory } from './process.ts'
import { atMost, figureOnly, type Row } from './report.ts'
import { facetSearch, type SearchAnswer } from './search.ts'
import { titleWords } from './words.ts'

const connections = 4
const page = 1000

/**
 * A typical load: half of the requests read an artwork in `long`, 30 % search for a word with facets and a sort, 20 %
 * change the medium of an artwork, each drawn from the whole collection.
 */
export async function measureMixed(context: Context, minutes: number): Promise<Row[]> {
  const ids = await allArtworks(context)
  const word = await titleWords(context.source)
  const headers = await context.headers()
  const any = (): number => ids[Math.floor(Math.random() * ids.length)] as number
  let changes = 0
  const kinds: readonly (readonly [share: number, request: () => Request])[] = [
    [
      0.5,
      () => ({
        kind: 'reads',
        path: `/api/v1/db/artwork/artwork/system_object_id/${any()}?format=long`,
        headers,
      }),
    ],
    [
      0.3,
      () => ({
        kind: 'searches',
        method: 'POST',
        path: '/api/v1/search',
        headers,
        body: JSON.stringify({ ...facetSearch(word()), format: 'standard' }),
      }),
    ],
    [
      0.2,
      () => ({
        kind: 'saves',
        method: 'PATCH',
        path: '/api/v1/db/artwork?format=short',
        headers,
        body: JSON.stringify([
          {
            _objecttype: 'artwork',
            _mask: 'artwork',
            _system_object_id: any(),
            artwork: { medium: `Oil paint on canvas, ${changes++}` },
          },
        ]),
      }),
    ],
  ]
  const request = (): Request => {
    let draw = Math.random()
    const chosen = kinds.find(([share]) => {
      draw -= share
      return draw < 0
    })
    return (chosen ?? kinds[0])?.[1]() as Request
  }
  const { url: origin, pid } = context.service
  await load({ origin, connections, seconds: 10, request })
  const found = await load({ origin, connections, seconds: 60 * minutes, request })
  const { reads, searches, saves } = Object.fromEntries(found.kinds)
  return [
    atMost(`mixed load, ${minutes} min, 4 connections: searches, p95`, 60, searches?.p95 ?? Number.NaN, 'ms'),
    figureOnly('  median', searches?.median ?? Number.NaN, 'ms'),
    figureOnly('  reads, median', reads?.median ?? Number.NaN, 'ms'),
    figureOnly('  reads, p95', reads?.p95 ?? Number.NaN, 'ms'),
    figureOnly('  saves, median', saves?.median ?? Number.NaN, 'ms'),
    figureOnly('  saves, p95', saves?.p95 ?? Number.NaN, 'ms'),
    figureOnly('  requests', found.perSecond, '/s'),
    atMost('  memory of the service at its end (RSS)', 400, await residentMemory(pid), 'MB'),
  ]
}

async function allArtworks({ client }: Context): Promise<number[]> {
  const ids: number[] = []
  let after: unknown[] | undefined
  for (;;) {
    const { objects } = await client.post<SearchAnswer>('/search', {
      objecttypes: ['artwork'],
      sort: [{ field: '_system_object_id' }],
      format: 'short',
      limit: page,
      ...(after ? { search_after: after } : {}),
    })
    ids.push(...objects.map((object) => object._system_object_id))
    if (objects.length < page) return ids
    after = objects.at(-1)?._sort
  }
}
