/**
 * Ranges of numbers and dates by the sort keys of documents. A narrow range is found by lexemes. For a wide one, when documents are
 * read in another order, the key is stored with the document, while the lexemes must be fetched.
 */

import type { SearchField } from '../../../plan/fields.ts'
import type { Clause } from '../../../plan/plan.ts'
import { datePart, numberKey } from '../../document/sort-keys.ts'
import { type KeySlot, keySql } from '../../slots.ts'
import type { PostgresPlan } from '../access/postgres-plan.ts'
import { type DocumentSql, documentSql } from '../sql/of-document.ts'
import type { Parameters } from '../sql/sql.ts'

/**
 * Values with a last part of at least `atLeast` and a first part of at most `atMost`, as numbers of 64 bits in the order of the
 * values. Numbers have one part, which is both; dates have their first and their last second.
 */
export interface KeyRange {
  readonly field: SearchField
  readonly place: KeySlot
  readonly atLeast: bigint | null
  readonly atMost: bigint | null
}

export type RangeClause = Extract<Clause, { is: 'numbers' | 'dates' }>

export const isRange = (clause: Clause): clause is RangeClause => clause.is === 'numbers' || clause.is === 'dates'

/** null: the key cannot answer it, or not for every object of the searched types. */
export function keyRange(
  clause: RangeClause,
  slots: PostgresPlan['slots'],
  searched: readonly number[] | null,
): KeyRange | null {
  const { field } = clause
  const place = slots.sortKey(field)
  const isOnlyType = searched?.length === 1 && searched[0] === field.column.table.root.id
  if (field.part || field.path.length > 0 || place === undefined || !isOnlyType) return null
  const range = clause.is === 'numbers' ? numberParts(clause) : dateParts(clause)
  return [range.atLeast, range.atMost].every((part) => part === null || BigInt.asUintN(64, part) === part)
    ? { field, place, ...range }
    : null
}

type Parts = Pick<KeyRange, 'atLeast' | 'atMost'>

function numberParts({ from, to }: Extract<RangeClause, { is: 'numbers' }>): Parts {
  const part = (value: number): bigint => numberKey(value).readBigUInt64BE()
  return {
    atLeast: from && part(from.value) + (from.inclusive ? 0n : 1n),
    atMost: to && part(to.value) - (to.inclusive ? 0n : 1n),
  }
}

function dateParts({ range: { from, to } }: Extract<RangeClause, { is: 'dates' }>): Parts {
  return { atLeast: from === null ? null : datePart(from), atMost: to === null ? null : datePart(to) }
}

/** First and last part of the key of a field. */
export function partsSql(field: SearchField, key: string): { first: string; last: string } {
  if (field.kind === 'number') return { first: key, last: key }
  return { first: `substring(${key} from 1 for 8)`, last: `substring(${key} from 9)` }
}

export function keyRangeSql(
  { field, place, atLeast, atMost }: KeyRange,
  alias: string,
  parameters: Parameters,
): DocumentSql {
  const key = keySql(place, alias)
  const { first, last } = partsSql(field, key)
  const bound = (part: bigint): string => parameters.add(bytesOf(part), 'bytea')
  const parts: string[] = []
  if (atLeast !== null) parts.push(`${last} >= ${bound(atLeast)}`)
  if (atMost !== null) parts.push(`${first} <= ${bound(atMost)}`)
  return documentSql(parts.length === 0 ? `${key} is not null` : `(${parts.join(' and ')})`)
}

function bytesOf(part: bigint): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64BE(part)
  return bytes
}
