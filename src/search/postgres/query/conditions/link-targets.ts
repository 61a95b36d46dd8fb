/**
 * Where conditions through links lead, looked up before the search: the objects that a link must lead to, or that something must
 * lead to. Where they are few, the search asks for links to them by lexemes, or for them by their ids, and needs no join. So the
 * way is chosen by a bounded count of what is there, not by what PostgreSQL expects.
 */
import type { Queryable } from '../../../../platform/postgres/db.ts'
import type { Clause, SearchScope } from '../../../plan/plan.ts'
import { accessSql, visibilityNode } from '../access/visibility.ts'
import type { LinkTargets } from '../linked/linked.ts'
import type { Sql } from '../sql/of-document.ts'
import { microseconds } from '../sql/sql.ts'
import type { ConditionContext } from './context.ts'

type ThroughLink = Extract<Clause, { is: 'linked' | 'joined' }>
type ScopeSql = (scope: SearchScope, alias: string, context: ConditionContext) => Sql | null

export interface FoundTargets {
  readonly targets: LinkTargets
  /** State of the index that they were read from: moment of its last batch, in microseconds since 1970. */
  readonly asOf: number
  /** All of them as a text, for cache keys. */
  found(): string
}

export interface Targeting {
  /** A context with parameters of its own. */
  readonly start: (targets: LinkTargets) => ConditionContext
  readonly scopeSql: ScopeSql
  /** The highest number of objects that become lexemes; more are found by a join. */
  readonly most: number
}

/**
 * Reads where all conditions of a search lead, the innermost first, since the outer ones are asked with what these found: one
 * statement for each depth.
 */
export async function findTargets(
  db: Queryable,
  asked: readonly Clause[],
  { start, scopeSql, most }: Targeting,
): Promise<FoundTargets> {
  const levels: ThroughLink[][] = []
  for (const clause of asked) collect(clause, levels)
  const known = new Map<Clause, readonly number[] | null>()
  const targets: LinkTargets = (clause) => known.get(clause) ?? null
  let asOf = Number.MAX_SAFE_INTEGER
  for (const clauses of levels) {
    const context = start(targets)
    const questions = clauses.map((clause) => targetsSql(clause, context, { scopeSql, most }))
    const { rows } = await db.query<{ asOf: number; ids: (number[] | null)[] }>(
      ...context.parameters.statement(
        `select (select ${microseconds('changed_at')} from search_state) as "asOf", json_build_array(${questions
          .map((sql) => `(select json_agg(id) from (${sql ?? 'select null::bigint as id where false'}) found)`)
          .join(', ')}) as ids`,
      ),
    )
    const row = rows[0]
    asOf = Math.min(asOf, row?.asOf ?? 0)
    for (const [index, clause] of clauses.entries()) {
      const ids = row?.ids[index] ?? []
      known.set(clause, ids.length > most ? null : ids)
    }
  }
  return { targets, asOf, found: () => JSON.stringify([...known.values()]) }
}

/** Conditions through links by the depth of those within them. Answers how many depths the clause has. */
function collect(clause: Clause, levels: ThroughLink[][]): number {
  switch (clause.is) {
    case 'and':
    case 'or':
      return clause.of.reduce((deepest, each) => Math.max(deepest, collect(each, levels)), 0)
    case 'not':
    case 'row':
      return collect(clause.of, levels)
    case 'linked':
    case 'joined': {
      const depth = collect(clause.of.where, levels)
      while (levels.length <= depth) levels.push([])
      levels[depth]?.push(clause)
      return depth + 1
    }
    default:
      return 0
  }
}

/** null: there are none. */
function targetsSql(
  clause: ThroughLink,
  context: ConditionContext,
  { scopeSql, most }: Pick<Targeting, 'scopeSql' | 'most'>,
): string | null {
  const found = scopeSql(clause.of, 't', context)
  if (found === null) return null
  const limit = `limit ${most + 1}`
  const by = clause.is === 'joined' ? clause.by : null
  if (by === null) return `select t.id from search_document t where ${found} ${limit}`
  const visibility = context.plan.fieldVisibility.column(by)
  if (visibility === 'never') return null
  const node = visibilityNode(visibility)
  const seen = node ? ` and ${accessSql(node, 't')}` : ''
  const where = `${found} and t.objecttype = ${Number(by.column.table.root.id)}${seen}`
  const { target } = by.column
  const place = context.plan.slots.facet(by)
  // Sets of links into a hierarchy also have the objects above.
  if (place === undefined || target?.hierarchical || target?.polyhierarchical) {
    return `select distinct sought.to_id as id from search_document t join object_link sought on sought.from_id = t.id
      and sought.column_id = ${Number(by.column.id)} where ${where} ${limit}`
  }
  return `select distinct link.id from (select distinct t.facets[${place}] as id from search_document t where ${where}) found
    join search_facet_set s on s.id = found.id cross join lateral unnest(s.ids) link(id) ${limit}`
}
