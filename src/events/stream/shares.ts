import { AppError } from '../../platform/errors.ts'
import { quotaExceeded } from '../../platform/limits/callers.ts'
import type { Listener } from './listener.ts'

export interface StreamSharesOptions {
  /** Streams at a time. */
  readonly most: number
  /** Streams of one caller. */
  readonly mostOfCaller: number
}

type Holder = Pick<Listener, 'who' | 'end'>

/** Seconds after which a place may be free. */
const comeBackAfter = 30

/**
 * Who has how many streams. A caller has at most a share; and when all places are taken, whoever has most of them gives
 * their latest one to somebody who has fewer. So everybody finds a place as long as there are more places than callers.
 */
export function createStreamShares({ most, mostOfCaller }: StreamSharesOptions) {
  const streams = new Map<string, Set<Holder>>()
  let taken = 0

  /** What is to end for one more stream of this caller; null: nothing. @throws {AppError} when there is no room. */
  function roomFor(who: string): Holder | null {
    const own = streams.get(who)?.size ?? 0
    if (own >= mostOfCaller) throw quotaExceeded('svc.quotas.streams', mostOfCaller, comeBackAfter)
    if (taken < most) return null
    const [first] = streams.values()
    let largest = first
    for (const each of streams.values()) if (each.size > (largest?.size ?? 0)) largest = each
    // Else the two would take the place from each other for ever.
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

    /** False: there is no room by now. */
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
