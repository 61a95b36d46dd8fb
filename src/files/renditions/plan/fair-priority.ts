/** Half-life, in milliseconds, of the number of files that a user has queued. */
const halfLife = 600_000
/** Number of files up to which a user is not put back. */
const few = 16
/** Users below this level are forgotten: a hundredth of a file does not count. */
const nothing = 0.01
const priorities = 4

export type FairPriority = ReturnType<typeof createFairPriority>

/**
 * Counts how much each user has queued of late. All users share one queue: the files of a user who has uploaded a hundred
 * thousand come behind the single file that another user uploads after them. Twice as many files are one step back; a
 * step is as wide as the priorities of all renditions of one file.
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
    /** Counts one more file of a user. Answers how far it is put back, to be added to its priority. */
    add(who: string): number {
      const before = levelOf(who)
      if (before < nothing) forget()
      levels.set(who, { level: before + 1, at: now() })
      return priorities * Math.floor(Math.log2(1 + before / few))
    },
  }
}
