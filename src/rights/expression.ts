/**
 * A condition on an object for one caller: its container, its tags, its owner, its own grants. `rights` compiles it for each caller
 * (read-right.ts). It has three forms: a predicate in memory (`holds`), SQL on `object` (object-sql.ts), and a condition of the
 * search index (search/postgres/query/access/access.ts). A new kind of condition needs a case in each of the three.
 */
import { type MaskId, type ReadPrincipal, tagsFit } from './grants.ts'
import type { Expression, FileMark, Guarded, ReadExpression } from './model.ts'

export const everything: ReadExpression = { is: 'and', of: [] }
export const nothing: ReadExpression = { is: 'or', of: [] }
export const withoutPool: ReadExpression = { is: 'withoutPool' }
export const isPrivate: ReadExpression = { is: 'private' }

export const isEverything = (expression: Expression): boolean => expression.is === 'and' && expression.of.length === 0
export const isNothing = (expression: Expression): boolean => expression.is === 'or' && expression.of.length === 0

/** All of them hold. */
export function all<E extends Expression>(of: readonly E[]): E {
  if (of.some(isNothing)) return nothing as E
  const parts = of.flatMap((each) => (each.is === 'and' ? (each.of as readonly E[]) : [each]))
  return parts.length === 1 ? (parts[0] as E) : ({ is: 'and', of: parts } as Expression as E)
}

/** One of them holds. */
export function any<E extends Expression>(of: readonly E[]): E {
  if (of.some(isEverything)) return everything as E
  const parts = of.flatMap((each) => (each.is === 'or' ? (each.of as readonly E[]) : [each]))
  return parts.length === 1 ? (parts[0] as E) : ({ is: 'or', of: parts } as Expression as E)
}

export function not<E extends Expression>(of: E): E {
  if (isEverything(of)) return nothing as E
  return (isNothing(of) ? everything : { is: 'not', of }) as E
}

const lists = new WeakMap<readonly number[], ReadExpression>()

/** In one of these pools. The same list gives the same expression, so that results for it can be cached. */
export function inPools(ids: readonly number[]): ReadExpression {
  const known = lists.get(ids)
  if (known) return known
  const made: ReadExpression = ids.length === 0 ? nothing : { is: 'pools', ids }
  lists.set(ids, made)
  return made
}

/** At least one of them holds. Conditions that another one covers are removed. For short lists. */
export function widest<E extends Expression>(of: readonly E[]): E {
  const distinct = [...new Map(of.map((each) => [JSON.stringify(each), each])).values()]
  return any(distinct.filter((each) => !distinct.some((other) => other !== each && covers(other, each))))
}

/** Whether every condition of `wide` is also one of `narrow`. False does not prove the opposite. */
export function covers(wide: Expression, narrow: Expression): boolean {
  const asked = new Set(conjuncts(narrow).map((each) => JSON.stringify(each)))
  return conjuncts(wide).every((each) => asked.has(JSON.stringify(each)))
}

function conjuncts(expression: Expression): readonly Expression[] {
  return expression.is === 'and' ? expression.of : [expression]
}

/** The expression for objects that cannot be private. */
export function ofOpen<E extends Expression>(expression: E): E {
  return withLeaves(expression, (leaf) => (leaf.is === 'private' ? nothing : leaf)) as E
}

/** The expression for objects of one type. */
export function forType<E extends Expression>(expression: E, objecttypeId: number): E {
  return withLeaves(expression, (leaf) => {
    if (leaf.is !== 'types') return leaf
    return leaf.ids.includes(objecttypeId) ? everything : nothing
  }) as E
}

/** The expression with others in place of its single conditions. */
function withLeaves(expression: Expression, instead: (leaf: Expression) => Expression): Expression {
  const within = (each: Expression): Expression => withLeaves(each, instead)
  switch (expression.is) {
    case 'and':
      return all(expression.of.map(within))
    case 'or':
      return any(expression.of.map(within))
    case 'not':
      return not(within(expression.of))
    default:
      return instead(expression)
  }
}

/** Further data of an object that an expression may need. Each function is called only when it is needed. */
export interface Personal {
  /** The principals who may read it by its own grants. */
  readonly granted: () => readonly ReadPrincipal[]
  readonly files: (columnId: number, by: FileMark) => readonly string[]
}

/** Whether the object fulfils the expression. */
export function holds(expression: Expression, object: Guarded, personal: Personal): boolean {
  switch (expression.is) {
    case 'types':
      return expression.ids.includes(object.objecttypeId)
    case 'pools':
      return object.poolId !== null && isAmong(expression.ids, object.poolId)
    case 'withoutPool':
      return object.poolId === null
    case 'tags':
      return tagsFit(expression.filter, object.tags)
    case 'private':
      return object.privateAcl
    case 'owner':
      return (
        (object.ownerUserId !== null && object.ownerUserId === expression.userId) ||
        (object.ownerGroupId !== null && expression.groupIds.includes(object.ownerGroupId))
      )
    case 'granted': {
      const { who, masks } = expression
      return personal.granted().some((grant) => who.includes(grant.who) && givesMasks(grant, masks))
    }
    case 'member':
      return expression.objects.has(object.systemObjectId)
    case 'files':
      return personal.files(expression.columnId, expression.by).some((name) => expression.names.includes(name))
    // Loops, because this runs for every object that a caller reads.
    case 'and':
      for (const each of expression.of) if (!holds(each, object, personal)) return false
      return true
    case 'or':
      for (const each of expression.of) if (holds(each, object, personal)) return true
      return false
    case 'not':
      return !holds(expression.of, object, personal)
  }
}

function givesMasks({ masks }: ReadPrincipal, wanted: 'any' | 'all' | 'limited' | MaskId): boolean {
  switch (wanted) {
    case 'any':
      return true
    case 'all':
      return masks === null
    case 'limited':
      return masks !== null
    default:
      return masks?.includes(wanted) === true
  }
}

const members = new WeakMap<readonly number[], ReadonlySet<number>>()
/** The longest list that is searched linearly. */
const fewMembers = 8

function isAmong(ids: readonly number[], id: number): boolean {
  if (ids.length <= fewMembers) return ids.includes(id)
  const known = members.get(ids) ?? new Set(ids)
  members.set(ids, known)
  return known.has(id)
}
