/** Columns that several kinds of searches ask for. */
import { hash } from 'node:crypto'
import type { AccessSetCondition } from '../query/access/access-sets.ts'
import { isOfDocument, type Sql } from '../query/sql/of-document.ts'
import type { ColumnRequest } from './bitmap-store.ts'
import { type MatchColumn, type NumberColumn, newBits } from './column.ts'
import { readNumbers } from './read.ts'

export interface Access {
  /** Equal where all is the same. */
  readonly key: string
  readonly known: AccessSetCondition
}

export const accessOf = (known: AccessSetCondition): Access => ({ key: `access ${keyOf(known)}`, known })

/** The key of a condition. It contains the highest number of the sets: the result for sets up to that number never changes. */
function keyOf(known: AccessSetCondition): string {
  if (known.is === 'member') return `member ${hash('sha256', known.member.objects.toJSON(), 'base64')}`
  if (known.is === 'not') return `not ${keyOf(known.of)}`
  if (known.is !== 'sets') return `(${known.of.map(keyOf).join(` ${known.is} `)})`
  return `${known.key} ${known.sets.upTo}`
}

/** Whether the SQL depends on a document alone, and has no parameters. */
export const isColumn = (sql: Sql): boolean => isOfDocument(sql) && !sql.text.includes('{{')

/** A column that is read at once when a search asks for it. */
export const atOnce = { usual: 1, large: 1 }

export const numbersOf = (sql: string): ColumnRequest<NumberColumn> => ({
  key: `numbers ${sql}`,
  times: atOnce,
  read: (db, table) => readNumbers(db, table, sql),
})

/** The ranks of keys among all objects of the type. Equal keys have the same rank, and objects without a key have none. */
export const ranksOf = (key: string): ColumnRequest<NumberColumn> =>
  numbersOf(`case when ${key} is not null then (dense_rank() over (order by ${key}))::int end`)

/** No more than the objects themselves. */
export const objectsAlone: ColumnRequest<MatchColumn> = {
  key: 'objects',
  times: atOnce,
  read: async (_, { ids }) => ({ kind: 'matches', bits: newBits(ids.length) }),
}
