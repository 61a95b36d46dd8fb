import { Pool } from 'undici'

export interface Load {
  readonly perSecond: number
  /** Milliseconds. */
  readonly median: number
  readonly p95: number
}

export interface Request {
  method?: 'GET' | 'POST'
  path: string
  body?: string
  headers?: Record<string, string>
}

export interface LoadOptions {
  origin: string
  connections: number
  seconds: number
  request: () => Request
  /** Looks at each answer's body; throws when it is not what was asked for. */
  check?: (body: Buffer) => void
}

/**
 * Sends requests over `connections` that each wait for their answer. The process that runs this is not the one that
 * serves. Any answer but 200 ends the bench.
 */
export async function load({ origin, connections, seconds, request, check }: LoadOptions): Promise<Load> {
  const pool = new Pool(origin, { connections, pipelining: 1 })
  const times: number[] = []
  const started = performance.now()
  const end = started + seconds * 1000
  const worker = async (): Promise<void> => {
    while (performance.now() < end) {
      const { method = 'GET', path, body, headers } = request()
      const sent = performance.now()
      const answer = await pool.request({ method, path, body: body ?? null, headers: headers ?? {} })
      const bytes = Buffer.from(await answer.body.arrayBuffer())
      times.push(performance.now() - sent)
      if (answer.statusCode !== 200) {
        throw new Error(`${method} ${path} was answered ${answer.statusCode}: ${bytes.toString().slice(0, 500)}`)
      }
      check?.(bytes)
    }
  }
  try {
    await Promise.all(Array.from({ length: connections }, worker))
  } finally {
    await pool.close()
  }
  const elapsed = (performance.now() - started) / 1000
  times.sort((a, b) => a - b)
  const at = (share: number): number =>
    times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? Number.NaN
  return { perSecond: times.length / elapsed, median: at(0.5), p95: at(0.95) }
}

/** The middle one of an odd number of figures. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}
