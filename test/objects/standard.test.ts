import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { computeStandard, linkedForStandard, sameStandard, standardText } from '../../src/objects/standard/compute.ts'
import type { Content, Standard } from '../../src/objects/stored/content.ts'
import { columnOf, fieldOf, maskOf, nestedOf, standardOf, tableOf } from './model-builder.ts'

const languages = ['en-US', 'de-DE']
const nothingLinked = () => undefined

const work = tableOf(1, 'work')
const title = columnOf(work, 10, 'title', 'text_l10n_oneline')
const number = columnOf(work, 11, 'number', 'string')
const year = columnOf(work, 12, 'year', 'daterange')
const price = columnOf(work, 13, 'price', 'integer.2')
const artist = columnOf(work, 14, 'artist', 'link')
const photo = columnOf(work, 15, 'photo', 'eas')
const place = columnOf(work, 16, 'place', 'geo_json')
const keywordTable = tableOf(2, 'work__keyword', 'nested')
const keyword = columnOf(keywordTable, 20, 'keyword', 'text')
const rank = columnOf(keywordTable, 21, 'rank', 'number')
const term = columnOf(keywordTable, 22, 'term', 'link')

function keywords(...words: string[]): Content {
  return { n2: words.map((word, index) => ({ _u: `u${index}`, '20': word, '21': words.length - index })) }
}

function textOf(
  fields: Parameters<typeof maskOf>[1],
  content: Content,
  linked: (id: number) => Standard | undefined = nothingLinked,
) {
  const slot = computeStandard(maskOf(work, fields), content, linked, languages)['1'] as
    | { text: Record<string, string> }
    | undefined
  return slot?.text
}

describe('text of a slot', () => {
  test('a text without language stands in every database language', () => {
    assert.deepEqual(textOf([fieldOf(number, { standard: standardOf(1) })], { '11': 'N01' }), {
      'en-US': 'N01',
      'de-DE': 'N01',
    })
  })

  test('a translated text stands in its languages only, and plain values beside it follow', () => {
    const fields = [
      fieldOf(number, { standard: standardOf(1, { format: 'colon' }) }),
      fieldOf(title, { standard: standardOf(1) }),
    ]
    assert.deepEqual(textOf(fields, { '11': 'N01', '10': { 'de-DE': 'Der See' } }), { 'de-DE': 'N01: Der See' })
  })

  for (const [format, expected] of [
    ['comma', 'A, B'],
    ['space', 'A B'],
    ['colon', 'A: B'],
    ['semicolon', 'A; B'],
    ['newline', 'A\nB'],
    ['brackets', '{A} B'],
    ['round-parentheses', '(A) B'],
    ['square-brackets', '[A] B'],
    ['dash', 'A - B'],
    ['pipe', 'A | B'],
  ] as const) {
    test(`format ${format} gives ${JSON.stringify(expected)}`, () => {
      const second = columnOf(work, 17, 'second', 'text')
      const fields = [
        fieldOf(number, { standard: standardOf(1, { format }) }),
        fieldOf(second, { standard: standardOf(1) }),
      ]
      assert.equal(textOf(fields, { '11': 'A', '17': 'B' })?.['en-US'], expected)
    })
  }

  test('the format of a value counts whatever follows: comma before square brackets', () => {
    const second = columnOf(work, 17, 'second', 'text')
    const fields = [
      fieldOf(number, { standard: standardOf(1) }),
      fieldOf(second, { standard: standardOf(1, { format: 'square-brackets' }) }),
    ]
    assert.equal(textOf(fields, { '11': 'A', '17': 'B' })?.['en-US'], 'A, [B]')
    assert.equal(textOf(fields, { '17': 'B' })?.['en-US'], '[B]')
  })

  test('stop_if_set ends the slot at the first value', () => {
    const fields = [
      fieldOf(title, { standard: standardOf(1, { stopIfSet: true }) }),
      fieldOf(number, { standard: standardOf(1) }),
    ]
    assert.deepEqual(textOf(fields, { '10': { 'en-US': 'Lake' }, '11': 'N01' }), { 'en-US': 'Lake' })
    assert.deepEqual(textOf(fields, { '11': 'N01' }), { 'en-US': 'N01', 'de-DE': 'N01' })
  })

  test('fields go to their slots, and a slot without value is absent', () => {
    const mask = maskOf(work, [
      fieldOf(title, { standard: standardOf(1) }),
      fieldOf(number, { standard: standardOf(3) }),
    ])
    assert.deepEqual(computeStandard(mask, { '11': 'N01' }, nothingLinked, ['en-US']), {
      '3': { text: { 'en-US': 'N01' } },
    })
    assert.deepEqual(computeStandard(mask, {}, nothingLinked, ['en-US']), {})
  })

  for (const [value, expected] of [
    [1234, '12.34'],
    [-5, '-0.05'],
    [0, '0.00'],
    [9007199254740991, '90071992547409.91'],
  ] as const) {
    test(`integer.2 ${value} reads ${expected}`, () => {
      assert.equal(textOf([fieldOf(price, { standard: standardOf(1) })], { '13': value })?.['en-US'], expected)
    })
  }

  for (const [value, expected] of [
    [{ from: '1851', to: '1852' }, '1851 – 1852'],
    [{ from: '1851', to: '1851' }, '1851'],
    [{ from: '1851' }, '1851 –'],
    [{ to: '1852-03' }, '– 1852-03'],
    [{ from: '1851', text: { 'en-US': 'about 1851' } }, 'about 1851'],
  ] as const) {
    test(`date range ${JSON.stringify(value)} reads ${expected}`, () => {
      assert.equal(textOf([fieldOf(year, { standard: standardOf(1) })], { '12': value })?.['en-US'], expected)
    })
  }

  test('a date range with its text in one language keeps its dates in the others', () => {
    const fields = [fieldOf(year, { standard: standardOf(1) })]
    const value = { from: '1851', text: { 'en-US': 'about 1851' } }
    assert.deepEqual(textOf(fields, { '12': value }), { 'en-US': 'about 1851', 'de-DE': '1851 –' })
  })

  test('a custom value shows what it says of itself', () => {
    const custom = columnOf(work, 18, 'gnd', 'custom')
    const fields = [fieldOf(custom, { standard: standardOf(1) })]
    assert.equal(textOf(fields, { '18': { conceptName: 'Turner' } })?.['de-DE'], 'Turner')
    assert.deepEqual(textOf(fields, { '18': { _standard: { l10ntext: { 'de-DE': 'See' } }, conceptName: 'x' } }), {
      'de-DE': 'See',
    })
    assert.equal(textOf(fields, { '18': { anything: 1 } }), undefined)
  })

  test('a very long text is cut, never inside a character', () => {
    const text = textOf([fieldOf(number, { standard: standardOf(1) })], { '11': '𝄞'.repeat(5000) })?.['en-US'] ?? ''
    assert.ok(text.length <= 2000)
    assert.ok(text.isWellFormed())
    assert.ok(text.endsWith('…'))
  })
})

describe('nested rows', () => {
  const inner = fieldOf(keyword, { standard: standardOf(1) })

  test('rows are joined by format_inner, the field by its format', () => {
    const fields = [
      fieldOf(number, { standard: standardOf(1, { format: 'colon' }) }),
      nestedOf(keywordTable, [inner], { standard: standardOf(1, { format: 'space', formatInner: 'semicolon' }) }),
      fieldOf(price, { standard: standardOf(1, { format: 'square-brackets' }) }),
    ]
    assert.equal(textOf(fields, { '11': 'N', '13': 100, ...keywords('a', 'b') })?.['en-US'], 'N: a; b [1.00]')
  })

  test('a repeated text is shown once', () => {
    assert.equal(textOf([nestedOf(keywordTable, [inner])], keywords('a', 'b', 'a'))?.['en-US'], 'a, b')
  })

  test('nested_standard_first_only takes the first row of the mask order', () => {
    const sort = [{ column: rank, descending: false }]
    assert.equal(
      textOf([nestedOf(keywordTable, [inner], { standardFirstOnly: true })], keywords('a', 'b'))?.['en-US'],
      'a',
    )
    assert.equal(
      textOf([nestedOf(keywordTable, [inner], { standardFirstOnly: true, sort })], keywords('a', 'b'))?.['en-US'],
      'b',
    )
  })

  test('links inside rows are shown by their standard', () => {
    const fields = [nestedOf(keywordTable, [fieldOf(term, { standard: standardOf(1) })])]
    const linked = (id: number): Standard => ({ '1': { text: { 'en-US': `term ${id}`, 'de-DE': `Begriff ${id}` } } })
    const content = {
      n2: [
        { _u: 'a', '22': 7 },
        { _u: 'b', '22': 8 },
      ],
    }
    assert.deepEqual(textOf(fields, content, linked), { 'en-US': 'term 7, term 8', 'de-DE': 'Begriff 7, Begriff 8' })
    assert.deepEqual(linkedForStandard(maskOf(work, fields), content), [7, 8])
  })
})

describe('links', () => {
  const fields = [
    fieldOf(title, { standard: standardOf(1, { format: 'dash' }) }),
    fieldOf(artist, { standard: standardOf(1) }),
  ]

  test('slot 1 of the linked object stands in the slot of the link', () => {
    const linked = (): Standard => ({
      '1': { text: { 'en-US': 'Turner', 'de-DE': 'Turner' } },
      '2': { text: { 'en-US': 'x' } },
    })
    assert.deepEqual(textOf(fields, { '10': { 'en-US': 'Lake' }, '14': 5 }, linked), { 'en-US': 'Lake - Turner' })
  })

  test('a linked object without title is shown by its number, one that is gone not at all', () => {
    assert.equal(textOf(fields, { '14': 5 }, () => ({}))?.['en-US'], '#5')
    assert.equal(textOf(fields, { '14': 5 }), undefined)
  })

  test('only links that contribute are asked for', () => {
    const content = { '14': 5 }
    assert.deepEqual(linkedForStandard(maskOf(work, fields), content), [5])
    assert.deepEqual(linkedForStandard(maskOf(work, [fieldOf(artist)]), content), [])
    assert.deepEqual(linkedForStandard(maskOf(work, [fieldOf(artist, { standardEas: 1 })]), content), [5])
  })
})

describe('files and geometries', () => {
  test('the preferred file comes first, and a link merges the same level of its target', () => {
    const mask = maskOf(work, [fieldOf(photo, { standardEas: 1 }), fieldOf(artist, { standardEas: 1 })])
    const content = {
      '15': [
        { _id: 1, preferred: false },
        { _id: 2, preferred: true },
      ],
      '14': 5,
    }
    const linked = (): Standard => ({
      eas: {
        '1': [
          { _id: 9, preferred: true },
          { _id: 2, preferred: true },
        ],
        '2': [{ _id: 8, preferred: true }],
      },
    })
    assert.deepEqual(computeStandard(mask, content, linked, languages).eas, {
      '1': [
        { _id: 2, preferred: true },
        { _id: 1, preferred: false },
        { _id: 9, preferred: true },
      ],
    })
  })

  test('a geometry says which field it is from, and a large one is thinned out but stays closed', () => {
    const mask = maskOf(work, [fieldOf(place, { standardGeo: 1 })])
    const point = { type: 'Point', coordinates: [1, 2] }
    assert.deepEqual(computeStandard(mask, { '16': point }, nothingLinked, languages).geo, {
      '1': [{ _field_name: 'work.place', geo: point }],
    })
    const ring = Array.from({ length: 5001 }, (_, index) => [Math.cos(index / 800), Math.sin(index / 800)])
    ring[5000] = ring[0] ?? []
    const large = { type: 'Polygon', coordinates: [ring] }
    const geo = computeStandard(mask, { '16': large }, nothingLinked, languages).geo as { '1': { geo: typeof large }[] }
    const kept = geo['1'][0]?.geo.coordinates[0] ?? []
    assert.ok(kept.length > 100 && kept.length <= 502, String(kept.length))
    assert.deepEqual(kept.at(0), kept.at(-1))
  })

  test('very many small parts become their bounding box', () => {
    const mask = maskOf(work, [fieldOf(place, { standardGeo: 1 })])
    const square = (x: number) => [
      [
        [x, 0],
        [x + 0.01, 0],
        [x + 0.01, 1],
        [x, 0],
      ],
    ]
    const large = { type: 'MultiPolygon', coordinates: Array.from({ length: 1000 }, (_, index) => square(index / 10)) }
    const geo = computeStandard(mask, { '16': large }, nothingLinked, languages).geo as {
      '1': { geo: { type: string } }[]
    }
    assert.equal(geo['1'][0]?.geo.type, 'Polygon')
  })
})

test('the one-line text takes the first language that has one', () => {
  const standard = { '1': { text: { 'de-DE': 'See', 'en-US': 'Lake' } } }
  assert.equal(standardText(standard, ['fr-FR', 'en-US']), 'Lake')
  assert.equal(standardText(standard, ['fr-FR']), 'See')
  assert.equal(standardText({}, ['en-US']), '')
})

test('standards are the same whatever the order of their keys', () => {
  assert.ok(sameStandard({ '1': { text: { a: '1', b: '2' } } }, { '1': { text: { b: '2', a: '1' } } }))
  assert.ok(!sameStandard({ '1': { text: { a: '1' } } }, { '1': { text: { a: '2' } } }))
})
