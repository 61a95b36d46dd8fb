import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseDate } from '../../src/platform/values/dates.ts'
import {
  momentFrom,
  momentTo,
  openEnd,
  openStart,
  orderedMoment,
  orderedNumber,
  type Piece,
  rangePieces,
  sizeOf,
} from '../../src/search/document/ordered.ts'

const numbers = fc.oneof(
  fc.integer({ min: -3000, max: 3000 }),
  fc.maxSafeInteger(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(0, -0, 1, 10, 100, 19, 190, 1900, -1, -10, -19, 0.1, 0.19, -0.1, Number.MAX_VALUE, Number.MIN_VALUE),
)
const moments = fc.oneof(
  fc.bigInt({ min: -62_000_000_000n, max: 254_000_000_000n }),
  fc.bigInt({ min: -9_223_372_000_000_000_000n, max: 9_223_372_000_000_000_000n }),
)

const inside = (pieces: readonly Piece[], text: string): boolean =>
  pieces.some((piece) =>
    'exact' in piece ? piece.exact === text : text.startsWith(piece.prefix) && !inside(piece.but, text),
  )

const plain = (pieces: readonly Piece[]): boolean =>
  pieces.every((piece) => !('but' in piece) || piece.but.length === 0)

test('ordered texts sort as their numbers do', () => {
  fc.assert(
    fc.property(numbers, numbers, (a, b) => {
      const [left, right] = [orderedNumber(a), orderedNumber(b)]
      assert.equal(left < right, a < b, `${a} ${left} ${b} ${right}`)
      assert.equal(left === right, a === b)
    }),
    { numRuns: 5000 },
  )
})

test('ordered texts sort as their moments do', () => {
  assert.equal(orderedMoment(0n), 'pe19700101000000')
  for (const text of ['1785', '-0044-03-15', '+12345-06', '1999-12-31T23:59:59+01:00', '0000', '9999-12-31']) {
    const date = parseDate(text)
    assert.ok(date)
    assert.ok(orderedMoment(date.from) <= orderedMoment(date.to))
  }
  fc.assert(
    fc.property(moments, moments, (a, b) => {
      assert.equal(orderedMoment(a) < orderedMoment(b), a < b, `${a} ${b}`)
    }),
    { numRuns: 5000 },
  )
})

test('a range of numbers is covered by its pieces exactly', () => {
  fc.assert(
    fc.property(
      fc.option(numbers),
      fc.option(numbers),
      fc.boolean(),
      fc.boolean(),
      fc.array(numbers),
      fc.boolean(),
      (from, to, a, b, probes, single) => {
        const pieces = rangePieces(
          'number',
          from === null ? null : { text: orderedNumber(from), inclusive: a },
          to === null ? null : { text: orderedNumber(to), inclusive: b },
          { single },
        )
        assert.ok(single || plain(pieces))
        for (const probe of [...probes, from ?? 0, to ?? 0]) {
          const expected =
            (from === null || probe > from || (a && probe === from)) &&
            (to === null || probe < to || (b && probe === to))
          assert.equal(inside(pieces, orderedNumber(probe)), expected, `${probe} in ${from}..${to}`)
        }
      },
    ),
    { numRuns: 3000 },
  )
})

test('a range of moments is covered by its pieces exactly, open ends included', () => {
  fc.assert(
    fc.property(fc.option(moments), fc.option(moments), fc.array(moments), fc.boolean(), (from, to, probes, single) => {
      const bounds = [from === null ? null : momentFrom(from), to === null ? null : momentTo(to)] as const
      const pieces = rangePieces('moment', ...bounds, { single })
      assert.ok(single || plain(pieces))
      for (const probe of [...probes, from ?? 0n, to ?? 0n]) {
        const expected = (from === null || probe >= from) && (to === null || probe <= to)
        assert.equal(inside(pieces, orderedMoment(probe)), expected)
      }
      assert.equal(inside(pieces, openStart), from === null)
      assert.equal(inside(pieces, openEnd), to === null)
    }),
    { numRuns: 2000 },
  )
})

test('ranges of whole years, months and days have few pieces', () => {
  for (const [from, to, most, mostSingle] of [
    ['1800', '1900', 2, 2],
    ['1923-05', '2024-02', 40, 20],
    ['1923-05-01', '2023-12-31', 60, 25],
  ] as const) {
    const bounds = [momentFrom(parseDate(from)?.from ?? 0n), momentTo(parseDate(to)?.to ?? 0n)] as const
    for (const single of [false, true]) {
      const pieces = rangePieces('moment', ...bounds, { single })
      assert.ok(sizeOf(pieces) <= (single ? mostSingle : most), `${from}..${to}: ${JSON.stringify(pieces)}`)
      assert.ok(inside(pieces, orderedMoment(parseDate(to)?.to ?? 0n)))
      assert.ok(!inside(pieces, orderedMoment((parseDate(to)?.to ?? 0n) + 1n)))
      assert.ok(!inside(pieces, orderedMoment((parseDate(from)?.from ?? 0n) - 1n)))
    }
  }
})

test('wide ranges of numbers have few pieces where there is one value', () => {
  const number = (value: number) => ({ text: orderedNumber(value), inclusive: true })
  for (const [from, to] of [
    [700, 9_999_999],
    [0, 12_345_678],
    [-99_999, 99_999],
    [0.001, 123_456.789],
  ] as const) {
    const pieces = rangePieces('number', number(from), number(to), { single: true })
    assert.ok(sizeOf(pieces) <= 45, `${from}..${to}: ${sizeOf(pieces)}`)
  }
  assert.ok(sizeOf(rangePieces('number', number(700), number(9_999_999), { single: true })) <= 12)
})
