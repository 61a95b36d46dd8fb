import { Pool } from 'undici'

export interface Load {
  readonly perSecond: number
  /** Milliseconds. */
  readonly median: number
  readonly p95: number
  /** The same for each kind of request. */
  readonly kinds: ReadonlyMap<string, Omit<Load, 'kinds'>>
}

export interface Request {
  method?: 'GET' | 'POST' | 'PATCH'
  /** The kind of work, in a load of several kinds. */
  kind?: string
  path: string
  body?: string
  headers?: Record<string, string>
}

export interface LoadOptions {
  origin: string
  connections: number
  seconds: number
  request: () => Request
  /** Whether to send another request; absent: as long as there is time. */
  more?: () => boolean
  /** Checks the body of each answer; throws when it is not the expected one. */
  check?: (body: Buffer) => void
}

/**
 * Sends requests over `connections` connections; each waits for its answer. The load and the service run in different
 * processes. Any answer but 200 ends the bench.
 */
export async function load({
  origin,
  connections,
  seconds,
  request,
  more = () => true,
  check,
}: LoadOptions): Promise<Load> {
  const pool = new Pool(origin, { connections, pipelining: 1 })
  const times: number[] = []
  const ofKinds = new Map<string, number[]>()
  const started = performance.now()
  const end = started + seconds * 1000
  const worker = async (): Promise<void> => {
    while (performance.now() < end && more()) {
      const { method = 'GET', path, body, headers, kind } = request()
      const sent = performance.now()
      const answer = await pool.request({ method, path, body: body ?? null, headers: headers ?? {} })
      const bytes = Buffer.from(await answer.body.arrayBuffer())
      const time = performance.now() - sent
      times.push(time)
      if (kind !== undefined) timesOf(ofKinds, kind).push(time)
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
  const figures = (list: readonly number[]) => ({ perSecond: list.length / elapsed, ...quantiles(list) })
  return { ...figures(times), kinds: new Map([...ofKinds].map(([kind, list]) => [kind, figures(list)])) }
}

function timesOf(kinds: Map<string, number[]>, kind: string): number[] {
  const known = kinds.get(kind) ?? []
  kinds.set(kind, known)
  return known
}

function quantiles(times: readonly number[]): { median: number; p95: number } {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
  return { median: at(0.5), p95: at(0.95) }
}

/** The middle one of an odd number of figures. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}
