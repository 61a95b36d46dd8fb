import type { Random } from './random.ts'
import { Raw } from './wire.ts'

const numbers = [
  0,
  -0,
  1,
  -1,
  1.5,
  2 ** 31 - 1,
  2 ** 31,
  2 ** 32,
  2 ** 53 - 1,
  2 ** 53,
  2 ** 53 + 2,
  -(2 ** 53),
  2 ** 63,
  9.2e18,
  1e308,
  -1e308,
  5e-324,
]

const texts = [
  '',
  ' ',
  '0',
  '1',
  'true',
  'null',
  '\u0000',
  'a\u0000b',
  '\ud800',
  'x\udc00y',
  '\ufeff',
  '\u202e\u200f',
  'é́́́́',
  'İıſK',
  '👩‍👩‍👧‍👦',
  '%00',
  '%',
  '\\',
  "'",
  '"',
  '`',
  '$1',
  '{{x}}',
  "'; drop table object; --",
  '../../etc/passwd',
  '<script>alert(1)</script>',
  '*',
  '?*?*?*?*',
  '((((((((((a+)+)+)+)+',
  '[a-',
  '__proto__',
  'constructor',
  'toString',
  '_fulltext',
  '_all_fields',
  'HEAD',
  'NaN',
  'Infinity',
  '1e999',
  '0x10',
  '9007199254740993',
  '-9223372036854775809',
  '2024-02-30',
  '0000-00-00',
  '-0044-03-15',
  '99999-01-01',
  '2024-01-01T25:61:61Z',
  '2024-01-01T00:00:00+99:99',
  '10000000000',
  'en-US',
  'de-DE',
  'xx-xx-xx',
  'http://127.0.0.1:1/',
  'a@b',
  ',,,',
  '1,2-30,4',
  '5-1',
  '::',
  'system:root',
  ':all',
]

const rawNumbers = ['1e400', '-1e400', '00', '1.', '.5', '+1', 'NaN', 'Infinity', 'undefined', '9'.repeat(400), '/**/1']

/** A value of any type that careless code does not expect. */
export function hostileValue(random: Random): unknown {
  switch (random.below(10)) {
    case 0:
      return random.pick([null, true, false])
    case 1:
    case 2:
      return random.pick(numbers)
    case 3:
    case 4:
    case 5:
      return hostileText(random)
    case 6:
      return random.pick([[], {}, [[]], [null], [{}], { _id: 1 }, { _id: '1' }, { 'lookup:_id': {} }, { a: { b: [] } }])
    case 7:
      return deep(random.pick([10, 60, 200, 1500]))
    case 8:
      return Array.from({ length: random.pick([2, 100, 1200]) }, (_, index) => random.pick([1, 'a', null, index]))
    default:
      return random.chance(0.1) ? new Raw(random.pick(rawNumbers)) : { constructor: { prototype: {} }, length: 1e9 }
  }
}

/** Pieces that make patterns backtrack, or parsers fail: each is repeated. */
const pieces = [
  ...[
    '.',
    ' ',
    '\t',
    '\n',
    '/',
    '\\',
    '<',
    '<a>',
    '<!--',
    '(',
    '()',
    '[',
    '{',
    '"',
    "'",
    '*',
    '?*',
    '%',
    '_',
    '=(',
    '%(',
  ],
  ...['a', 'a.', 'a,', 'a ', 'a=', 'aA', '0', '9', '-', '+', ',', ';', ':', '@', '&', '&amp;', '$', '^', '|', '~', '#'],
  ...[
    '\u0301\u0316',
    '\u0301',
    'é',
    'ﾞ',
    'ß',
    '\u200d',
    '👩\u200d',
    '\u00a0',
    '가',
    '.{1,1000}',
    '\\pL',
    '(a|',
    '{{',
    'x=1&',
  ],
]

/**
 * One piece again and again, or several one after the other, with or without an unfitting piece at an end, up to the
 * given length.
 */
export function longText(random: Random, longest: number): string {
  const runs = random.pick([1, 4])
  const run = Array.from({ length: runs }, () => {
    const piece = random.pick(pieces)
    return piece.repeat(Math.floor(longest / runs / piece.length))
  }).join('')
  return random.pick([run, `${run}!`, `a${run}b`, `!${run}`, `*${run}*`])
}

export function hostileText(random: Random): string {
  const length = random.pick([300, 5000, 70_000])
  if (random.chance(0.05)) return random.pick(['x', 'é', '\u0000', '👍', ' ', '(', '\\']).repeat(length)
  if (random.chance(0.1)) return randomText(random)
  return random.pick(texts)
}

function randomText(random: Random): string {
  return Array.from({ length: 1 + random.below(12) }, () => String.fromCharCode(random.below(0x3000))).join('')
}

export function hostileNumber(random: Random): number {
  return random.pick(numbers)
}

function deep(levels: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { a: value }
  return value
}
