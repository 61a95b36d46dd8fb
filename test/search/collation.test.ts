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

test('keys are bounded, and long texts keep the order of their beginnings', () => {
  const { key } = collation('de-DE')
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), (text) => {
      assert.ok(key(text, { numeric: true, maxLength: 20 }).length <= 3 * 20 + 200)
      assert.ok(Buffer.compare(key(text, { numeric: true }), key(`${text}z`, { numeric: true })) <= 0)
    }),
    { numRuns: 2000 },
  )
  assert.equal(key('x'.repeat(10_000), { numeric: true }).length, 64)
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
