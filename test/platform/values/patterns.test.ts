import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { RE2JS } from 're2js'
import { judged, patternsIn } from '../../../scripts/check-patterns.ts'
import { nameFrom } from '../../../src/files/delivery/file-names.ts'
import { attributeTemplate } from '../../../src/platform/values/attribute-templates.ts'
import { certificateTexts } from '../../../src/platform/values/certificate-texts.ts'
import { estimatedSize, PatternError, patternBudget } from '../../../src/platform/values/patterns.ts'
import { normalized, withoutEnd, withoutEnds } from '../../../src/platform/values/text.ts'
import { fold, words } from '../../../src/search/document/analyze.ts'

const piece = fc.oneof(
  fc.constantFrom('a', '.', '\\d', '\\pL', '\\p{Greek}', '[a-z]', '[^]x]', '[[:alpha:]\\d]', '\\.', '^', '$', '{', 'é'),
  fc.constantFrom('(?:ab)', '(a|bc)', '(?i:k)', '[\\]{9}]', '\\{9'),
)
const repeat = fc.constantFrom('', '', '*', '+?', '?', '{3}', '{2,}', '{0,7}', '{5,9}')
const pattern: fc.Arbitrary<string> = fc.letrec<{ all: string }>((tie) => ({
  all: fc
    .array(
      fc.oneof(
        { maxDepth: 3 },
        fc.tuple(piece, repeat).map(([one, times]) => one + times),
        fc.tuple(tie('all'), repeat).map(([one, times]) => `(${one})${times}`),
        fc.tuple(tie('all'), tie('all')).map(([one, other]) => `(?:${one}|${other})`),
      ),
      { maxLength: 5 },
    )
    .map((parts) => parts.join('')),
})).all

test('the size that a pattern will have is known before it is compiled: never much less than it is', () => {
  fc.assert(
    fc.property(pattern, (source) => {
      let compiled: RE2JS
      try {
        compiled = RE2JS.compile(source)
      } catch {
        return
      }
      const { size } = estimatedSize(source)
      assert.ok(size * 2 >= compiled.programSize(), `${source}: ${size}, and it has ${compiled.programSize()}`)
    }),
    { numRuns: 1000 },
  )
  assert.ok(estimatedSize('.{1,1000}'.repeat(50)).size >= 50_000)
  assert.ok(estimatedSize('((a{30}){30}){30}').size >= 27_000)
})

test('what is too large is refused uncompiled, alone or together with what came before', (t) => {
  const compile = t.mock.method(RE2JS, 'compile')
  const budget = patternBudget({ total: 2000 })
  assert.throws(() => budget.compile('.{1,1000}'.repeat(50)), PatternError)
  assert.throws(() => budget.compile('a'.repeat(2001)), PatternError)
  assert.throws(() => budget.compile('\\pL'.repeat(600)), PatternError)
  assert.equal(compile.mock.callCount(), 0)
  for (let at = 0; at < 2; at++) budget.compile(`x{${900 + at}}`)
  assert.throws(() => budget.compile('x{900}'), /together/)
  assert.ok(budget.compile('x{10}').test('x'.repeat(10)))
  assert.throws(() => budget.compile('('), PatternError)
})

test('the check of patterns finds what takes the square of the length of a text, and worse', async () => {
  const text = [
    'const a = [/[ .]+$/, /%\\((.*?)\\)s/gs, /^[a-z]+$/]',
    "const schema = { pattern: '^([\\\\w-][\\\\w.-]*/?)*$' }",
    'const b = new RegExp(a)',
  ].join('\n')
  const found = patternsIn('src/x.ts', text)
  assert.deepEqual(found.made, ['src/x.ts:3'])
  assert.deepEqual(
    found.patterns.map(({ place }) => place),
    ['src/x.ts:1', 'src/x.ts:1', 'src/x.ts:1', 'src/x.ts:2'],
  )
  const faults = (await judged(found.patterns)).map(({ fault }) => fault)
  assert.match(faults[0] ?? '', /polynomial/)
  assert.match(faults[1] ?? '', /polynomial/)
  assert.equal(faults[2], null)
  assert.match(faults[3] ?? '', /exponential/)
})

test('ends are taken off as patterns would take them off', () => {
  const text = fc.array(fc.constantFrom(' ', '.', 'a', 'é')).map((letters) => letters.join(''))
  fc.assert(
    fc.property(text, (one) => {
      assert.equal(withoutEnd(one, ' .'), one.replace(/[ .]+$/, ''))
      assert.equal(withoutEnds(one, ' .'), one.replaceAll(/^[ .]+|[ .]+$/g, ''))
    }),
  )
})

test('texts are in one form of Unicode, and marks without end cost no more than letters', () => {
  const text = fc.string({ unit: fc.constantFrom('e', '\u0301', '\u0316', 'é', 'ﾞ', '가', '\u0302'), maxLength: 300 })
  fc.assert(
    fc.property(text, (one) => {
      for (const form of ['NFC', 'NFKC', 'NFKD'] as const) {
        // Where no letter has more marks than are put in order at once, nothing differs.
        if (!/[\u0300-\u036fﾞ]{31}/.test(one)) assert.equal(normalized(one, form), one.normalize(form))
        assert.equal(normalized(one, form).normalize(form), normalized(one, form))
      }
    }),
  )
  const marks = `a${'\u0301\u0316'.repeat(80_000)}`
  const begun = performance.now()
  assert.equal(fold(marks), 'a')
  assert.deepEqual(words(`${marks} b`), ['a', 'b'])
  nameFrom(marks, 'jpg', 'jpg')
  // In order, all of them at once take half a minute each time.
  assert.ok(performance.now() - begun < 10_000)
})

test('names of files are cut in one walk, however many dots a text has', () => {
  const begun = performance.now()
  assert.equal(nameFrom(`a${'.'.repeat(160_000)}b`, 'jpg', 'jpg')?.startsWith('a'), true)
  assert.equal(nameFrom('. '.repeat(80_000), 'jpg', 'jpg'), null)
  assert.ok(performance.now() - begun < 10_000)
})

test('placeholders end at the first )s, and what is not closed is refused at once', () => {
  const valuesOf = (name: string) => (name === 'sn' ? ['Ng'] : [])
  assert.equal(attributeTemplate('%(sn)s, %(x)s!').expand(valuesOf), 'Ng, !')
  assert.throws(() => attributeTemplate(`${'%('.repeat(80_000)}`), /not closed/)
  assert.throws(() => attributeTemplate(`%(sn||${'.{1,1000}'.repeat(50)}||x)s`), /too large/)
})

test('certificates are found in a text of many beginnings', () => {
  const one = '-----BEGIN CERTIFICATE-----\nQQ==\n-----END CERTIFICATE-----'
  assert.deepEqual(certificateTexts(`x ${one}\n${one} y`), [one, one])
  assert.deepEqual(certificateTexts(`${'-----BEGIN CERTIFICATE-----\n'.repeat(40_000)}${one}`), [one])
})
