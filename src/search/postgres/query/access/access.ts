/** Conditions of access (rights/expression.ts), in lexemes that the `access` column of a document also has. */
import { hash } from 'node:crypto'
import { type Expression, isEverything, isNothing, type TagFilter } from '../../../../rights/service.ts'
import {
  fileMark,
  inPool,
  limitedFor,
  maskFor,
  ofObjecttype,
  ownedBy,
  readableBy,
  withoutContainer,
  withoutPool,
  withTag,
} from '../../document/lexemes.ts'
import type { AccessKind } from '../../index/access-sets.ts'
import { always, type Condition, never, ofNode } from '../sql/conditions.ts'
import { allOf, anyOf, lastingQuery, lexeme, type Member, type Node } from '../sql/tsquery.ts'

/** A lexeme that no document has. */
export const nowhere: Node = lexeme('_-')

/**
 * The longest name of a version in characters. Longer ones do not exist, though a grant may contain one. A lexeme has at most 2,046
 * bytes.
 */
const longestName = 500

/** The nodes of a caller's expressions, which are the same in all searches. */
const nodes = new WeakMap<Expression, Node>()

export function expressionNode(expression: Expression): Node {
  const known = nodes.get(expression)
  if (known) return known
  const node = nodeOf(expression)
  nodes.set(expression, node)
  return node
}

function nodeOf(expression: Expression): Node {
  switch (expression.is) {
    case 'types':
      return anyLexeme(expression.ids.map(ofObjecttype))
    case 'pools':
      return anyLexeme(expression.ids.map(inPool))
    case 'withoutPool':
      return lexeme(withoutPool)
    case 'tags':
      return tagsNode(expression.filter)
    case 'private':
      return lexeme(withoutContainer)
    case 'owner':
      return anyLexeme([ownedBy(`u${expression.userId}`), ...expression.groupIds.map((id) => ownedBy(`g${id}`))])
    case 'granted': {
      const { who, masks } = expression
      return anyLexeme(who.map((each) => grantedLexeme(each, masks)))
    }
    case 'member': {
      const { collections, objects } = expression
      return objects.size === 0 ? nowhere : { op: 'member', collections, objects }
    }
    case 'files': {
      const { columnId, by, names } = expression
      const possible = names.filter((name) => name.length <= longestName)
      return anyLexeme(possible.map((name) => fileMark(columnId, by, name)))
    }
    case 'and':
      return expression.of.length === 0 ? everywhere : allOf(expression.of.map(expressionNode))
    case 'or':
      return either(expression.of.map(expressionNode))
    case 'not':
      return { op: 'not', of: expressionNode(expression.of) }
  }
}

const everywhere: Node = { op: 'not', of: nowhere }

function grantedLexeme(who: string, masks: Extract<Expression, { is: 'granted' }>['masks']): string {
  switch (masks) {
    case 'any':
      return readableBy(who)
    case 'limited':
      return limitedFor(who)
    default:
      return maskFor(who, masks === 'all' ? '*' : masks)
  }
}

function tagsNode({ all, any, not }: TagFilter): Node {
  const parts: Node[] = all.map((tag) => lexeme(withTag(tag)))
  if (any.length > 0) parts.push(anyOf(any.map((tag) => lexeme(withTag(tag)))))
  for (const tag of not) parts.push({ op: 'not', of: lexeme(withTag(tag)) })
  return parts.length === 0 ? everywhere : allOf(parts)
}

export function either(parts: readonly Node[]): Node {
  return parts.length === 0 ? nowhere : anyOf(parts)
}

const anyLexeme = (texts: readonly string[]): Node => either(texts.map(lexeme))

/** The read rights of a caller, as a condition on documents. */
export function rightsCondition(rights: Expression): Condition {
  if (isEverything(rights)) return always
  return isNothing(rights) ? never : ofNode(expressionNode(rights))
}

/** A condition, split by the kinds of sets that answer its parts. */
export type AskedSets =
  | {
      readonly is: 'sets'
      readonly kind: AccessKind
      readonly query: string /** Short, and equal for equal ones. */
      readonly key: string
    }
  | AskedMember
  | { readonly is: 'and' | 'or'; readonly of: readonly AskedSets[] }
  | { readonly is: 'not'; readonly of: AskedSets }

/** Membership in collections is not part of any set. */
export interface AskedMember {
  readonly is: 'member'
  readonly member: Omit<Member, 'op'>
}

const asked = new WeakMap<Expression, AskedSets>()
const ofLexemes = new WeakMap<Node, Extract<AskedSets, { is: 'sets' }>>()

export function askedOf(kind: AccessKind, node: Node): Extract<AskedSets, { is: 'sets' }> {
  const known = ofLexemes.get(node)
  if (known) return known
  const query = lastingQuery(node)
  const found = { is: 'sets', kind, query, key: `${kind} ${hash('sha256', query, 'base64')}` } as const
  ofLexemes.set(node, found)
  return found
}

export function askedSets(expression: Expression): AskedSets {
  const known = asked.get(expression)
  if (known) return known
  const found = setsOf(expression)
  asked.set(expression, found)
  return found
}

function setsOf(expression: Expression): AskedSets {
  const kind = kindOf(expression)
  if (kind) return askedOf(kind, expressionNode(expression))
  if (expression.is === 'member') return { is: 'member', member: expression }
  if (expression.is === 'not') return { is: 'not', of: askedSets(expression.of) }
  // A single condition always has a kind, so this one is composed.
  const { is, of } = expression as Extract<Expression, { is: 'and' | 'or' }>
  const byKind = Map.groupBy(of, kindOf)
  const together = (kind: AccessKind): AskedSets[] => {
    const own = byKind.get(kind)
    return own ? [setsOf(own.length === 1 ? (own[0] as Expression) : { is, of: own })] : []
  }
  return { is, of: [...together('shared'), ...together('people'), ...(byKind.get(null) ?? []).map(askedSets)] }
}

const kinds = new WeakMap<Expression, AccessKind | 'both'>()

/**
 * The kind of sets that decides whether the expression holds; null: both kinds together. An index on people cannot answer
 * conditions without people.
 */
function kindOf(expression: Expression): AccessKind | null {
  const known = kinds.get(expression) ?? kindIn(expression) ?? 'both'
  kinds.set(expression, known)
  return known === 'both' ? null : known
}

function kindIn(expression: Expression): AccessKind | null {
  switch (expression.is) {
    case 'member':
      return null
    case 'owner':
    case 'granted':
      return 'people'
    case 'files':
      return expression.by === 'class' || expression.by === 'version' ? 'shared' : 'people'
    case 'not':
      return kindOf(expression.of) === 'shared' ? 'shared' : null
    case 'and':
    case 'or': {
      const [first = 'shared', ...others] = new Set(expression.of.map(kindOf))
      return others.length === 0 ? first : null
    }
    default:
      return 'shared'
  }
}
