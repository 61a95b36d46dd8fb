/**
 * How documents are built depends on our code, on the version of ICU (sort keys) and on the data languages. When one of them has
 * changed, all objects are indexed anew. While one release is replaced by another, processes of both may share a database. Then
 * only the newer release indexes, as long as it runs. If both did, each would rebuild the documents of the other.
 */
import { isPresent } from '../../platform/postgres/bus.ts'
import type { Queryable } from '../../platform/postgres/db.ts'
import { inIndexTransaction } from './transaction.ts'

/** Milliseconds for which a newer process may be invisible while its connection is being replaced. */
const longestAbsence = 6000

/** The name under which a process announces itself to the others. */
export const presenceOf = (builder: string): string => `index ${builder}`

export type Claim =
  /** Documents are built as before, or from now on in the way of this process (`queued`: then all were queued). */
  | { readonly kind: 'ours'; readonly queued: boolean }
  /** A newer process indexes. Or it has just disappeared, which is certain after `again` milliseconds. */
  | { readonly kind: 'theirs'; readonly again: number | null }

export function createAnalysis(builder: string, now: () => number) {
  let absentSince: number | null = null

  return {
    /** To be called by a process that has become the indexer, before it indexes; `queueAll` is called in a transaction. */
    async claim(db: Queryable, languages: readonly string[], queueAll: () => Promise<void>): Promise<Claim> {
      const { rows } = await db.query<{ analysis: string | null }>(
        'select analysis from search_state',
        [],
        'search-analysis',
      )
      const before = rows[0]?.analysis ?? null
      const ours = `${builder} ${languages}`
      if (before === ours) return { kind: 'ours', queued: false }
      const other = before?.split(' ', 2).join(' ')
      if (other !== undefined && isNewer(other, builder)) {
        if (await isPresent(db, presenceOf(other))) {
          absentSince = null
          return { kind: 'theirs', again: null }
        }
        absentSince ??= now()
        const left = absentSince + longestAbsence - now()
        if (left > 0) return { kind: 'theirs', again: left }
      }
      absentSince = null
      await inIndexTransaction(db, async () => {
        await db.query('update search_state set analysis = $1', [ours])
        if (before !== null) await queueAll()
      })
      return { kind: 'ours', queued: before !== null }
    },
  }
}

/** Compares number by number: `1 78.2` is newer than `1 77.10`. */
function isNewer(one: string, other: string): boolean {
  const [a, b] = [one, other].map((text) => text.split(/[ .]/).map(Number))
  for (let place = 0; place < Math.max(a?.length ?? 0, b?.length ?? 0); place++) {
    const difference = (a?.[place] || 0) - (b?.[place] || 0)
    if (difference !== 0) return difference > 0
  }
  return false
}
