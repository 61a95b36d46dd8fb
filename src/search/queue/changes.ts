/**
 * What the indexer has found changed lately. A save computes how its object is shown from what it links to. When such a
 * target changes before the save is committed, and is indexed before that too, the indexer does not see the link yet, so
 * it cannot queue the object for the sake of the target. It is made up for when the object itself comes: whoever was
 * saved since before a change of what it links to is looked at once more.
 */

/** Milliseconds that the clocks of processes on one database may differ. */
const skew = 1000
/** Then all are given up, and saves since before that are looked at whatever they link to. */
const mostChanges = 100_000

export interface Changes {
  /** Somebody else has indexed: what changed until now is not known. */
  forget(): void
  /** Others show something else of these objects now. */
  note(ids: readonly number[]): void
  /** Tells which link targets may have changed since the beginning of a save (in milliseconds); null: none at all. */
  since(saved: number): ((target: number) => boolean) | null
}

export function createChanges(now: () => number): Changes {
  const changedAt = new Map<number, number>()
  let last = Number.NEGATIVE_INFINITY
  let unknownUntil = Number.NEGATIVE_INFINITY

  function forget(): void {
    changedAt.clear()
    unknownUntil = now()
  }

  return {
    forget,
    note(ids) {
      last = now()
      for (const id of ids) changedAt.set(id, last)
      if (changedAt.size > mostChanges) forget()
    },
    since(saved) {
      const begun = saved - skew
      if (begun <= unknownUntil) return () => true
      return begun <= last ? (target) => begun <= (changedAt.get(target) ?? Number.NEGATIVE_INFINITY) : null
    },
  }
}
