import { AppError } from '../../platform/errors.ts'
import { quotaExceeded } from '../../platform/limits/callers.ts'
import type { Listener } from './listener.ts'

export interface StreamSharesOptions {
  /** The highest number of open streams. */
  readonly most: number
  /** The highest number of streams of one caller. */
  readonly mostOfCaller: number
}

type Holder = Pick<Listener, 'who' | 'end'>

/** Seconds after which a place may be free. */
const comeBackAfter = 30

/**
 * Counts the streams of each caller. A caller has at most its share. When all places are taken, the caller with the most streams
 * loses its latest one to a caller that has fewer. So every caller gets a place as long as there are more places than callers.
 */
export function createStreamShares({ most, mostOfCaller }: StreamSharesOptions) {
  const streams = new Map<string, Set<Holder>>()
  let taken = 0

  /** The stream to end for a new one of this caller; null: none. @throws {AppError} when there is no room. */
  function roomFor(who: string): Holder | null {
    const own = streams.get(who)?.size ?? 0
    if (own >= mostOfCaller) throw quotaExceeded('svc.quotas.streams', mostOfCaller, comeBackAfter)
    if (taken < most) return null
    const [first] = streams.values()
    let largest = first
    for (const each of streams.values()) if (each.size > (largest?.size ?? 0)) largest = each
    // Otherwise the two callers would take the place from each other forever.
    if (!largest || largest.size <= own + 1) throw new AppError('ServiceUnavailable', { reason: 'too many streams' })
    return [...largest].at(-1) ?? null
  }

  function remove(stream: Holder): void {
    const own = streams.get(stream.who)
    if (!own?.delete(stream)) return
    taken--
    if (own.size === 0) streams.delete(stream.who)
  }

  return {
    roomFor,

    /** Returns false if there is no room any more. */
    add(stream: Holder): boolean {
      try {
        const former = roomFor(stream.who)
        if (former) {
          remove(former)
          former.end('TooManyStreams')
        }
      } catch {
        return false
      }
      const own = streams.get(stream.who) ?? new Set()
      streams.set(stream.who, own.add(stream))
      taken++
      return true
    },

    remove,
  }
}
