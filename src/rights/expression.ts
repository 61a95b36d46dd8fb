/**
 * A condition on an object, as one caller may see it: which container holds it, its tags, whose it is, what its own grants give.
 * `rights` makes them for each caller (read-right.ts). They are printed as a predicate in memory (`holds`), as SQL on `object`
 * (object-sql.ts), and as a condition of the search index (search/postgres/query/access/access.ts). A new kind of condition is a case
 * in each of the three.
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

/** In one of these pools. Equal for one list, so that what is made of it is made once. */
export function inPools(ids: readonly number[]): ReadExpression {
  const known = lists.get(ids)
  if (known) return known
  const made: ReadExpression = ids.length === 0 ? nothing : { is: 'pools', ids }
  lists.set(ids, made)
  return made
}

/** One of them holds, without those that hold only where others do. For a few. */
export function widest<E extends Expression>(of: readonly E[]): E {
  const distinct = [...new Map(of.map((each) => [JSON.stringify(each), each])).values()]
  return any(distinct.filter((each) => !distinct.some((other) => other !== each && covers(other, each))))
}

/** Whether `wide` asks nothing that `narrow` does not ask too. False says nothing. */
export function covers(wide: Expression, narrow: Expression): boolean {
  const asked = new Set(conjuncts(narrow).map((each) => JSON.stringify(each)))
  return conjuncts(wide).every((each) => asked.has(JSON.stringify(each)))
}

function conjuncts(expression: Expression): readonly Expression[] {
  return expression.is === 'and' ? expression.of : [expression]
}

/** The same of objects that cannot be private. */
export function ofOpen<E extends Expression>(expression: E): E {
  return open(expression) as E
}

function open(expression: Expression): Expression {
  switch (expression.is) {
    case 'private':
      return nothing
    case 'and':
      return all(expression.of.map(open))
    case 'or':
      return any(expression.of.map(open))
    case 'not':
      return not(open(expression.of))
    default:
      return expression
  }
}

/** What an expression may ask of an object besides, each found out only when it is asked. */
export interface Personal {
  /** Whom its own grants let read it. */
  readonly granted: () => readonly ReadPrincipal[]
  readonly files: (columnId: number, by: FileMark) => readonly string[]
}

/** Whether the object fulfils it. */
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
    // Loops: this is asked for every object that anybody reads.
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
/** Members of a list that is gone through. */
const fewMembers = 8

function isAmong(ids: readonly number[], id: number): boolean {
  if (ids.length <= fewMembers) return ids.includes(id)
  const known = members.get(ids) ?? new Set(ids)
  members.set(ids, known)
  return known.has(id)
}
