import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { whenClosed } from '../limits/when-closed.ts'

/** What people of this process wait for: work of the background looks here, and gives way. */
export interface Foreground {
  /** Counts a request that somebody waits for until it is answered or its client has gone. */
  enter(response: ServerResponse): void
  /** Somebody waits, or has waited a moment ago and may come back. */
  isBusy(): boolean
  /** Resolves when nobody waits, and in any case after so many milliseconds: who gives way must come to an end, too. */
  quiet(longest: number): Promise<void>
}

/** Milliseconds after which somebody whose request was answered does not come back at once. */
const moment = 1000

export function createForeground(now: () => number = () => performance.now()): Foreground {
  let open = 0
  let answeredAt = Number.NEGATIVE_INFINITY
  let waiting: (() => void)[] = []
  return {
    enter(response) {
      open++
      whenClosed(response, () => {
        open--
        answeredAt = now()
        if (open > 0) return
        const woken = waiting
        waiting = []
        for (const wake of woken) wake()
      })
    },
    isBusy: () => open > 0 || now() - answeredAt < moment,
    async quiet(longest) {
      if (open === 0) return
      const late = new AbortController()
      const none = new Promise<void>((resolve) => waiting.push(resolve))
      await Promise.race([none, sleep(longest, undefined, { signal: late.signal }).catch(() => {})])
      late.abort()
    },
  }
}
