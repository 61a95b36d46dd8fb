import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Mapping, parseMapping, writeMapping } from '../../../src/import/sheets/plan/mapping.ts'
import { identifierOf, languageHeading, singular } from '../../../src/import/sheets/plan/names.ts'
import { propose } from '../../../src/import/sheets/plan/propose.ts'
import { showProposal } from '../../../src/import/sheets/plan/show.ts'
import { statisticsOf } from '../../../src/import/sheets/plan/statistics.ts'
import type { SheetRow } from '../../../src/import/sheets/read/model.ts'

type Columns = Readonly<Record<string, readonly string[]>>

/** What is proposed for columns, each with its cells from the top. */
async function proposed(columns: Columns, { files = true, taken = [] as string[] } = {}) {
  const headings = Object.keys(columns)
  const count = Math.max(...Object.values(columns).map((cells) => cells.length))
  async function* rows(): AsyncGenerator<SheetRow> {
    for (let index = 0; index < count; index++) {
      yield { number: index + 2, cells: headings.map((heading) => columns[heading]?.[index] ?? '') }
    }
  }
  const statistics = await statisticsOf(headings, rows())
  return propose(statistics, {
    file: '/somewhere/works.csv',
    format: { format: 'csv', encoding: 'utf-8', delimiter: ';', quote: '"' },
    type: 'work',
    languages: ['de-DE', 'en-US'],
    listFits: (type) => !taken.includes(type),
    fileExists: () => files,
  })
}

const repeated = (...values: string[]): string[] =>
  Array.from({ length: 20 }, (_, index) => values[index % values.length] ?? '')
const numbered = (prefix: string): string[] => Array.from({ length: 20 }, (_, index) => `${prefix}${index + 1}`)

/** What one column becomes, beside a key. */
async function column(heading: string, cells: readonly string[], options = {}) {
  const { mapping } = await proposed({ Inventarnummer: numbered('A-'), [heading]: cells }, options)
  const { heading: _, standard: __, ...found } = mapping.columns[1] ?? { heading }
  return found
}

test('columns get their types by what they have', async () => {
  const text = 'ein ziemlich langer Satz, der sich nicht wiederholt, '
  const cases: [string, string[], object][] = [
    ['Anzahl', repeated('1', '20', '3'), { column: 'anzahl', type: 'number' }],
    ['PLZ', repeated('01234', '54321'), { column: 'plz', type: 'string' }],
    ['Höhe (cm)', repeated('12,5', '7', '1.200,25'), { column: 'hoehe_cm', type: 'integer.2', decimal: ',' }],
    ['Weight', repeated('12.5', '7', '0.25'), { column: 'weight', type: 'integer.2' }],
    ['Länge', repeated('12.53211', '7.1'), { column: 'laenge', type: 'double' }],
    ['Ausgestellt', repeated('ja', 'nein'), { column: 'ausgestellt', type: 'boolean' }],
    ['Jahr', repeated('1890', '1891'), { column: 'jahr', type: 'date' }],
    ['Zugang', repeated('3.5.1890', '1891'), { column: 'zugang', type: 'date' }],
    ['Eingang', repeated('1/25/1890', '3/4/1890'), { column: 'eingang', type: 'date', order: 'mdy' }],
    ['Geändert', repeated('2020-01-02T10:00:00'), { column: 'geaendert', type: 'datetime' }],
    ['Datierung', repeated('um 1890', '1891', 'o. J.'), { column: 'datierung', type: 'daterange' }],
    ['Link', numbered('https://example.org/'), { column: 'link', type: 'string' }],
    [
      'Bild',
      numbered('https://example.org/a.jpg?').map((url) => url.replace(/\?\d+/, '')),
      { column: 'bild', type: 'file' },
    ],
    ['Bild', numbered('bilder/').map((path) => `${path}.jpg`), { column: 'bild', type: 'file' }],
    ['Beschreibung', numbered(text), { column: 'beschreibung', type: 'text_oneline' }],
    ['Text', numbered('a\nb'), { column: 'text', type: 'text' }],
    ['Text', numbered(text.repeat(6)), { column: 'text', type: 'text' }],
    ['Leer', [], { column: 'leer', type: 'text_oneline', ignore: true }],
    [
      'Material',
      repeated('Öl', 'Holz'),
      { column: 'material', type: 'link', list: { type: 'material', column: 'name' } },
    ],
    [
      'Tags',
      repeated('a; b', 'c', 'b'),
      { column: 'work__tag', type: 'link', separator: ';', list: { type: 'tag', column: 'name', link: 'tag' } },
    ],
  ]
  for (const [heading, cells, expected] of cases) {
    assert.deepEqual(await column(heading, cells), expected, `${heading} ${cells[0]}`)
  }
  const missing = await column(
    'Bild',
    numbered('bilder/').map((path) => `${path}.jpg`),
    { files: false },
  )
  assert.deepEqual(missing, { column: 'bild', type: 'string' })
  const elsewhere = await column('Material', repeated('Öl', 'Holz'), { taken: ['material'] })
  assert.equal(elsewhere.list?.type, 'work_material')
})

test('a few cells that do not fit do not change the type, and the reason names them', async () => {
  const cells = [...Array.from({ length: 39 }, (_, index) => String(index)), 'viele']
  const { mapping, reasons } = await proposed({ Anzahl: cells })
  assert.equal(mapping.columns[0]?.type, 'number')
  assert.match(reasons.get('Anzahl') ?? '', /1 cell does not fit: row 41 "viele"/)
})

test('headings that name a language become one column', async () => {
  const { mapping } = await proposed({
    Nr: numbered('A'),
    'title.de-DE': numbered('Ein Titel '),
    title_en: numbered('A title '),
    'Beschreibung (fr)': numbered('Une description '),
    Ort: numbered('Ein Ort '),
    'Ort [Englisch]': numbered('A place '),
    artist_id: numbered('x y '),
  })
  const found = mapping.columns.map(({ column: name, type, language }) => [name, type, language])
  assert.deepEqual(found, [
    ['nr', 'string', undefined],
    ['title', 'text_l10n_oneline', 'de-DE'],
    ['title', 'text_l10n_oneline', 'en-US'],
    ['beschreibung', 'text_l10n_oneline', 'fr-FR'],
    ['ort', 'text_l10n_oneline', 'de-DE'],
    ['ort', 'text_l10n_oneline', 'en-US'],
    ['artist_id', 'string', undefined],
  ])
})

test('rows are found again by a column that is unique, or by their numbers', async () => {
  const key = async (columns: Columns): Promise<Mapping['key']> => (await proposed(columns)).mapping.key
  assert.deepEqual(await key({ Titel: numbered('T '), 'Inv.-Nr.': numbered('A-') }), { column: 'inv_nr' })
  assert.deepEqual(await key({ id: numbered(''), 'Inv.-Nr.': numbered('A-') }), { column: 'id' })
  assert.deepEqual(await key({ ref: numbered('x'), Titel: numbered('T ') }), { column: 'ref' })
  assert.deepEqual(await key({ id: [...numbered(''), '1'], Titel: numbered('T ') }), {
    column: 'source_row',
    rows_of: 'works.csv',
  })
  assert.deepEqual(await key({ Titel: numbered('T ') }), { column: 'source_row', rows_of: 'works.csv' })
})

test('a column that names other rows is the hierarchy', async () => {
  const { mapping } = await proposed({ id: numbered('A'), parent_id: repeated('A1', 'A2'), name: numbered('N ') })
  assert.deepEqual(mapping.columns[1], { heading: 'parent_id', type: 'parent' })
})

test('names become identifiers', () => {
  const cases: [string, string][] = [
    ['Künstler/in (Name)', 'kuenstler_in_name'],
    ['Größe', 'groesse'],
    ['dateText', 'date_text'],
    ['ISBN', 'isbn'],
    ['1. Titel', 'column_1_titel'],
    ['日本', 'column'],
    ['Prénom', 'prenom'],
    [`a${'b'.repeat(100)}`, `a${'b'.repeat(49)}`],
  ]
  for (const [text, name] of cases) assert.equal(identifierOf(text), name)
  assert.deepEqual(['artists', 'boxes', 'categories', 'glass', 'is'].map(singular), [
    'artist',
    'box',
    'category',
    'glass',
    'is',
  ])
  assert.deepEqual(languageHeading('Titel (de)', ['de-AT']), { name: 'Titel', language: 'de-AT' })
  for (const heading of ['made_in', 'artist_id', 'Titel', 'Höhe (cm)', 'inventory_no'])
    assert.equal(languageHeading(heading, []), null)
})

test('a mapping that is written is read as it was, with its reasons as comments', async () => {
  const { mapping, reasons } = await proposed({
    Nr: numbered('A'),
    'Größe: #1': repeated('1,5'),
    Tags: repeated('a; b', 'b', 'c'),
  })
  const text = writeMapping(mapping, reasons)
  assert.match(text, /# a list with several values/)
  assert.deepEqual(parseMapping(text, 'm.yml'), JSON.parse(JSON.stringify(mapping)))
})

test('a mapping that cannot work is refused with the place', () => {
  const head = 'mapping: 1\nfile: {name: a.csv, format: csv}\ntype: work\nlanguage: de-DE\n'
  const columns = (...list: string[]): string =>
    `${head}key: {column: nr}\ncolumns:\n${list.map((each) => `  - ${each}\n`).join('')}`
  const nr = '{heading: Nr, column: nr, type: string}'
  const cases: [string, RegExp][] = [
    ['a: [', /^Error: m.yml: /],
    ['a: &x [1]\nb: *x', /alias/i],
    ['mapping: 2', /m.yml: /],
    [columns(nr, '{heading: A, column: a, type: strnig}'), /columns\[1\].*type/],
    [columns(nr, '{heading: A, column: a, type: string, colour: red}'), /columns\[1\]/],
    [columns(nr, '{heading: A, column: a}'), /columns\[1\] \("A"\) needs a type/],
    [columns(nr, '{heading: A, type: string}'), /columns\[1\] \("A"\) needs a column/],
    [columns(nr, '{heading: A, column: a, type: link}'), /is a link, so it needs a list/],
    [
      columns(nr, '{heading: A, column: a, type: link, separator: ";", list: {type: a, column: name}}'),
      /its list needs a link/,
    ],
    [columns(nr, '{heading: A, column: a, type: number, separator: ";"}'), /which only links and files can have/],
    [columns(nr, '{heading: A, column: nr, type: string}'), /goes to nr, and so does columns\[0\]/],
    [columns('{heading: A, column: a, type: string}'), /key.column is nr, which no column is imported to/],
    [columns('{heading: Nr, column: nr, type: date}'), /the key nr must be a text or a whole number/],
  ]
  for (const [text, message] of cases) assert.throws(() => parseMapping(text, 'm.yml'), message, text)
  assert.equal(parseMapping(columns(nr, '{heading: A, ignore: true}'), 'm.yml').columns.length, 2)
})

test('what is shown cannot move the cursor of a terminal', async () => {
  const found = await proposed({ 'Nr\u001b[2J': numbered('A'), Jahr: [...repeated('1890'), '\u001b]0;x\u0007'] })
  assert.doesNotMatch(showProposal(found, ['work'], 20), /[\u001b\u0007]/)
})
