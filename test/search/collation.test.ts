import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { collation, prepareCollations } from '../../src/search/document/collation.ts'

const letters = [
  ...'aAbBcCdDeEhHlLmnsSzZyY',
  ...'áäåÄæÆœßøñçčČđěřšžőűłęıİ',
  ...'0123456789',
  ...' -,.\'"()[]–’²',
  'ﬁ',
  'ч',
  'Я',
  'γ',
  'é',
  '漢',
  '한',
]

/** Languages with letters, pairs and triples of their own. */
for (const language of [
  'en-US',
  'de-DE',
  'fr-FR',
  'sv-SE',
  'cs-CZ',
  'es-ES',
  'hu-HU',
  'hr-HR',
  'pl-PL',
  'tr-TR',
  'ru-RU',
]) {
  test(`keys sort as ICU sorts in ${language}`, () => {
    const { compare } = new Intl.Collator(language, { numeric: true })
    const { key } = collation(language)
    const text = fc.array(fc.constantFrom(...letters), { maxLength: 6 }).map((list) => list.join(''))
    fc.assert(
      fc.property(text, text, (a, b) => {
        const expected = Math.sign(compare(a, b))
        // What ICU takes for equal may still be told apart, but always in the same way.
        if (expected !== 0)
          assert.equal(Math.sign(Buffer.compare(key(a, { numeric: true }), key(b, { numeric: true }))), expected)
      }),
      { numRuns: 3000 },
    )
  })
}

test('numbers in texts count as numbers, unless told otherwise', () => {
  const { key } = collation('en-US')
  const sorted = (numeric: boolean) =>
    ['Car 100', 'Car 11', 'Car 9', 'car 9a', 'Car 011'].sort((a, b) =>
      Buffer.compare(key(a, { numeric }), key(b, { numeric })),
    )
  assert.deepEqual(sorted(true), ['Car 9', 'car 9a', 'Car 11', 'Car 011', 'Car 100'])
  assert.deepEqual(sorted(false), ['Car 011', 'Car 100', 'Car 11', 'Car 9', 'car 9a'])
})

test('texts of any length have an order, whatever they begin with', () => {
  const { key } = collation('de-DE')
  const compared = (a: string, b: string) => Buffer.compare(key(a, { numeric: true }), key(b, { numeric: true }))
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), (text) => {
      assert.ok(compared(text, `${text}z`) <= 0)
    }),
    { numRuns: 2000 },
  )
  for (const beginning of [
    'x'.repeat(10_000),
    'Ærø, 漢字 and 한글, 12345; '.repeat(1000),
    '9'.repeat(240).concat(' ').repeat(20),
  ]) {
    assert.equal(compared(`${beginning}a`, `${beginning}b`), -1)
    assert.equal(compared(`${beginning}a`, `${beginning}ä`), -1)
    assert.equal(compared(`${beginning} 2`, `${beginning} 10`), -1)
    assert.equal(compared(beginning, beginning), 0)
  }
})

test('tables that a thread builds give the same keys', async () => {
  // Nothing else keeps the process of this test alive.
  const alive = setInterval(() => {}, 1000)
  await prepareCollations(['da-DK', 'sl-SI', 'da-DK'])
  clearInterval(alive)
  for (const language of ['da-DK', 'sl-SI']) {
    const { compare } = new Intl.Collator(language, { numeric: true })
    const { key } = collation(language)
    const words = ['Aarhus', 'aal', 'Ål', 'Zebra', 'Ærø', 'Čas', 'cas', 'Šola', 'sola', 'Bind 2', 'Bind 10']
    const byKey = words.toSorted((a, b) => key(a, { numeric: true }).compare(key(b, { numeric: true })))
    assert.deepEqual(byKey, words.toSorted(compare))
  }
})
