/** Searches that ask for one range, besides the object type and what the caller may read: their matches by a sorted column. */
import type { Queryable } from '../../../platform/db.ts'
import type { Clause } from '../../plan/plan.ts'
import { isAmong } from './access-sets.ts'
import { readDifference } from './difference.ts'
import { isRange, type KeyRange, keyRange } from './key-ranges.ts'
import type { PostgresPlan } from './postgres-plan.ts'
import { rightsCondition } from './rights.ts'
import { sightNode } from './sight.ts'
import type { RangeCount, SortedColumns } from './sorted-columns.ts'
import type { Statement } from './statements.ts'

/** Changed documents up to which a column need not be read anew. */
const mostChanged = 1500

/** The range that is all a search asks for; null: it asks for something else. */
export function onlyRange({ scope, aggregations, slots }: PostgresPlan): KeyRange | null {
  const clause = inner(scope.where)
  if (aggregations.length > 0 || scope.deleted !== false || !isRange(clause)) return null
  return keyRange(clause, slots, scope.objecttypes)
}

function inner(clause: Clause): Clause {
  const [only, ...others] = clause.is === 'and' || clause.is === 'or' ? clause.of : []
  return only && others.length === 0 ? inner(only) : clause
}

/** How many match now; null when that is to be found out otherwise. `statement`: the search with its range by keys. */
export async function countRange(
  db: Queryable,
  columns: SortedColumns,
  range: KeyRange,
  statement: Statement,
): Promise<RangeCount | null> {
  const mayRead = readable(statement.plan, range)
  const known = mayRead && columns.count(range, mayRead)
  if (!known) return null
  const { asOf } = known
  const difference = await readDifference(db, statement, { asOf, most: mostChanged, columns: [], last: null })
  if (difference) return { ...known, count: known.count + difference.count, asOf: difference.asOf }
  columns.want(range)
  return null
}

/** Whether the caller may read the objects of a set, and sees the column there. */
function readable({ scope, vision, accessSets }: PostgresPlan, { field }: KeyRange) {
  const rights = rightsCondition(scope.rights)
  if (rights.never) return null
  const nodes = [rights.node, sightNode(vision.column(field))].filter((node) => node !== null)
  const known = nodes.map((node) => accessSets.known(node))
  if (!known.every((sets) => sets !== null)) return null
  return (set: number): boolean | null => {
    const fits = known.map((sets) => isAmong(sets, set))
    return fits.includes(false) ? false : fits.includes(null) ? null : true
  }
}
