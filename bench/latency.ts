import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { Pool } from 'undici'
import type { Context } from './context.ts'
import { atMost, type Row } from './report.ts'

/** Number of times that each kind of work is done beside the probe. */
const rounds = 3

interface Work {
  readonly name: string
  readonly method: 'GET' | 'POST'
  readonly path: string
  /** The body for the number of a round. */
  readonly body?: (round: number) => unknown
}

/** Requests most likely to block an event loop: long lists, large answers, facets of many values, long conditions. */
const heavyWork: readonly Work[] = [
  { name: 'a list of 2,000 in full', method: 'GET', path: '/db/artwork/_all_fields/list?format=full&limit=2000' },
  {
    name: 'a search of 1,000, links merged',
    method: 'POST',
    path: '/search',
    body: () => ({
      objecttypes: ['artwork'],
      limit: 1000,
      format: 'long',
      merge_linked_objects: 'all',
      merge_max_depth: 2,
    }),
  },
  {
    name: 'facets of 10,000 values by name',
    method: 'POST',
    path: '/search',
    body: () => ({
      objecttypes: ['artwork'],
      limit: 0,
      aggregations: {
        artist: {
          type: 'linked_object',
          field: 'artwork._nested:artwork__contributor.artist',
          limit: 10_000,
          sort: 'term',
        },
      },
    }),
  },
  {
    name: 'a search for 10,000 ids',
    method: 'POST',
    path: '/search',
    body: () => ({
      search: [
        {
          type: 'in',
          fields: ['artwork._nested:artwork__contributor.artist'],
          in: Array.from({ length: 10_000 }, (_, index) => index + 1),
        },
      ],
      limit: 1000,
      format: 'full',
    }),
  },
  {
    name: 'a save of 10,000',
    method: 'POST',
    path: '/db/movement?format=short',
    body: (round) =>
      Array.from({ length: 10_000 }, (_, index) => ({
        _objecttype: 'movement',
        _mask: 'movement',
        movement: { tate_id: 1_000_000_000 + round * 10_000 + index, name: { 'en-US': `Movement ${index}` } },
      })),
  },
]

/**
 * The longest wait for the event loop beside heavy work: the longest answer time of a probe with an address that does not
 * exist, which involves neither the database nor the sign-in.
 */
export async function measureLatency(context: Context): Promise<Row[]> {
  const pool = new Pool(context.service.url, { connections: 1, headersTimeout: 600_000, bodyTimeout: 600_000 })
  const headers = await context.headers()
  const rows: Row[] = []
  try {
    for (const work of heavyWork) {
      const longest = await longestWait(context.service.url, async () => {
        for (let round = 0; round < rounds; round++) await send(pool, work, headers, round)
      })
      rows.push(atMost(`longest wait of others beside ${work.name}`, 50, longest, 'ms'))
    }
  } finally {
    await pool.close()
  }
  return rows
}

async function send(
  pool: Pool,
  { name, method, path, body }: Work,
  headers: Record<string, string>,
  round: number,
): Promise<void> {
  const text = body === undefined ? null : JSON.stringify(body(round))
  const answer = await pool.request({ method, path: `/api/v1${path}`, headers, body: text })
  let start = ''
  for await (const chunk of answer.body) if (start === '') start = (chunk as Buffer).toString('utf8', 0, 500)
  if (answer.statusCode !== 200) throw new Error(`${name} was answered ${answer.statusCode}: ${start}`)
}

async function longestWait(url: string, work: () => Promise<void>): Promise<number> {
  const probe = new Worker(new URL('./probe.ts', import.meta.url), { workerData: { url } })
  await once(probe, 'message')
  try {
    await work()
  } finally {
    probe.postMessage('stop')
  }
  const [longest] = await once(probe, 'message')
  return longest
}
