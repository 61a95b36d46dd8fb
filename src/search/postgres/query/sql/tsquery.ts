/** Conditions on lexemes, built as a tree and written as a `tsquery`. */
import { badRequest } from '../../../../platform/errors.ts'
import type { Expression, ObjectSet } from '../../../../rights/service.ts'

export type Node =
  | { readonly lexeme: string; readonly prefix?: boolean }
  | { readonly op: 'and' | 'or' | 'phrase'; readonly of: readonly Node[] }
  | { readonly op: 'not'; readonly of: Node }
  /** Only for objects in the place, where the caller sees the field of the condition. */
  | { readonly op: 'seen'; readonly place: Expression; readonly of: Node }
  /** Lexemes that are also part of the shared access set of a document (index/access-sets.ts). */
  | { readonly op: 'shared'; readonly of: Node }
  | Member
  | Linked

/** The object is in the list of one of these collections. No lexeme contains this. */
export interface Member {
  readonly op: 'member'
  readonly collections: readonly number[]
  readonly objects: ObjectSet
}

/**
 * A link through the column (`code`) to an object of the type `target` that matches; candidates have a link that may match. `ids`:
 * these objects, where they are known. `readable`: the condition for objects that the caller may read, as SQL for the alias `t`.
 */
export interface Linked {
  readonly op: 'linked'
  readonly column: number
  readonly code: string
  readonly target: number
  readonly of: Node
  readonly ids: readonly number[] | null
  readonly readable: () => string
  readonly candidates: Node
}

/** More operands would take seconds, and would come close to PostgreSQL's limit of 1 MB of text. */
const mostOperands = 20_000
const mostBytes = 900_000

export const lexeme = (text: string): Node => ({ lexeme: text })
export const prefix = (text: string): Node => ({ lexeme: text, prefix: true })

export function allOf(nodes: readonly Node[]): Node {
  return nodes.length === 1 ? (nodes[0] as Node) : { op: 'and', of: nodes }
}

export function anyOf(nodes: readonly Node[]): Node {
  return nodes.length === 1 ? (nodes[0] as Node) : { op: 'or', of: nodes }
}

/** At least one of the nodes. If all have the same condition on the shared access set, it is written once. */
export function anyOfShared(nodes: readonly Node[]): Node {
  const [first, ...others] = nodes.map(sharedIn)
  if (!first || others.some((each) => each?.query !== first.query)) return anyOf(nodes)
  return allOf([anyOf(nodes.map((node) => allOf(partsOf(node).filter((part) => !isShared(part))))), first.node])
}

const isShared = (node: Node): node is Extract<Node, { op: 'shared' }> => 'op' in node && node.op === 'shared'
const partsOf = (node: Node): readonly Node[] => ('op' in node && node.op === 'and' ? node.of : [node])

function sharedIn(node: Node): { readonly node: Node; readonly query: string } | null {
  const parts = partsOf(node)
  const [shared, second] = parts.filter(isShared)
  if (!shared || second || parts.length === 1) return null
  return { node: shared, query: lastingQuery(shared.of) }
}

/** Whether the node can be written as a `tsquery` without changes. */
export function isPlain(node: Node): boolean {
  if (!('op' in node)) return true
  if (node.op === 'seen' || node.op === 'linked' || node.op === 'shared' || node.op === 'member') return false
  return node.op === 'not' ? isPlain(node.of) : node.of.every(isPlain)
}

/** Whether every match contains one of the lexemes. Otherwise no index could find it. */
export function isPositive(node: Node): boolean {
  if (!('op' in node)) return true
  if (node.op === 'not' || node.op === 'member') return false
  if (node.op === 'linked') return isPositive(node.candidates)
  if (node.op === 'seen' || node.op === 'shared') return isPositive(node.of)
  return node.op === 'or' ? node.of.every(isPositive) : node.of.some(isPositive)
}

/** @throws {AppError} when there are too many operands. */
export function tsquery(node: Node): string {
  const budget = { operands: 0, bytes: 0 }
  const text = write(node, budget)
  if (budget.operands > mostOperands || budget.bytes > mostBytes) {
    throw badRequest('The search has too many conditions.', { name: 'search', most: mostOperands })
  }
  return text
}

const queries = new WeakMap<Node, string>()

/** The same, cached: for conditions that many searches use. */
export function lastingQuery(node: Node): string {
  let query = queries.get(node)
  if (query === undefined) {
    query = tsquery(node)
    queries.set(node, query)
  }
  return query
}

const operators = { and: '&', or: '|', phrase: '<->' }

function write(node: Node, budget: { operands: number; bytes: number }): string {
  if (!('op' in node)) {
    budget.operands++
    budget.bytes += node.lexeme.length * 3
    const quoted = node.lexeme.replaceAll('\\', '\\\\').replaceAll("'", "''")
    return `'${quoted}'${node.prefix ? ':*' : ''}`
  }
  if (node.op === 'seen' || node.op === 'linked' || node.op === 'shared' || node.op === 'member')
    throw new Error(`${node.op} is no part of a tsquery`)
  if (node.op === 'not') return `!(${write(node.of, budget)})`
  if (node.op === 'phrase') return node.of.map((each) => `(${write(each, budget)})`).join(` ${operators.phrase} `)
  return balanced(
    node.of.map((each) => write(each, budget)),
    operators[node.op],
  )
}

/** Writes long chains as a balanced tree, because PostgreSQL processes operands recursively. */
function balanced(parts: readonly string[], operator: string): string {
  if (parts.length === 1) return parts[0] as string
  const half = parts.length >> 1
  return `(${balanced(parts.slice(0, half), operator)} ${operator} ${balanced(parts.slice(half), operator)})`
}
