import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { hasBit, matchesIn, newBits, type ObjectTable, setBit } from '../../src/search/postgres/bitmaps/column.ts'
import {
  countBits,
  countNumbers,
  findAccessible,
  findMatches,
  idsInOrder,
} from '../../src/search/postgres/bitmaps/match.ts'
import type { AccessSetCondition } from '../../src/search/postgres/query/access/access-sets.ts'

/** An object as the naive evaluation sees it; what stands in lists of two is asked for by one of two columns each. */
interface Thing {
  readonly id: number
  readonly set: number
  readonly people: number
  readonly fulfils: readonly [boolean, boolean]
  readonly span: { readonly first: bigint; readonly length: bigint } | undefined
  readonly number: number
  readonly rank: number
}

/** Around the borders of 32 and 64 bits. */
const part = fc.oneof(
  fc.bigInt(0n, 5n),
  fc.bigInt(0xfffffffdn, 0x100000003n),
  fc.bigInt(0xfffffffffffffffan, 0xffffffffffffffffn),
)
const thing = fc.record({
  id: fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 2 ** 31 - 1 })),
  set: fc.integer({ min: 1, max: 6 }),
  people: fc.integer({ min: 1, max: 4 }),
  fulfils: fc.tuple(fc.boolean(), fc.boolean()),
  span: fc.option(fc.record({ first: part, length: fc.bigInt(0n, 3n) }), { nil: undefined }),
  number: fc.nat(3),
  rank: fc.nat(),
})
const things = fc.uniqueArray(thing, { selector: ({ id }) => id, maxLength: 150 })
const bound = fc.option(part, { nil: null })

const highest = 2n ** 64n - 1n
const endOf = ({ first, length }: { first: bigint; length: bigint }): bigint =>
  first + length > highest ? highest : first + length

function bitsOf(list: readonly Thing[], fits: (each: Thing) => boolean): Uint32Array {
  const bits = newBits(list.length)
  for (const [place, each] of list.entries()) if (fits(each)) setBit(bits, place)
  return bits
}

const ascending = (a: bigint, b: bigint): number => (a < b ? -1 : 1)
const halves = (value: bigint) => [Number(value >> 32n), Number(value & 0xffffffffn)] as const

function partsOf(list: readonly Thing[], of: (span: NonNullable<Thing['span']>) => bigint): Uint32Array {
  return Uint32Array.from(list.flatMap(({ span }) => halves(span ? of(span) : 0n)))
}

/** Conditions on the sets of both kinds. */
const sets = (kind: 'shared' | 'people', numbers: number[]) =>
  fc.subarray(numbers).map(
    (few): AccessSetCondition => ({
      is: 'sets',
      kind,
      key: '',
      by: 'access',
      sets: { query: '', few, bits: bitsFor(few), upTo: 6 },
    }),
  )
/** In the lists of collections. */
const lists = fc
  .array(fc.uniqueArray(fc.integer({ min: 1, max: 40 })), { maxLength: 2 })
  .map((all): AccessSetCondition => {
    const set = {
      has: (id: number) => all.some((ids) => ids.includes(id)),
      size: all.flat().length,
      lists: all.map((ids) => Float64Array.from(ids).sort()),
      bits: () => null,
      bitBytes: 0,
      toJSON: () => JSON.stringify(all),
    }
    return { is: 'member', member: { collections: [], objects: set } }
  })
const bitsFor = (ids: readonly number[]): Buffer => Buffer.of(ids.reduce((sum, id) => sum | (1 << id), 0))
const { access } = fc.letrec<{ access: AccessSetCondition }>((tie) => ({
  access: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    sets('shared', [1, 2, 3, 4, 5, 6]),
    sets('people', [1, 2, 3, 4]),
    lists,
    fc
      .tuple(fc.constantFrom('and' as const, 'or' as const), fc.array(tie('access'), { maxLength: 3 }))
      .map(([is, of]): AccessSetCondition => ({ is, of })),
    tie('access').map((of): AccessSetCondition => ({ is: 'not', of })),
  ),
}))

function isAccessible(known: AccessSetCondition, each: Pick<Thing, 'id' | 'set' | 'people'>): boolean {
  if (known.is === 'sets') {
    const number = known.kind === 'shared' ? each.set : each.people
    return known.sets.few?.includes(number) === true
  }
  if (known.is === 'member') return known.member.objects.has(each.id)
  if (known.is === 'not') return !isAccessible(known.of, each)
  return known.is === 'and'
    ? known.of.every((one) => isAccessible(one, each))
    : known.of.some((one) => isAccessible(one, each))
}

test('columns find, count and order what a naive evaluation does', async () => {
  await fc.assert(
    fc.asyncProperty(
      things,
      fc.record({ readable: access, both: fc.boolean(), atLeast: bound, atMost: bound }),
      fc.record({ among: fc.array(fc.nat(200)), not: fc.boolean(), without: fc.array(fc.nat(200)) }),
      fc.record({ from: fc.nat(20), length: fc.nat(30) }),
      async (unsorted, asked, listed, page) => {
        const list = unsorted.toSorted((a, b) => a.id - b.id)
        const setsOf = (of: (each: Thing) => number) => {
          const numbers = [...new Set(list.map(of))]
          return { of: Uint16Array.from(list.map((each) => numbers.indexOf(of(each)))), numbers }
        }
        const table: ObjectTable = {
          type: 1,
          asOf: 0,
          ids: Uint32Array.from(list.map(({ id }) => id)),
          shared: setsOf(({ set }) => set),
          people: setsOf(({ people }) => people),
        }
        const idsAt = (places: readonly number[]): number[] => places.map((place) => list[place]?.id ?? place)
        const [among, without] = [idsAt(listed.among), idsAt(listed.without)]
        const readable = await findAccessible(table, asked.readable)
        assert.ok(readable)
        const spans = list.flatMap(({ span }) => span ?? [])
        const bits = await findMatches({
          table,
          conditions: [
            readable,
            ...(asked.both ? [0, 1] : [0]).map((number) => ({
              kind: 'matches' as const,
              bits: bitsOf(list, ({ fulfils }) => fulfils[number as 0 | 1]),
            })),
          ],
          among: [{ ids: among, not: listed.not }],
          ranges: [
            {
              keys: {
                kind: 'keys',
                has: bitsOf(list, ({ span }) => span !== undefined),
                firsts: partsOf(list, ({ first }) => first),
                lasts: partsOf(list, endOf),
                highestFirst: halves(
                  spans
                    .map(({ first }) => first)
                    .toSorted(ascending)
                    .at(-1) ?? 0n,
                ),
                lowestLast: halves(spans.map(endOf).toSorted(ascending)[0] ?? highest),
              },
              atLeast: asked.atLeast,
              atMost: asked.atMost,
            },
          ],
          without,
        })
        const expected = list.filter(
          ({ id, set, people, fulfils, span }) =>
            isAccessible(asked.readable, { id, set, people }) &&
            fulfils[0] &&
            (fulfils[1] || !asked.both) &&
            among.includes(id) !== listed.not &&
            !without.includes(id) &&
            span &&
            (asked.atLeast === null || endOf(span) >= asked.atLeast) &&
            (asked.atMost === null || span.first <= asked.atMost),
        )
        assert.deepEqual(
          list.filter((_, place) => hasBit(bits, place)),
          expected,
        )
        assert.equal(countBits(bits), expected.length)
        const places = Uint32Array.from(expected.toReversed().map((each) => list.indexOf(each)))
        assert.deepEqual(matchesIn(table, { kind: 'order', places }), { kind: 'matches', bits })
        const numbers = {
          kind: 'numbers',
          placeOf: Int32Array.from(list.map(({ number }) => number)),
          numbers: [0, 7, 8, 9],
        } as const
        const counted = Map.groupBy(
          expected.filter(({ number }) => number > 0),
          ({ number }) => numbers.numbers[number] as number,
        )
        assert.deepEqual(
          [...(await countNumbers(bits, numbers))].sort(),
          [...counted].map(([number, { length }]) => [number, length]).sort(),
        )
        const ordered = list.toSorted((a, b) => a.rank - b.rank || a.id - b.id)
        const order = { kind: 'order', places: Uint32Array.from(ordered.map((each) => list.indexOf(each))) } as const
        assert.deepEqual(
          await idsInOrder(bits, table, order, page.from, page.from + page.length),
          ordered
            .filter((each) => expected.includes(each))
            .slice(page.from, page.from + page.length)
            .map(({ id }) => id),
        )
      },
    ),
    { numRuns: 500 },
  )
})

test('where it is not known whether objects may be read, nothing is said', async () => {
  const column = (number: number) => ({ of: Uint16Array.of(0), numbers: [number] })
  const known: AccessSetCondition = {
    is: 'sets',
    kind: 'people',
    key: '',
    by: 'access',
    sets: { query: '', few: [3], bits: bitsFor([3]), upTo: 5 },
  }
  for (const number of [0, 6]) {
    const table = { type: 1, asOf: 0, ids: Uint32Array.of(5), shared: column(1), people: column(number) }
    assert.equal(await findAccessible(table, known), null)
    assert.equal(await findAccessible(table, { is: 'not', of: known }), null)
  }
})
