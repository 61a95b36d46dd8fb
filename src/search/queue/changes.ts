/**
 * The objects that the indexer has recently found changed. A save computes the standard of its object from the linked objects. When
 * such a target changes before the save is committed, and is also indexed before that, the indexer does not see the link yet, so it
 * cannot queue the object because of the target. This is made up for when the object itself is indexed: if its save began before a
 * change of a link target, its standard is refreshed once more.
 */

/** Milliseconds that the clocks of processes on one database may differ. */
const skew = 1000
/** Beyond this number all are dropped, and older saves are refreshed whatever they link to. */
const mostChanges = 100_000

export interface Changes {
  /** Another process has indexed: the changes until now are not known. */
  forget(): void
  /** Notes objects of which other objects show new data. */
  note(ids: readonly number[]): void
  /** The link targets that may have changed since the beginning of a save (in milliseconds); null: none. */
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
