/** The dictionary of words for wildcards: collects the words of a batch. Words are added permanently, outside any transaction. */
import type { Queryable } from '../../../platform/postgres/db.ts'
import { numbersText } from '../../../platform/postgres/literals.ts'
import type { TermSink } from '../document/draft.ts'

/**
 * Beyond this number all are forgotten. The words of one batch are then sent again although they exist already (as with
 * facet-sets.ts).
 */
const mostKnown = 60_000

export interface Terms extends TermSink {
  /** Writes the collected words. */
  flush(db: Queryable): Promise<void>
  /** Forgets everything, because the database was replaced by another one. */
  forget(): void
}

export function createTerms(): Terms {
  /** Words that are in the dictionary already. Tokens, which rarely recur, are not kept. */
  const known = new Set<string>()
  let words = new Set<string>()
  let tokens = new Map<number, Set<string>>()
  return {
    word(word) {
      if (!known.has(word)) words.add(word)
    },
    forget: () => known.clear(),
    token(columnId, token) {
      const ofColumn = tokens.get(columnId)
      if (ofColumn) ofColumn.add(token)
      else tokens.set(columnId, new Set([token]))
    },
    async flush(db) {
      const collected = [[0, words] as const, ...tokens]
      const fields = collected.flatMap(([field, terms]) => Array<number>(terms.size).fill(field))
      const terms = collected.flatMap(([, ofField]) => [...ofField])
      const fresh = words
      words = new Set()
      tokens = new Map()
      if (terms.length === 0) return
      await db.query(
        'insert into search_term (field, term) select * from unnest($1::int[], $2::text[]) on conflict do nothing',
        [numbersText(fields), terms],
        'search-terms-add',
      )
      if (known.size > mostKnown) known.clear()
      for (const word of fresh) known.add(word)
    },
  }
}
