import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { fold, longestWord, patterns, token, words } from '../../src/search/document/analyze.ts'

test('words are runs of letters, digits and some symbols, folded', () => {
  const cases: [string, string[]][] = [
    ['The Bär, the BEAR & 5%', ['the', 'bar', 'the', 'bear', '&', '5%']],
    ['Straße strasse STRASSE', ['strasse', 'strasse', 'strasse']],
    ['Ærø Œuvre Łódź Ørsted', ['aero', 'oeuvre', 'lodz', 'orsted']],
    ['e\u0301tude étude ÉTUDE', ['etude', 'etude', 'etude']],
    ['x-ray 12:30 a.b_c', ['x', 'ray', '12', '30', 'a', 'b', 'c']],
    ['ﬁnd ² Ⅷ ｆｕｌｌ', ['find', '2', 'viii', 'full']],
    ['ΣΊΣΥΦΟΣ Сізіф', ['σισυφοσ', 'сізіф']],
    ['हिन्दी 日本 한국어', ['हिन्दी', '日本', '한국어']],
    ['İstanbul ISTANBUL ıstanbul', ['istanbul', 'istanbul', 'istanbul']],
    ['a😀b', ['a😀b']],
    ['', []],
    [' \n\t-', []],
  ]
  for (const [text, expected] of cases) assert.deepEqual([...words(text)], expected, text)
})

test('a token is the whole value, folded', () => {
  assert.equal(token('  A$5667/Bär  '), 'a$5667/bar')
  assert.equal(token('x'.repeat(500)).length, longestWord)
})

test('folding is stable: what is folded stays as it is', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      const folded = fold(text)
      assert.equal(fold(folded), folded)
      assert.equal(fold(text.toUpperCase()), fold(text.toUpperCase().toLowerCase()))
    }),
    { numRuns: 3000 },
  )
})

test('words survive any text, and are words themselves', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => {
      for (const word of words(text)) {
        assert.ok(word.length <= longestWord)
        assert.ok(word.isWellFormed())
        assert.deepEqual([...words(word)], [word])
      }
    }),
    { numRuns: 3000 },
  )
})

test('patterns keep their wildcards, a backslash takes them away', () => {
  const shown = (text: string, as: 'words' | 'token' = 'words') =>
    patterns(text, as).map(({ parts }) =>
      parts.map((part) => ('literal' in part ? part.literal : part.wildcard)).join('·'),
    )
  assert.deepEqual(shown('Tür* *me?er'), ['tur·*', '*·me·?·er'])
  assert.deepEqual(shown('a**b *'), ['a·*·b', '*'])
  assert.deepEqual(shown('*02-abc-def*'), ['*·02', 'abc', 'def·*'])
  assert.deepEqual(shown('*02-abc*', 'token'), ['*·02-abc·*'])
  assert.deepEqual(shown('50\\% \\*x', 'token'), ['50% *x'])
  assert.deepEqual(shown('a\\?b'), ['a', 'b'])
  assert.deepEqual(shown('- ,'), [])
})
