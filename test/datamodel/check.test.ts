import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compileCheck } from '../../src/datamodel/check/compile.ts'
import { compilePattern } from '../../src/datamodel/regexp.ts'

const satisfied: [string, unknown, boolean][] = [
  ['value > 3', 4, true],
  ['value > 3', 3, false],
  ['value >= 0 and value < 100', 100, false],
  ['value < 0 or value > 10', 11, true],
  ['not (value = 5)', 5, false],
  ['not not value = 5', 5, true],
  ['value between 1 and 3', 3, true],
  ['value not between 1 and 3', 3, false],
  ["value in ('a', 'b')", 'b', true],
  ["value not in ('a', 'b')", 'b', false],
  ["lower(value) like 'inv-%'", 'INV-12', true],
  ["value like 'a_c'", 'abc', true],
  ["value like 'a_c'", 'abbc', false],
  ["value like '%b%b%'", 'abab', true],
  ["value = 'it''s'", "it's", true],
  ['length(value) <= 2', 'äöü', false],
  ['length(value) = 1', '😀', true],
  ['value % 2 = 0', 3, false],
  ['value + 2 * 3 = 7', 1, true],
  ['(value + 2) * 3 = 9', 1, true],
  ['-value < 0', 1, true],
  ['value <> 3', 'x', true],
  ['value > 3', '4', true],
  ['value is null', undefined, true],
  ['value is not null', undefined, false],
  ['value > 3', undefined, true],
  ['value / 0 > 1', 1, true],
  ['value', true, true],
  ['value = true', false, false],
  ["value >= '1900'", { value: '1850-03' }, false],
  ['from < to', { from: '1900', to: '1910' }, true],
  ['length(value) > 1', { 'de-DE': 'ab', 'en-US': 'a' }, false],
  ["VALUE = 'and'", 'and', true],
]
for (const [source, value, expected] of satisfied) {
  test(`check "${source}" of ${JSON.stringify(value)} is ${expected}`, () => {
    const check = compileCheck(source)
    assert.ok(typeof check === 'function', String(check))
    assert.equal(check(value), expected)
  })
}

test('checks that cannot be read say where', () => {
  for (const source of [
    'value >',
    '(value',
    'value = 1 2',
    'other = 1',
    "value = 'x",
    'length value',
    'value in ()',
    'value ; 1',
    '',
  ]) {
    assert.match(String(compileCheck(source)), /^The check cannot be read at "/, source)
  }
  assert.match(String(compileCheck(`${'('.repeat(60)}1${')'.repeat(60)}`)), /nested too deeply/)
  assert.match(String(compileCheck(`value = '${'x'.repeat(3000)}'`)), /longer than/)
})

test('no text breaks the parser, and no value the check', () => {
  const words = fc.constantFrom(
    'value',
    'from',
    '(',
    ')',
    'and',
    'or',
    'not',
    'in',
    'like',
    'between',
    '<',
    '=',
    '1',
    "'a'",
    ',',
    '-',
    '%',
    'length',
    'is',
    'null',
  )
  fc.assert(
    fc.property(fc.array(words, { maxLength: 12 }), fc.jsonValue(), (list, value) => {
      const check = compileCheck(list.join(' '))
      if (typeof check === 'function') assert.equal(typeof check(value), 'boolean')
    }),
    { numRuns: 3000 },
  )
})

test('patterns match anywhere unless anchored, with their flags', () => {
  const matches = (source: string, flags: string, text: string) => {
    const pattern = compilePattern(source, flags)
    return typeof pattern === 'string' ? pattern : pattern.test(text)
  }
  assert.equal(matches('b', '', 'abc'), true)
  assert.equal(matches('^b', '', 'abc'), false)
  assert.equal(matches('ÄB', 'i', 'äb'), true)
  assert.equal(matches('^b$', 'm', 'a\nb'), true)
  assert.equal(matches('a.b', '', 'a\nb'), false)
  assert.equal(matches('a.b', 's', 'a\nb'), true)
  assert.equal(matches('^\\p{L}+$', 'u', 'Åke'), true)
  assert.equal(matches('^\\u00e4\\/$', '', 'ä/'), true)
  assert.equal(matches('^.$', '', '😀'), true)
  assert.match(String(matches('(a)\\1', '', 'aa')), /cannot be used/)
  assert.match(String(matches('a', 'gg', 'a')), /flag "g"/)
})

test('patterns that are catastrophic elsewhere take linear time', () => {
  for (const source of ['^(a+)+$', '^(a|a?)+$', '(x+x+)+y', '^(([a-z])+.)+[A-Z]([a-z])+$', '(.*)*(.*)*(.*)*!b']) {
    const pattern = compilePattern(source, '')
    assert.ok(typeof pattern !== 'string', String(pattern))
    const start = performance.now()
    pattern.test(`${'ax'.repeat(20_000)}!`)
    assert.ok(performance.now() - start < 2000, source)
  }
})
