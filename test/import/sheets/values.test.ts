import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { defused, fused } from '../../../src/import/sheets/load/error-cells.ts'
import { type DayOrder, readDate, saysNoDate } from '../../../src/import/sheets/values/dates.ts'
import { KeySet } from '../../../src/import/sheets/values/key-set.ts'
import { readBoolean, readDouble, readHundredths, readInteger } from '../../../src/import/sheets/values/numbers.ts'
import { cellText, isAddress, partsOf } from '../../../src/import/sheets/values/text.ts'
import { parseDate } from '../../../src/platform/values/dates.ts'

test('dates as catalogues write them', () => {
  const exact: [string, string, DayOrder?][] = [
    ['1890', '1890'],
    ['1890-05', '1890-05'],
    ['1890-05-03', '1890-05-03'],
    ['1890-05-03T10:00:00', '1890-05-03T10:00:00'],
    ['3.5.1890', '1890-05-03'],
    ['03.05.1890', '1890-05-03'],
    ['3/4/1890', '1890-04-03'],
    ['3/4/1890', '1890-03-04', 'mdy'],
    ['05/1890', '1890-05'],
    ['3. Mai 1890', '1890-05-03'],
    ['Mai 1890', '1890-05'],
    ['May 3, 1890', '1890-05-03'],
    ['3rd March 1890', '1890-03-03'],
    ['Sept. 1890', '1890-09'],
    ['1er mars 1890', '1890-03-01'],
    ['200 v. Chr.', '-0199'],
    ['1 BC', '0000'],
  ]
  for (const [text, value, order = 'dmy'] of exact) {
    const { from, to, exact: is } = readDate(text, order) ?? {}
    assert.deepEqual([from, to, is], [value, value, true], text)
  }
  const spans: [string, string | undefined, string | undefined][] = [
    ['um 1890', '1890', '1890'],
    ['ca. 1890', '1890', '1890'],
    ['c. 1890', '1890', '1890'],
    ['1890 (?)', '1890', '1890'],
    ['[1890]', '1890', '1890'],
    ['wohl um 1890', '1890', '1890'],
    ['1890-95', '1890', '1895'],
    ['1890–1895', '1890', '1895'],
    ['1890/91', '1890', '1891'],
    ['1828-9', '1828', '1829'],
    ['exhibited 1845', '1845', '1845'],
    ['?c.1785', '1785', '1785'],
    ['c.1830–5', '1830', '1835'],
    ['1890 - 1895', '1890', '1895'],
    ['1890 bis 1895', '1890', '1895'],
    ['between 1890 and 1895', '1890', '1895'],
    ['um 1890/95', '1890', '1895'],
    ['Mai 1890 – Juni 1891', '1890-05', '1891-06'],
    ['vor 1890', undefined, '1890'],
    ['nach um 1890', '1890', undefined],
    ['after 1890', '1890', undefined],
    ['19. Jh.', '1801', '1900'],
    ['19th century', '1801', '1900'],
    ['18./19. Jh.', '1701', '1900'],
    ['2. Hälfte 19. Jh.', '1851', '1900'],
    ['first half of the 18th century', '1701', '1750'],
    ['1. Viertel des 20. Jahrhunderts', '1901', '1925'],
    ['Mitte 19. Jh.', '1801', '1900'],
    ['1880er', '1880', '1889'],
    ['1880s', '1880', '1889'],
  ]
  for (const [text, from, to] of spans) {
    const found = readDate(text, 'dmy')
    assert.deepEqual([found?.from, found?.to, found?.exact], [from, to, false], text)
  }
  for (const text of [
    '',
    'quatsch',
    '1895-90',
    '31.2.1890',
    '13/13/1890',
    '0. Jh.',
    '1890, 1891',
    'Foo 1890',
    '189',
    '1890-1895-1900',
  ]) {
    assert.equal(readDate(text, 'dmy'), null, text)
  }
  for (const text of ['o. J.', 'n.d.', 'undatiert', 'unknown', '?']) assert.ok(saysNoDate(text), text)
})

test('whatever is read as a date is one that the interface takes, and its ends are in order', () => {
  const word = fc.constantFrom(
    'um',
    'ca.',
    'vor',
    'bis',
    'Mai',
    'Jh.',
    '19.',
    'century',
    '1890',
    '95',
    '3',
    '.',
    '/',
    '-',
    '–',
    ' ',
    'v. Chr.',
    '?',
    'BC',
  )
  fc.assert(
    fc.property(fc.array(word, { maxLength: 7 }), fc.boolean(), (words, spaced) => {
      const date = readDate(words.join(spaced ? ' ' : ''), 'dmy')
      if (!date) return
      const [from, to] = [date.from, date.to].map((end) => (end === undefined ? undefined : parseDate(end)))
      assert.ok(from !== null && to !== null && (from ?? to))
      if (from && to) assert.ok(from.from <= to.to)
    }),
    { numRuns: 3000 },
  )
})

test('numbers with the signs of several countries', () => {
  const cases: [(text: string) => unknown, string, unknown][] = [
    [(text) => readInteger(text, '.'), '1234', 1234],
    [(text) => readInteger(text, '.'), '1,234', 1234],
    [(text) => readInteger(text, ','), '1.234', 1234],
    [(text) => readInteger(text, '.'), '1 234', 1234],
    [(text) => readInteger(text, '.'), '−5', -5],
    [(text) => readInteger(text, '.'), '5.0', 5],
    [(text) => readInteger(text, '.'), '5.5', null],
    [(text) => readInteger(text, '.'), '9007199254740993', null],
    [(text) => readInteger(text, '.'), '12a', null],
    [(text) => readHundredths(text, ','), '12,5', 1250],
    [(text) => readHundredths(text, ','), '-0,07', -7],
    [(text) => readHundredths(text, ','), '1.234,56', 123_456],
    [(text) => readHundredths(text, ','), '1,234', null],
    [(text) => readHundredths(text, '.'), '.5', null],
    [(text) => readDouble(text, '.'), '1.2345', 1.2345],
    [(text) => readDouble(text, '.'), '1e-7', 1e-7],
    [(text) => readDouble(text, '.'), '1e999', null],
    [readBoolean, 'Ja', true],
    [readBoolean, 'no', false],
    [readBoolean, '1', true],
    [readBoolean, 'vielleicht', null],
  ]
  for (const [read, text, value] of cases) assert.equal(read(text), value, text)
})

test('cells become texts, addresses and lists of values', () => {
  assert.equal(cellText(' Mu\u0308ller\r\nAnna '), 'Müller\nAnna')
  assert.deepEqual(partsOf(' a;; b ;a;c\nd', ';'), ['a', 'b', 'c d'])
  assert.ok(
    isAddress('https://example.org/a.jpg') && !isAddress('ftp://example.org/a.jpg') && !isAddress('a https://b'),
  )
})

test('keys are told apart, however many', () => {
  const keys = new KeySet(50_000)
  for (let number = 0; number < 50_000; number++) assert.equal(keys.add(`key ${number}`), true)
  for (let number = 0; number < 50_000; number += 97) assert.equal(keys.add(`key ${number}`), false)
  assert.equal(keys.add('one more'), null)
})

test('a cell of an errors file comes back as it was, and is never a formula', () => {
  fc.assert(
    fc.property(fc.string(), fc.constantFrom('', '=', "'", '+', '-', '@', "'=", "''="), (text, start) => {
      const cell = start + text
      assert.equal(fused(defused(cell)), cell)
      assert.doesNotMatch(defused(cell), /^[=+\-@\t\r]/)
    }),
  )
})
