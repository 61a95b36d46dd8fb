/**
 * Conditions on lexemes as SQL. Most are one `tsquery`, which the index answers exactly. Some parts cannot be expressed in lexemes
 * of the same vector: the visibility of rows of nested tables depends on their object, or there are too many linked objects. Then
 * the index finds candidates, and the rest is checked for each of these.
 */
import { exactValue, ofObjecttype } from '../../document/lexemes.ts'
import { documentSql, joined, madeOf, type Sql } from '../sql/of-document.ts'
import type { Parameters } from '../sql/sql.ts'
import { allOf, anyOf, isPlain, type Linked, lexeme, type Node, tsquery } from '../sql/tsquery.ts'
import { expressionNode } from './access.ts'
import { type AccessSetCondition, type AccessSets, knownSetsSql } from './access-sets.ts'
import { memberSql } from './member.ts'
import { accessSql } from './visibility.ts'

export interface RowScope {
  /** Alias of the table whose `lexemes` are compared. */
  readonly alias: string
  /** Whether the table has rows of a nested table, rather than documents. */
  readonly rows: boolean
  /** Alias of the document that is searched, or that has the rows. */
  readonly root: string
}

export const ofDocuments = (alias: string): RowScope => ({ alias, rows: false, root: alias })

/** `sets`: access sets in memory, which replace lexemes in conditions on documents where possible. */
export function predicateSql(
  given: Node,
  place: RowScope,
  parameters: Parameters,
  sets: AccessSets | null = null,
): Sql {
  if (sets) {
    const { bySets, rest } = splitShared(given, sets)
    if (bySets.length > 0) {
      const value = (each: string | number | Buffer, type: string): string => parameters.add(each, type)
      const conditions = bySets.map((known) => documentSql(knownSetsSql(known, place.alias, value)))
      return joined([predicateSql(rest, place, parameters), ...conditions], ' and ')
    }
  }
  const node = withoutShared(given)
  const ready = withLinks(place.rows ? node : withPlaces(node), place.rows ? mostLinked : mostLexemes)
  if (isPlain(ready)) return matches(ready, place, parameters)
  const all = conjuncts(ready)
  const plain = all.filter(isPlain)
  const ways = place.rows ? [] : all.filter((each) => !isPlain(each)).map(waysOf)
  if (ways.length > 0 && ways.every((way) => way !== null))
    return ways.map((way) => waysSql(way, plain, place, parameters)).join(' and ')
  const known = withLinks(ready, mostLinked)
  if (isPlain(known)) return matches(known, place, parameters)
  const candidates = supersetOf(known)
  if (!candidates) return exactSql(known, place, parameters)
  // The index is exact for plain conditions: checking these again would read the lexemes of each candidate for nothing.
  const open = allOf(conjuncts(known).filter((each) => !isPlain(each)))
  const both = joined([matches(candidates, place, parameters), exactSql(open, place, parameters)], ' and ')
  return madeOf([both], `(${both})`)
}

/** Splits off the conditions on shared access sets that are in memory. */
function splitShared(
  node: Node,
  sets: AccessSets,
): { readonly bySets: readonly AccessSetCondition[]; readonly rest: Node } {
  const bySets = new Map<string, AccessSetCondition>()
  const rest = conjuncts(node).filter((each) => {
    if (!('op' in each) || each.op !== 'shared') return true
    const known = sets.knownLexemes(each.of)
    if (known) bySets.set(known.key, known)
    return !known
  })
  // At least one part must remain for the index.
  return rest.length === 0 ? { bySets: [], rest: node } : { bySets: [...bySets.values()], rest: allOf(rest) }
}

/** Replaces conditions on shared access sets by their lexemes. */
export function withoutShared(node: Node): Node {
  if (!('op' in node) || isPlain(node) || node.op === 'linked' || node.op === 'member') return node
  if (node.op === 'shared') return node.of
  if (node.op === 'not' || node.op === 'seen') return { ...node, of: withoutShared(node.of) }
  return { op: node.op, of: node.of.map(withoutShared) }
}

/** Up to this number, links to objects are a condition on lexemes: each of these is compared with each candidate. */
const mostLexemes = 20
const mostLinked = Number.POSITIVE_INFINITY

/** Links to known objects, not more than `most`, as lexemes. */
function withLinks(node: Node, most: number): Node {
  if (!('op' in node) || isPlain(node)) return node
  if (node.op === 'linked') {
    const { ids, candidates, code } = node
    if (!ids || ids.length > most) return node
    return allOf([candidates, anyOf(ids.map((id) => lexeme(exactValue(code, id))))])
  }
  if (node.op === 'member') return node
  if (node.op === 'not' || node.op === 'seen' || node.op === 'shared') return { ...node, of: withLinks(node.of, most) }
  return { op: node.op, of: node.of.map((each) => withLinks(each, most)) }
}

/** Alternatives that an index can each answer: by lexemes, or by a link and further lexemes. */
interface Ways {
  readonly plain: readonly Node[]
  readonly linked: readonly { readonly link: Linked; readonly besides: readonly Node[] }[]
}

function waysOf(node: Node): Ways | null {
  const plain: Node[] = []
  const linked: { link: Linked; besides: readonly Node[] }[] = []
  for (const each of disjuncts(node)) {
    if (isPlain(each)) {
      plain.push(each)
      continue
    }
    const parts = conjuncts(each)
    const [link, second] = parts.filter((part) => !isPlain(part))
    if (!link || second || !('op' in link) || link.op !== 'linked') return null
    linked.push({ link, besides: parts.filter(isPlain) })
  }
  return { plain, linked }
}

/**
 * SQL of alternatives that are all answered by indexes, so that no lexemes of candidates are read: 9,251 of 15,000 documents in 38
 * ms instead of 190 ms (a common word, callers who may not know all titles).
 */
function waysSql({ plain, linked }: Ways, all: readonly Node[], place: RowScope, parameters: Parameters): string {
  const ways: Sql[] = linked.map(({ link, besides }) => {
    const required = [...besides, ...all]
    const source = `search_document s on s.id = l.from_id and `
    const join = required.length === 0 ? '' : `join ${source}${matches(allOf(required), ofDocuments('s'), parameters)}`
    return `${place.root}.id = any(array(select l.from_id from object_link l ${join}
      where l.column_id = ${Number(link.column)} and l.to_id in (${targetsSql(link, parameters)})))`
  })
  if (plain.length > 0) ways.unshift(matches(allOf([anyOf(plain), ...all]), place, parameters))
  return `(${ways.join(' or ')})`
}

/**
 * Long alternatives become several conditions: a GIN index evaluates a query once for each of its lexemes at its start, so 5,000 in
 * one take thirteen times as long as the same in pieces of 250 (2.6 s and 0.2 s on two busy cores).
 */
const longestQuery = 250

function matches(node: Node, { alias }: RowScope, parameters: Parameters): Sql {
  const one = (each: Node): string => `${alias}.lexemes @@ ${parameters.add(tsquery(each), 'tsquery')}`
  const isLong = (each: Node): each is Extract<Node, { op: 'or' }> =>
    'op' in each && each.op === 'or' && each.of.length > longestQuery
  const parts = conjuncts(node)
  const long = parts.filter(isLong)
  if (long.length === 0) return documentSql(one(node))
  const short = parts.filter((each) => !isLong(each))
  const pieces = (of: readonly Node[]): string[] =>
    Array.from({ length: Math.ceil(of.length / longestQuery) }, (_, index) =>
      one(anyOf(of.slice(index * longestQuery, (index + 1) * longestQuery))),
    )
  const conditions = long.map(({ of }) => `(${pieces(of).join(' or ')})`)
  return documentSql([...(short.length > 0 ? [one(allOf(short))] : []), ...conditions].join(' and '))
}

function conjuncts(node: Node): readonly Node[] {
  return 'op' in node && node.op === 'and' ? node.of.flatMap(conjuncts) : [node]
}

function disjuncts(node: Node): readonly Node[] {
  return 'op' in node && node.op === 'or' ? node.of.flatMap(disjuncts) : [node]
}

/** Replaces visibility conditions by lexemes: documents have the lexemes of their own place. */
export function withPlaces(node: Node): Node {
  if (!('op' in node) || isPlain(node)) return node
  switch (node.op) {
    case 'seen':
      return allOf([withPlaces(node.of), expressionNode(node.place)])
    case 'not':
      return { op: 'not', of: withPlaces(node.of) }
    case 'and':
    case 'or':
      return { op: node.op, of: node.of.map(withPlaces) }
    default:
      return node
  }
}

/** A condition that every match fulfils, for the index; null: there is none. */
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

function exactSql(node: Node, place: RowScope, parameters: Parameters): Sql {
  if (!('op' in node) || isPlain(node)) return matches(node, place, parameters)
  const inner = (of: Node): Sql => exactSql(of, place, parameters)
  switch (node.op) {
    case 'seen': {
      const of = inner(node.of)
      return madeOf([of], `(${accessSql(expressionNode(node.place), place.root)} and ${of})`)
    }
    case 'not': {
      const of = inner(node.of)
      return madeOf([of], `not (${of})`)
    }
    case 'member':
      return documentSql(memberSql(node, place.root))
    case 'linked':
      return linkedSql(node, place, parameters)
    case 'shared':
      return inner(node.of)
    default: {
      const all = joined(withPlainTogether(node).map(inner), ` ${node.op} `)
      return madeOf([all], `(${all})`)
    }
  }
}

/** The operands, with all plain ones combined: each one by itself would read the lexemes again. */
function withPlainTogether({ op, of }: Extract<Node, { op: 'and' | 'or' | 'phrase' }>): readonly Node[] {
  const plain = of.filter(isPlain)
  return plain.length < 2 || op === 'phrase' ? of : [{ op, of: plain }, ...of.filter((each) => !isPlain(each))]
}

/** Objects of the type that match. */
function targetsSql({ target, of, ids, readable }: Linked, parameters: Parameters): string {
  if (ids) return `select unnest(${parameters.add(ids, 'bigint[]')})`
  const query = parameters.add(tsquery(allOf([lexeme(ofObjecttype(target)), of])), 'tsquery')
  return `select t.id from search_document t where t.lexemes @@ ${query} and ${readable()}`
}

/** Links to one of many objects. Rows have their link targets only in their lexemes. */
function linkedSql(node: Linked, { alias, rows, root }: RowScope, parameters: Parameters): string {
  if (!rows) {
    return `${root}.id in (select l.from_id from object_link l where l.column_id = ${Number(node.column)}
      and l.to_id in (${targetsSql(node, parameters)}))`
  }
  const start = exactValue(node.code, '')
  return `exists (select from unnest(tsvector_to_array(${alias}.lexemes)) link where starts_with(link, '${start}')
    and substr(link, ${start.length + 1})::bigint in (${targetsSql(node, parameters)}))`
}
