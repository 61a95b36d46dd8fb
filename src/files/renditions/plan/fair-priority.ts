/** Milliseconds in which half of what somebody has queued is forgotten. */
const halfLife = 600_000
/** Files that nobody is put back for. */
const few = 16
/** Callers that are remembered; what is a hundredth of a file is nothing. */
const nothing = 0.01
const priorities = 4

export type FairPriority = ReturnType<typeof createFairPriority>

/**
 * Who has queued how much of late: the queue is the same for all, so the files of whoever has put in a hundred thousand
 * stand behind the single one that somebody else brings after them. Twice as many are one step behind, which is as much
 * as all renditions of one file lie apart.
 */
export function createFairPriority(now: () => number = Date.now) {
  const levels = new Map<string, { level: number; at: number }>()

  function levelOf(who: string): number {
    const known = levels.get(who)
    return known ? known.level * 2 ** ((known.at - now()) / halfLife) : 0
  }

  function forget(): void {
    for (const who of levels.keys()) if (levelOf(who) < nothing) levels.delete(who)
  }

  return {
    /** One more file of somebody: how far it stands behind, to be added to its priority. */
    add(who: string): number {
      const before = levelOf(who)
      if (before < nothing) forget()
      levels.set(who, { level: before + 1, at: now() })
      return priorities * Math.floor(Math.log2(1 + before / few))
    },
  }
}
