import type { Context } from './context.ts'
import { load } from './load.ts'
import { figureOnly, type Row } from './report.ts'

const page = 100

/** The cost of one object in a page of a hundred: reading, rendering and sending, by format. */
export async function measureRendering({ service, headers }: Context): Promise<Row[]> {
  const { authorization = '' } = await headers()
  const rows: Row[] = []
  for (const query of [
    'format=short',
    'format=standard',
    'format=long',
    'format=full',
    'format=full&merge_linked_objects=all&merge_max_depth=2',
  ]) {
    const request = () => ({
      path: `/api/v1/db/artwork/artwork/list?limit=${page}&offset=${Math.floor(Math.random() * 300)}&${query}`,
      headers: { authorization },
    })
    await load({ origin: service.url, connections: 1, seconds: 1, request })
    const { median } = await load({ origin: service.url, connections: 1, seconds: 2, request })
    rows.push(figureOnly(`one object of ${page}, ${query}`, (median * 1000) / page, 'µs'))
  }
  return rows
}
