/** Which objects the caller may read, in lexemes. */
import type { SearchFilter, SearchGrant } from '../../../rights/service.ts'
import {
  inPool,
  ofObjecttype,
  ownedBy,
  readableBy,
  withoutContainer,
  withoutPool,
  withTag,
} from '../document/lexemes.ts'
import { always, anyLexeme, type Condition, conjunction, never, ofNode } from './conditions.ts'
import { anyOf, lexeme } from './tsquery.ts'

/** A filter is that of a caller, and the same in all searches. */
const conditions = new WeakMap<SearchFilter, Condition>()

export function rightsCondition(filter: SearchFilter): Condition {
  const known = conditions.get(filter)
  if (known) return known
  const condition = conditionOf(filter)
  conditions.set(filter, condition)
  return condition
}

function conditionOf(filter: SearchFilter): Condition {
  if (filter.all) return always
  const { far = [], near = [] } = Object.groupBy(filter.grants, (grant) => (grant.reachesPrivate ? 'far' : 'near'))
  const open = ofNode({ op: 'not', of: lexeme(withoutContainer) })
  // One look at whether the object is private for all grants that do not reach it then.
  return either([
    conjunction([either(near.map(grantCondition)), open]),
    ...far.map(grantCondition),
    ...filter.principals.map((principal) => ofNode(lexeme(readableBy(principal)))),
  ])
}

function either(conditions: readonly Condition[]): Condition {
  const possible = conditions.filter((condition) => !condition.never)
  if (possible.length === 0) return never
  const nodes = possible.map((condition) => condition.node)
  const known = nodes.filter((node) => node !== null)
  return known.length < nodes.length ? always : ofNode(anyOf(known))
}

function grantCondition({ objecttypeIds, poolIds, tags, owner }: SearchGrant): Condition {
  const parts: Condition[] = []
  if (objecttypeIds) parts.push(anyLexeme(objecttypeIds.map(ofObjecttype)))
  if (poolIds === 'none') parts.push(ofNode(lexeme(withoutPool)))
  else if (poolIds) parts.push(anyLexeme(poolIds.map(inPool)))
  if (tags) {
    for (const tag of tags.all) parts.push(ofNode(lexeme(withTag(tag))))
    if (tags.any.length > 0) parts.push(anyLexeme(tags.any.map(withTag)))
    for (const tag of tags.not) parts.push(ofNode({ op: 'not', of: lexeme(withTag(tag)) }))
  }
  if (owner) parts.push(anyLexeme([ownedBy(`u${owner.userId}`), ...owner.groupIds.map((id) => ownedBy(`g${id}`))]))
  return conjunction(parts)
}
