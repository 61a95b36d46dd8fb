/**
 * An order of matches by what their first links lead to, where the keys of the linked objects are not in memory: PostgreSQL orders
 * these, with the number of matches of each, and the matches are put in their order in memory.
 */
import type { Queryable } from '../../../platform/postgres/db.ts'
import { parseIntegers } from '../query/facets/facet-sets.ts'
import type { Statement } from '../query/statements/statements.ts'
import type { ColumnRequest } from './bitmap-store.ts'
import type { NumberColumn, ObjectTable } from './column.ts'
import type { SideRequest } from './linking-needs.ts'
import { countBits, countNumbers } from './match.ts'
import { type Group, type IdOrder, idsOfPage, type PartOfOrder } from './page-groups.ts'

export interface TargetOrder {
  /** By object: id of its first link target. */
  readonly targets: ColumnRequest<NumberColumn>
  /** The key of a target, as a `select` of the row `x.id` (order/reached-key.ts). */
  readonly keyOf: (statement: Statement) => string
  /** The ranks of the keys of the linked objects; null: their keys depend on more than themselves. */
  readonly ranks: SideRequest | null
  readonly descending: boolean
  readonly ids: IdOrder
}

interface PageOfTargets {
  readonly order: TargetOrder
  readonly statement: Statement
  /** Places in the order of all matches. */
  readonly from: number
  readonly to: number
}

/** The matches from one place in the order to another. null: too many have the same key. */
export async function idsByTargets(
  db: Queryable,
  { table, bits, targets }: { table: ObjectTable; bits: Uint32Array; targets: NumberColumn },
  page: PageOfTargets,
): Promise<PartOfOrder | null> {
  const counts = await countNumbers(bits, targets)
  let linked = 0
  for (const count of counts.values()) linked += count
  counts.set(0, countBits(bits) - linked)
  const { groups, of } = await readGroups(db, counts, page)
  const groupOf = Int32Array.from(targets.numbers, (number) => of.get(number) ?? -1)
  const { from, to, order } = page
  return idsOfPage(bits, table, { from, to, ids: order.ids, groups, keys: targets.placeOf, groupOf })
}

/** The groups with matches between two places, and the index of each linked object's group. Objects without a key come last. */
async function readGroups(
  db: Queryable,
  counts: ReadonlyMap<number, number>,
  { order, statement, from, to }: PageOfTargets,
): Promise<{ readonly groups: readonly Group[]; readonly of: ReadonlyMap<number, number> }> {
  const { parameters } = statement
  const key = order.keyOf(statement)
  const by = `order by key${order.descending ? ' desc nulls last' : ''}`
  const [ids, numbers] = [[...counts.keys()], [...counts.values()]].map((list) => parameters.add(list, 'int[]'))
  const list = (name: string): string => `array_to_string(array_agg(${name} order by rank), ',') as ${name}`
  const { rows } = await db.query<Record<'id' | 'rank' | 'before' | 'alike', string | null>>(
    ...parameters.statement(`select ${['id', 'rank', 'before', 'alike'].map(list).join(', ')} from (
       select id, rank, alike, upto - alike as before, upto from (
         select id, dense_rank() over (${by}) as rank, sum(n) over (${by}) as upto, sum(n) over (partition by key) as alike
         from (select x.id, x.n, k.key from unnest(${ids}, ${numbers}) x(id, n) left join lateral (${key} offset 0) k on true) keyed
       ) ranked
     ) part where before < ${parameters.add(to, 'bigint')} and upto > ${parameters.add(from, 'bigint')}`),
  )
  const [row] = rows
  const ranks = parseIntegers(row?.rank ?? null)
  const before = parseIntegers(row?.before ?? null)
  const alike = parseIntegers(row?.alike ?? null)
  const of = new Map<number, number>()
  const groups: Group[] = []
  for (const [index, id] of parseIntegers(row?.id ?? null).entries()) {
    if (index === 0 || ranks[index] !== ranks[index - 1]) {
      groups.push({ before: before[index] as number, count: alike[index] as number })
    }
    of.set(id, groups.length - 1)
  }
  return { groups, of }
}
