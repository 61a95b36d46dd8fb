/** Conditions on lexemes, answered for all objects of a type from the places of the lexemes. */
import type { Expression } from '../../../rights/service.ts'
import type { Node } from '../query/sql/tsquery.ts'
import { type LexemeColumn, newBits, type ObjectTable, setBit } from './column.ts'

export type SharedNode = Extract<Node, { op: 'shared' }>

/** What must be known before nodes are answered. */
export interface NodeNeeds {
  readonly lexemes: Set<string>
  /** Places of conditions of visibility. */
  readonly seen: Set<Expression>
  readonly shared: Set<SharedNode>
}

export const noNeeds = (): NodeNeeds => ({ lexemes: new Set(), seen: new Set(), shared: new Set() })

/** Adds what the node needs. false: a part of it is answered by PostgreSQL alone. */
export function addNeeds(node: Node, needs: NodeNeeds): boolean {
  if (!('op' in node)) {
    needs.lexemes.add(node.lexeme)
    return !node.prefix
  }
  switch (node.op) {
    case 'and':
    case 'or':
      return node.of.every((each) => addNeeds(each, needs))
    case 'seen':
      needs.seen.add(node.place)
      return addNeeds(node.of, needs)
    case 'shared':
      needs.shared.add(node)
      return true
    default:
      return false
  }
}

export interface NodeAnswers {
  readonly table: ObjectTable
  readonly lexemes: ReadonlyMap<string, LexemeColumn>
  readonly seen: ReadonlyMap<Expression, Uint32Array>
  readonly shared: ReadonlyMap<SharedNode, Uint32Array>
}

/** Objects, as positions that ascend or as bits. */
export interface Matches {
  readonly of: { readonly places: Uint32Array } | { readonly bits: Uint32Array }
  /** Whether these are all: a lexeme that very many objects have is known of some of them. */
  readonly whole: boolean
}

/** Alternatives beyond this number are put together as bits. */
const mostMerged = 4

export function matchesOf(node: Node, answers: NodeAnswers): Matches {
  if (!('op' in node)) {
    const column = answers.lexemes.get(node.lexeme) as LexemeColumn
    return { of: column, whole: column.kind === 'matches' || column.whole }
  }
  switch (node.op) {
    case 'and':
      return node.of.map((each) => matchesOf(each, answers)).reduce(both)
    case 'or':
      return anyOf(
        node.of.map((each) => matchesOf(each, answers)),
        answers.table,
      )
    case 'seen':
      return both(matchesOf(node.of, answers), {
        of: { bits: answers.seen.get(node.place) as Uint32Array },
        whole: true,
      })
    case 'shared':
      return { of: { bits: answers.shared.get(node) as Uint32Array }, whole: true }
    default:
      throw new Error(`${node.op} is not answered by lexemes alone`)
  }
}

function both(one: Matches, other: Matches): Matches {
  return { of: common(one.of, other.of), whole: one.whole && other.whole }
}

/** The objects that are in both. */
export function common(one: Matches['of'], other: Matches['of']): Matches['of'] {
  if ('places' in one)
    return { places: 'bits' in other ? among(one.places, other.bits) : within(one.places, other.places) }
  if ('places' in other) return { places: among(other.places, one.bits) }
  const bits = new Uint32Array(one.bits.length)
  for (let index = 0; index < bits.length; index++)
    bits[index] = (one.bits[index] as number) & (other.bits[index] as number)
  return { bits }
}

// Loops without calls: both go through thousands of objects for an answer.

function among(places: Uint32Array, bits: Uint32Array): Uint32Array {
  const found = new Uint32Array(places.length)
  let count = 0
  for (let index = 0; index < places.length; index++) {
    const place = places[index] as number
    found[count] = place
    count += ((bits[place >>> 5] as number) >>> (place & 31)) & 1
  }
  return found.subarray(0, count)
}

function within(places: Uint32Array, others: Uint32Array): Uint32Array {
  const found = new Uint32Array(Math.min(places.length, others.length))
  let [i, j, count] = [0, 0, 0]
  while (i < places.length && j < others.length) {
    const [one, other] = [places[i] as number, others[j] as number]
    if (one === other) found[count++] = one
    if (one <= other) i++
    if (other <= one) j++
  }
  return found.subarray(0, count)
}

function anyOf(all: readonly Matches[], { ids }: ObjectTable): Matches {
  const whole = all.every((each) => each.whole)
  const some = all.filter(({ of }) => 'bits' in of || of.places.length > 0)
  const [first] = some
  if (some.length === 1 && first) return { of: first.of, whole }
  const lists = some.flatMap(({ of }) => ('places' in of ? [of.places] : []))
  if (lists.length === some.length && lists.length <= mostMerged)
    return { of: { places: lists.reduce(merged, new Uint32Array(0)) }, whole }
  const bits = newBits(ids.length)
  for (const { of } of some) {
    if ('places' in of) for (const place of of.places) setBit(bits, place)
    else
      for (let index = 0; index < bits.length; index++)
        bits[index] = (bits[index] as number) | (of.bits[index] as number)
  }
  return { of: { bits }, whole }
}

function merged(one: Uint32Array, other: Uint32Array): Uint32Array {
  if (one.length === 0) return other
  const all = new Uint32Array(one.length + other.length)
  let [i, j, count] = [0, 0, 0]
  while (i < one.length || j < other.length) {
    const left = i < one.length ? (one[i] as number) : Number.POSITIVE_INFINITY
    const right = j < other.length ? (other[j] as number) : Number.POSITIVE_INFINITY
    if (left <= right) i++
    if (right <= left) j++
    all[count++] = Math.min(left, right)
  }
  return all.subarray(0, count)
}

/** The node with another text in its lexemes. */
export function withText(node: Node, text: string, instead: string): Node {
  if (!('op' in node)) {
    return node.lexeme.includes(text) ? { ...node, lexeme: node.lexeme.replaceAll(text, () => instead) } : node
  }
  switch (node.op) {
    case 'and':
    case 'or':
    case 'phrase':
      return { op: node.op, of: node.of.map((each) => withText(each, text, instead)) }
    case 'seen':
      return { ...node, of: withText(node.of, text, instead) }
    default:
      return node
  }
}
