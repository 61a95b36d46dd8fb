import type { Queryable } from '../../../platform/postgres/db.ts'
import type { PendingSearch } from '../query/results/cached-results.ts'
import type { Statement, StatementForm } from '../query/statements/statements.ts'
import type { ObjectTable } from './column.ts'
import type { Since } from './since.ts'

/** A search about to be run. */
export interface BitmapSearch extends Omit<PendingSearch, 'start'> {
  readonly start: (form?: StatementForm) => Statement
  readonly plain: Queryable
  /** For statements through links. */
  readonly lexical: Queryable
  /** Whether there is an index in the order of the page. */
  readonly isIndexed: boolean
}

/** Matches in memory, and the changes since. */
export interface Matched {
  readonly table: ObjectTable
  readonly bits: Uint32Array
  readonly since: Since
}
