import { setTimeout as sleep } from 'node:timers/promises'

/** Milliseconds after which an unanswered call makes its receiver a slow one. */
const slowAfter = 1000
const look = 20

export type Receivers = ReturnType<typeof createReceivers>

/** The calls that run here, by receiver: a slow receiver has at most half of the places, so that others get their calls. */
export function createReceivers(places: number) {
  const share = Math.max(1, Math.floor(places / 2))
  const running = new Map<string, Set<{ readonly since: number }>>()

  return {
    /**
     * Takes a place for a call; the returned function releases it. Null: the receiver is slow and has its share, so that the call
     * should be repeated later. For a quick receiver this waits for a place of its share.
     */
    async enter(receiver: string, signal: AbortSignal): Promise<(() => void) | null> {
      const calls = running.get(receiver) ?? new Set()
      running.set(receiver, calls)
      while (calls.size >= share) {
        const [oldest] = calls
        if (signal.aborted || (oldest && performance.now() - oldest.since >= slowAfter)) return null
        await sleep(look)
      }
      // The entry may have been removed while this call waited.
      running.set(receiver, calls)
      const call = { since: performance.now() }
      calls.add(call)
      return () => {
        calls.delete(call)
        if (calls.size === 0) running.delete(receiver)
      }
    },
  }
}
