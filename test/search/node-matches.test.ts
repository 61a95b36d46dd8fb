import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { everything } from '../../src/rights/service.ts'
import { type LexemeColumn, newBits, type ObjectTable, setBit } from '../../src/search/postgres/bitmaps/column.ts'
import {
  addNeeds,
  type Matches,
  matchesOf,
  noNeeds,
  type SharedNode,
  withText,
} from '../../src/search/postgres/bitmaps/node-matches.ts'
import type { Node } from '../../src/search/postgres/query/sql/tsquery.ts'

/** Objects by their positions; each has some of a few lexemes, is visible at a place or not, and has a shared set or not. */
const thing = fc.record({
  lexemes: fc.uniqueArray(fc.constantFrom('~a', '~b', 'c:a', '@b', 'c=x')),
  seen: fc.boolean(),
  shared: fc.boolean(),
})
type Thing = typeof thing extends fc.Arbitrary<infer T> ? T : never

const place = everything
const sharedNode: SharedNode = { op: 'shared', of: { lexeme: '_f1' } }

const { node } = fc.letrec<{ node: Node }>((tie) => ({
  node: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom<Node>({ lexeme: '~a' }, { lexeme: '~b' }, { lexeme: 'c:a' }, { lexeme: '@b' }, { lexeme: 'c=x' }),
    fc.constant<Node>(sharedNode),
    tie('node').map((of): Node => ({ op: 'seen', place, of })),
    fc
      .tuple(fc.constantFrom('and', 'or'), fc.array(tie('node'), { minLength: 1, maxLength: 7 }))
      .map(([op, of]): Node => ({ op, of })),
  ),
}))

function naive(each: Node, { lexemes, seen, shared }: Thing): boolean {
  if (!('op' in each)) return lexemes.includes(each.lexeme as Thing['lexemes'][number])
  if (each.op === 'and') return each.of.every((one) => naive(one, { lexemes, seen, shared }))
  if (each.op === 'or') return each.of.some((one) => naive(one, { lexemes, seen, shared }))
  if (each.op === 'seen') return seen && naive(each.of, { lexemes, seen, shared })
  return shared
}

const bitsOf = (things: readonly Thing[], has: (each: Thing) => boolean): Uint32Array => {
  const bits = newBits(things.length)
  for (const [index, each] of things.entries()) if (has(each)) setBit(bits, index)
  return bits
}

/** `cut`: the number of objects of a lexeme beyond which the rest is not known. */
function answered(things: readonly Thing[], asked: Node, cut: number): Matches {
  const needs = noNeeds()
  assert.equal(addNeeds(asked, needs), true)
  const column = (text: string): LexemeColumn => {
    const has = (each: Thing): boolean => each.lexemes.includes(text as Thing['lexemes'][number])
    if (text === '~b') return { kind: 'matches', bits: bitsOf(things, has) }
    const places = things.flatMap((each, index) => (has(each) ? [index] : []))
    return { kind: 'places', places: Uint32Array.from(places.slice(0, cut)), whole: places.length <= cut }
  }
  return matchesOf(asked, {
    table: { ids: new Uint32Array(things.length) } as ObjectTable,
    lexemes: new Map([...needs.lexemes].map((text) => [text, column(text)])),
    seen: new Map([...needs.seen].map((each) => [each, bitsOf(things, ({ seen }) => seen)])),
    shared: new Map([...needs.shared].map((each) => [each, bitsOf(things, ({ shared }) => shared)])),
  })
}

const positions = ({ of }: Matches, count: number): number[] =>
  'places' in of
    ? [...of.places]
    : Array.from({ length: count }, (_, index) => index).filter(
        (index) => ((of.bits[index >>> 5] as number) >>> (index & 31)) & 1,
      )

test('a condition on lexemes finds what looking at each object finds', () => {
  fc.assert(
    fc.property(fc.array(thing, { maxLength: 100 }), node, (things, asked) => {
      const expected = things.flatMap((each, index) => (naive(asked, each) ? [index] : []))
      const found = answered(things, asked, Number.POSITIVE_INFINITY)
      assert.deepEqual(positions(found, things.length), expected)
      assert.equal(found.whole, true)
    }),
  )
})

test('where not all objects of a lexeme are known, some are found, and whether these are all is told', () => {
  fc.assert(
    fc.property(fc.array(thing, { maxLength: 60 }), node, fc.nat(8), (things, asked, cut) => {
      const expected = things.flatMap((each, index) => (naive(asked, each) ? [index] : []))
      const found = answered(things, asked, cut)
      const some = positions(found, things.length)
      assert.ok(some.every((each) => expected.includes(each)))
      if (found.whole) assert.deepEqual(some, expected)
    }),
  )
})

test('what lexemes alone do not answer is told', () => {
  const of: Node = { lexeme: '~a' }
  const others: Node[] = [
    { lexeme: '~a', prefix: true },
    { op: 'not', of },
    { op: 'phrase', of: [of, of] },
    { op: 'and', of: [of, { op: 'seen', place, of: { op: 'not', of } }] },
  ]
  for (const each of others) assert.equal(addNeeds(each, noNeeds()), false, JSON.stringify(each))
})

test('a text in lexemes is replaced by another, whatever characters that has', () => {
  const template: Node = { op: 'or', of: [{ op: 'seen', place, of: { lexeme: '~%' } }, { lexeme: 'c:%' }, sharedNode] }
  assert.deepEqual(withText(template, '%', "$&'\\"), {
    op: 'or',
    of: [{ op: 'seen', place, of: { lexeme: "~$&'\\" } }, { lexeme: "c:$&'\\" }, sharedNode],
  })
})
