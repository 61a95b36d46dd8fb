export interface BeatRow {
  /** All transactions before this one have ended. */
  readonly upTo: string
  /** Messages of transactions since the last look; a place in `recent` says which of them are looked at again. */
  readonly ids: readonly number[]
  readonly recent: readonly boolean[]
  /** Seconds since 1970, as the server counts. */
  readonly now: number
}

/** Seconds between two looks after which messages may be removed already that nobody has looked for. */
const longestGap = 120

/**
 * Compares the messages that have come with those that were sent. One that has not come may still be on its way at the first
 * look that finds it, at the second one it is lost.
 */
export function createDelivery() {
  /** Messages that have come, or that need not come any more, and after which look they did. */
  let heard = new Map<number, number>()
  let missing: number[] = []
  let looks = 0
  let seenUpTo: string | null = null
  let lookedAt = 0

  return {
    /** From where the next look goes on. */
    get seenUpTo(): string | null {
      return seenUpTo
    },

    /** What was sent before is known otherwise. */
    begin(row: BeatRow): void {
      heard = new Map(row.ids.map((id) => [id, looks]))
      missing = []
      seenUpTo = row.upTo
      lookedAt = row.now
    },

    /** This message has come. */
    heard(id: number): void {
      heard.set(id, looks)
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

  /** Those that no look will find again: of transactions that ended before this one. */
  function forget(row: BeatRow): void {
    const again = new Set(row.ids.filter((_, index) => row.recent[index]))
    for (const [id, look] of heard) if (look < looks && !again.has(id)) heard.delete(id)
    looks++
  }
}
