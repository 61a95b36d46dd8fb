/**
 * Conditions on lexemes as SQL. Most are one `tsquery`, which the index answers exactly. Where a part of it cannot be
 * said in lexemes of the same vector (what rows of nested tables may show depends on their object; too many linked
 * objects), the index finds candidates and the rest is asked of these.
 */
import { exactValue, ofObjecttype } from '../lexemes.ts'
import { accessSql, placeNode } from './sight.ts'
import type { Parameters } from './sql.ts'
import { allOf, anyOf, isPlain, lexeme, type Node, tsquery } from './tsquery.ts'

export interface Place {
  /** Alias of the table whose `lexemes` are asked. */
  readonly alias: string
  /** The rows of a nested table, or the documents themselves. */
  readonly rows: boolean
  /** Alias of the document that is or has the rows. */
  readonly root: string
}

export const ofDocuments = (alias: string): Place => ({ alias, rows: false, root: alias })

export function predicateSql(node: Node, place: Place, parameters: Parameters): string {
  const ready = place.rows ? node : withPlaces(node)
  if (isPlain(ready)) return matches(ready, place, parameters)
  const candidates = supersetOf(ready)
  const exact = exactSql(ready, place, parameters)
  return candidates ? `(${matches(candidates, place, parameters)} and ${exact})` : exact
}

/**
 * Long alternatives become several conditions: to begin with, a GIN index evaluates a query once for each of its
 * lexemes, so 5,000 in one take thirteen times as long as the same in pieces of 250
 * (2.6 s and 0.2 s on two busy cores).
 */
const longestQuery = 250

function matches(node: Node, { alias }: Place, parameters: Parameters): string {
  const one = (each: Node): string => `${alias}.lexemes @@ ${parameters.add(tsquery(each), 'tsquery')}`
  const isLong = (each: Node): each is Extract<Node, { op: 'or' }> =>
    'op' in each && each.op === 'or' && each.of.length > longestQuery
  const parts = conjuncts(node)
  const long = parts.filter(isLong)
  if (long.length === 0) return one(node)
  const short = parts.filter((each) => !isLong(each))
  const pieces = (of: readonly Node[]): string[] =>
    Array.from({ length: Math.ceil(of.length / longestQuery) }, (_, index) =>
      one(anyOf(of.slice(index * longestQuery, (index + 1) * longestQuery))),
    )
  const conditions = long.map(({ of }) => `(${pieces(of).join(' or ')})`)
  return [...(short.length > 0 ? [one(allOf(short))] : []), ...conditions].join(' and ')
}

function conjuncts(node: Node): readonly Node[] {
  return 'op' in node && node.op === 'and' ? node.of.flatMap(conjuncts) : [node]
}

/** Documents have the lexemes that say where they are. */
function withPlaces(node: Node): Node {
  if (!('op' in node) || isPlain(node)) return node
  switch (node.op) {
    case 'seen':
      return allOf([withPlaces(node.of), placeNode(node.place)])
    case 'not':
      return { op: 'not', of: withPlaces(node.of) }
    case 'and':
    case 'or':
      return { op: node.op, of: node.of.map(withPlaces) }
    default:
      return node
  }
}

/** What everything that matches has; null: nothing of the kind. */
function supersetOf(node: Node): Node | null {
  if (!('op' in node) || isPlain(node)) return node
  switch (node.op) {
    case 'seen':
      return supersetOf(node.of)
    case 'linked':
      return node.candidates
    case 'and': {
      const parts = node.of.map(supersetOf).filter((part) => part !== null)
      return parts.length === 0 ? null : allOf(parts)
    }
    case 'or': {
      const parts = node.of.map(supersetOf)
      return parts.every((part) => part !== null) ? { op: 'or', of: parts } : null
    }
    default:
      return null
  }
}

function exactSql(node: Node, place: Place, parameters: Parameters): string {
  if (!('op' in node) || isPlain(node)) return matches(node, place, parameters)
  const inner = (of: Node): string => exactSql(of, place, parameters)
  switch (node.op) {
    case 'seen':
      return `(${accessSql(placeNode(node.place), place.root)} and ${inner(node.of)})`
    case 'not':
      return `not (${inner(node.of)})`
    case 'linked':
      return linkedSql(node, place, parameters)
    default:
      return `(${node.of.map(inner).join(` ${node.op} `)})`
  }
}

/** Links to one of many objects. Rows tell what they link to by their lexemes alone. */
function linkedSql(
  node: Extract<Node, { op: 'linked' }>,
  { alias, rows, root }: Place,
  parameters: Parameters,
): string {
  const target = allOf([lexeme(ofObjecttype(node.target)), node.of])
  const found = `search_document t where t.lexemes @@ ${parameters.add(tsquery(target), 'tsquery')}`
  if (!rows) {
    return `${root}.id in (select l.from_id from object_link l where l.column_id = ${Number(node.column)}
      and l.to_id in (select t.id from ${found}))`
  }
  const start = exactValue(node.code, '')
  return `exists (select from unnest(tsvector_to_array(${alias}.lexemes)) link where starts_with(link, '${start}')
    and substr(link, ${start.length + 1})::bigint in (select t.id from ${found}))`
}
