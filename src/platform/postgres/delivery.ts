export interface BeatRow {
  /** All transactions before this one have ended. */
  readonly upTo: string
  /** Messages of transactions since the last look; the same index in `recent` tells whether the next look will return it again. */
  readonly ids: readonly number[]
  readonly recent: readonly boolean[]
  /** Seconds since 1970, as the server counts. */
  readonly now: number
}

interface Waiting {
  /** The messages that have not been received. */
  readonly ids: Set<number>
  readonly resolve: (all: boolean) => void
}

/** Seconds between two looks after which messages may have been removed before a look found them. */
const longestGap = 120

/**
 * Compares the received messages with the sent ones. A message that is missing at one look may still be on its way; if it is still
 * missing at the next look, it is lost.
 */
export function createDelivery() {
  /** Messages that were received, or that are no longer needed, with the number of the look after which this happened. */
  let heard = new Map<number, number>()
  let missing: number[] = []
  let looks = 0
  const waiting = new Set<Waiting>()
  let seenUpTo: string | null = null
  let lookedAt = 0

  return {
    /** The start of the next look. */
    get seenUpTo(): string | null {
      return seenUpTo
    },

    /** Earlier messages need not be received. */
    begin(row: BeatRow): void {
      heard = new Map(row.ids.map((id) => [id, looks]))
      missing = []
      seenUpTo = row.upTo
      lookedAt = row.now
    },

    /** This message was received. */
    heard(id: number): void {
      heard.set(id, looks)
      for (const { ids, resolve } of waiting) if (ids.delete(id) && ids.size === 0) resolve(true)
    },

    /** Waits until all of these messages were received; false: they take longer than that many milliseconds. */
    async arrival(ids: readonly number[], longest: number): Promise<boolean> {
      const left = new Set(ids.filter((id) => !heard.has(id)))
      if (left.size === 0) return true
      const { promise, resolve } = Promise.withResolvers<boolean>()
      const one = { ids: left, resolve }
      waiting.add(one)
      const timer = setTimeout(resolve, longest, false)
      try {
        return await promise
      } finally {
        clearTimeout(timer)
        waiting.delete(one)
      }
    },

    /** Whether messages were lost. */
    compare(row: BeatRow): boolean {
      const lost = missing.some((id) => !heard.has(id)) || row.now - lookedAt > longestGap
      for (const id of missing) heard.set(id, looks)
      missing = row.ids.filter((id) => !heard.has(id))
      forget(row)
      seenUpTo = row.upTo
      lookedAt = row.now
      return lost
    },
  }

  /** Forgets messages that no later look returns: those of transactions that ended before this one. */
  function forget(row: BeatRow): void {
    const again = new Set(row.ids.filter((_, index) => row.recent[index]))
    for (const [id, look] of heard) if (look < looks && !again.has(id)) heard.delete(id)
    looks++
  }
}
