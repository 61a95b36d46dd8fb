import type { Db } from '../../../platform/postgres/db.ts'
import * as store from './store.ts'

/** Milliseconds between two notes of the progress. */
const noteEvery = 2000

/** Notes now and then the progress of renditions of a file, for those that take long. */
export function createProgress(db: Db, fileId: number) {
  const parts = new Map<string, number>()
  let writing = Promise.resolve()
  let notedAt = performance.now()

  function note(name: string, part: number): void {
    parts.set(name, part)
    if (performance.now() - notedAt < noteEvery) return
    notedAt = performance.now()
    const percents = new Map([...parts].map(([one, share]) => [one, Math.min(99, Math.floor(100 * share))]))
    // If this fails, an observer misses one number.
    writing = writing.then(() => store.noteProgress(db, fileId, percents)).catch(() => {})
  }

  return {
    note,
    /** Resolves when no write is in progress: later writes then come last. */
    settled: (): Promise<void> => writing,
    [Symbol.asyncDispose]: (): Promise<void> => writing,
  }
}
