import type { Db } from '../../../platform/postgres/db.ts'
import * as store from './store.ts'

/** Milliseconds between two notes of how far something is. */
const noteEvery = 2000

/** Notes now and then how far renditions of a file are, for those that take long. */
export function createProgress(db: Db, fileId: number) {
  const parts = new Map<string, number>()
  let writing = Promise.resolve()
  let notedAt = performance.now()

  function note(name: string, part: number): void {
    parts.set(name, part)
    if (performance.now() - notedAt < noteEvery) return
    notedAt = performance.now()
    const percents = new Map([...parts].map(([one, share]) => [one, Math.min(99, Math.floor(100 * share))]))
    // Whoever looks on misses a number at worst.
    writing = writing.then(() => store.noteProgress(db, fileId, percents)).catch(() => {})
  }

  return {
    note,
    /** When nothing more is on its way: what is written afterwards is the last word. */
    settled: (): Promise<void> => writing,
    [Symbol.asyncDispose]: (): Promise<void> => writing,
  }
}
