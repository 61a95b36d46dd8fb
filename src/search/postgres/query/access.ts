/** Conditions on who may see an object (rights/expression.ts), in lexemes: all that `access` of a document has too. */
import { type Expression, isEverything, isNothing, type TagFilter } from '../../../rights/service.ts'
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
} from '../document/lexemes.ts'
import { always, type Condition, never, ofNode } from './conditions.ts'
import { allOf, anyOf, lexeme, type Node } from './tsquery.ts'

/** No document has it. */
export const nowhere: Node = lexeme('_-')

/** They are those of a caller, and the same in all searches. */
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
    case 'files': {
      const { columnId, by, names } = expression
      return anyLexeme(names.map((name) => fileMark(columnId, by, name)))
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

/** What a caller may read, as a condition on documents. */
export function rightsCondition(rights: Expression): Condition {
  if (isEverything(rights)) return always
  return isNothing(rights) ? never : ofNode(expressionNode(rights))
}
