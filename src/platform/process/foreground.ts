import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { whenClosed } from '../limits/when-closed.ts'

/** Requests of this process with a waiting user: background work checks it, and gives way. */
export interface Foreground {
  /** Counts a request until it is answered or its client has gone. */
  enter(response: ServerResponse): void
  /** A request is open, or one was answered a moment ago and its user may send the next. */
  isBusy(): boolean
  /** Resolves when no request is open, at the latest after so many milliseconds: background work must come to an end, too. */
  quiet(longest: number): Promise<void>
}

/** Milliseconds after an answer in which the same user often sends the next request. */
const moment = 1000

export function createForeground(now: () => number = () => performance.now()): Foreground {
  let open = 0
  let answeredAt = Number.NEGATIVE_INFINITY
  let waiting = new Set<() => void>()
  return {
    enter(response) {
      open++
      whenClosed(response, () => {
        open--
        answeredAt = now()
        if (open > 0) return
        const woken = waiting
        waiting = new Set()
        for (const wake of woken) wake()
      })
    },
    isBusy: () => open > 0 || now() - answeredAt < moment,
    async quiet(longest) {
      if (open === 0) return
      const late = new AbortController()
      const none = Promise.withResolvers<void>()
      waiting.add(none.resolve)
      await Promise.race([none.promise, sleep(longest, undefined, { signal: late.signal }).catch(() => {})])
      late.abort()
      waiting.delete(none.resolve)
    },
  }
}
