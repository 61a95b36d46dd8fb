// alone: it measures the memory of its process
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { stringify } from 'csv-stringify/sync'
import fc from 'fast-check'
import { findDialect } from '../../../src/import/sheets/read/dialect.ts'
import { openSheet } from '../../../src/import/sheets/read/sheet.ts'
import { zip } from '../../files/documents.ts'
import { readSheet, sheetFolder, sheetXml, xlsx } from './files.ts'

describe('a CSV', () => {
  test('its delimiter and quote are found by looking', () => {
    const cases: [string, string, string][] = [
      ['a,b\n1,2\n', ',', '"'],
      ['a;b\n1,5;2,5\n', ';', '"'],
      ['a\tb\n1;2\t3\n', '\t', '"'],
      ['a|b|c\n1|2|3\n', '|', '"'],
      ['a;b\n"x;\ny, z";"2 ""inches"""\n', ';', '"'],
      ["a,b\n'x, y','it''s'\n'z','w'\n", ',', "'"],
      ['title\nOne, two\nThree\n', ',', '"'],
      ['sep=|\na|b,c\n', '|', '"'],
      ['', ',', '"'],
    ]
    for (const [sample, delimiter, quote] of cases) {
      assert.deepEqual(findDialect(sample, true), { delimiter, quote }, JSON.stringify(sample))
    }
  })

  test('its encoding is found by looking, or told', async () => {
    await using folder = await sheetFolder()
    const text = 'Künstler;Größe\nJürgen;5\n'
    const latin = Buffer.from(text, 'latin1')
    const swapped = Buffer.from(text, 'utf16le').swap16()
    const cases: [Buffer, string, string?][] = [
      [Buffer.from(text), 'utf-8'],
      [Buffer.from(`\ufeff${text}`), 'utf-8'],
      [Buffer.from(`\ufeff${text}`, 'utf16le'), 'utf-16le'],
      [Buffer.from(text, 'utf16le'), 'utf-16le'],
      [Buffer.concat([Buffer.from([0xfe, 0xff]), swapped]), 'utf-16be'],
      [swapped, 'utf-16be'],
      [latin, 'windows-1252'],
      [latin, 'windows-1252', 'latin1'],
      // The first byte that is no UTF-8 stands far behind what is sampled.
      [Buffer.concat([Buffer.from(`a;b\n${'x;y\n'.repeat(80_000)}`), latin]), 'windows-1252'],
    ]
    for (const [content, encoding, told] of cases) {
      const file = await folder.write('a.csv', content)
      const { format, headings, rows } = await readSheet(file, { format: 'csv', encoding: told })
      assert.deepEqual(format, { format: 'csv', encoding, delimiter: ';', quote: '"' })
      assert.ok(headings[0] === 'Künstler' || headings[0] === 'a')
      assert.deepEqual(rows.at(-1)?.cells, ['Jürgen', '5'])
    }
    const file = await folder.write('b.csv', latin)
    await assert.rejects(readSheet(file, { format: 'csv', encoding: 'utf-8' }), /not in utf-8: name its encoding/)
    await assert.rejects(readSheet(file, { format: 'csv', encoding: 'klingon' }), /no encoding "klingon"/)
  })

  test('whatever is written by a CSV library comes back equal', async () => {
    await using folder = await sheetFolder()
    // A file cannot say whether an empty row is one.
    const cell = fc
      .string({ unit: 'binary', maxLength: 12 })
      .filter((text) => text.isWellFormed() && !text.includes('\ufeff'))
    const table = fc.integer({ min: 2, max: 5 }).chain((width) =>
      fc.array(
        fc.array(cell, { minLength: width, maxLength: width }).filter((row) => row.some((text) => text.trim() !== '')),
        { maxLength: 8 },
      ),
    )
    const dialect = fc.record({
      delimiter: fc.constantFrom(',', ';', '\t', '|'),
      line: fc.constantFrom('\n', '\r\n'),
      bom: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(table, dialect, async (rows, { delimiter, line, bom }) => {
        const headings = Array.from({ length: rows[0]?.length ?? 2 }, (_, index) => `h${index}`)
        const text = stringify([headings, ...rows], { delimiter, record_delimiter: line, bom, quoted: true })
        const file = await folder.write('table.csv', text)
        const sheet = await readSheet(file, { format: 'csv', delimiter, quote: '"' })
        assert.deepEqual(sheet.headings, headings)
        assert.deepEqual(
          sheet.rows.map(({ cells }) => cells),
          rows,
        )
        assert.deepEqual(
          sheet.rows.map(({ number }) => number),
          rows.map((_, index) => index + 2),
        )
      }),
      { numRuns: 150 },
    )
  })

  test('rows have the numbers of spreadsheet programs, and short ones are filled up', async () => {
    await using folder = await sheetFolder()
    const file = await folder.write('a.csv', '\n a , b\n1\n\n"x\ny",2,3\n,\n')
    const { headings, rows } = await readSheet(file)
    assert.deepEqual(headings, ['a', 'b'])
    assert.deepEqual(rows, [
      { number: 3, cells: ['1', ''] },
      { number: 5, cells: ['x\ny', '2', '3'] },
    ])
  })

  test('headings that come twice get numbers', async () => {
    await using folder = await sheetFolder()
    const file = await folder.write('a.csv', 'a,b,a,,a #2,a,\n1,2,3,4,5,6,7\n')
    const { headings, rows } = await readSheet(file)
    assert.deepEqual(headings, ['a', 'b', 'a #3', '', 'a #2', 'a #4'])
    assert.deepEqual(rows[0]?.cells, ['1', '2', '3', '4', '5', '6', '7'])
  })

  test('what cannot be a spreadsheet is refused in a few words', async () => {
    await using folder = await sheetFolder()
    const wide = `${Array.from({ length: 20_000 }, (_, index) => `c${index}`).join(',')}\n`
    const cases: [string, RegExp][] = [
      ['', /it is empty/],
      ['\n\n;;\n', /it is empty/],
      [wide, /it has 20000 columns; at most 1000/],
      [`${'x'.repeat(300)},b\n`, /heading "x+…" is too long: does row 1 have the headings/],
      ['a,b\n1,"2\n3,4\n', /quote that opens in row 2 is not closed/],
      [`a,b\n"${'x,\n'.repeat(2_000_000)}`, /row 2 has more than 4000000 characters: is a quote not closed/],
      [`a,b\n1,"${'x'.repeat(1_500_000)}"\n`, /row 2, column 2 has more than 1000000 characters/],
      [`a,b\n${','.repeat(5_000_000)}\n`, /a line has more than 4000000 characters/],
    ]
    for (const [text, message] of cases) await assert.rejects(readSheet(await folder.write('a.csv', text)), message)
  })

  test('a cell of a hundred megabytes is refused without being kept', async () => {
    await using folder = await sheetFolder()
    const file = join(folder.path, 'cell.csv')
    const out = createWriteStream(file)
    out.write('a,b\n1,"')
    const megabyte = 'y'.repeat(1024 * 1024)
    for (let count = 0; count < 100; count++) if (!out.write(megabyte)) await once(out, 'drain')
    out.end('"\n')
    await once(out, 'close')
    const before = process.memoryUsage().rss
    await assert.rejects(readSheet(file), /more than 4000000 characters/)
    assert.ok(process.memoryUsage().rss - before < 80e6)
  })
})

describe('an XLSX', () => {
  const styles =
    '<styleSheet><numFmts><numFmt numFmtId="164" formatCode="dd/mm/yyyy"/><numFmt numFmtId="165" formatCode="0.00 &quot;days&quot;"/></numFmts>' +
    '<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="165"/><xf numFmtId="22"/></cellXfs></styleSheet>'
  const strings =
    '<sst><si><t>Titel</t></si><si><r><t>rich </t></r><r><rPr/><t>text</t></r><rPh><t>no</t></rPh></si><si><t>a_x000D_b</t></si></sst>'

  test('its cells are texts, numbers, dates and what formulas came to', async () => {
    await using folder = await sheetFolder()
    const cell = (xml: string) => ({ xml })
    const sheet = sheetXml([
      [cell('<c r="A1" t="s"><v>0</v></c>'), 'b', 'c', 'd', 'e', 'f', 'g', 'h'],
      [
        cell('<c r="A2" t="s"><v>1</v></c>'),
        cell('<c r="B2"><v>0.10000000000000001</v></c>'),
        cell('<c r="C2" s="1"><v>32874</v></c>'),
        cell('<c r="D2" s="4"><v>32874.5</v></c>'),
        cell('<c r="E2" s="3"><v>12.5</v></c>'),
        cell('<c r="F2" t="b"><v>1</v></c>'),
        cell('<c r="G2" t="str"><f>HYPERLINK("http://localhost:1/")</f><v>shown</v></c>'),
        '=1+1',
      ],
      [cell('<c r="C3" s="2"><v>1</v></c>'), cell('<c r="H3"><f>1+1</f></c>'), cell('<c r="I3" t="s"><v>2</v></c>')],
    ])
    const file = await folder.write('a.xlsx', xlsx({ sheet, strings, styles }))
    const { format, headings, rows } = await readSheet(file, { format: 'xlsx' })
    assert.deepEqual(format, { format: 'xlsx', sheet: 'Werke' })
    assert.deepEqual(headings, ['Titel', 'b', 'c', 'd', 'e', 'f', 'g', 'h'])
    assert.deepEqual(rows, [
      { number: 2, cells: ['rich text', '0.1', '1990-01-01', '1990-01-01T12:00:00', '12.5', 'true', 'shown', '=1+1'] },
      { number: 3, cells: ['', '', '1900-01-01', '', '', '', '', '', 'a\rb'] },
    ])
  })

  test('whatever is written comes back equal', async () => {
    await using folder = await sheetFolder()
    // XML has no characters below the blank but three, and no lone halves.
    const cell = fc
      .string({ unit: 'binary', maxLength: 12 })
      .filter((text) => text.isWellFormed() && !/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|_x/.test(text))
    const table = fc.array(
      fc.array(cell, { minLength: 3, maxLength: 3 }).filter((row) => row.some((text) => text.trim() !== '')),
      { maxLength: 6 },
    )
    await fc.assert(
      fc.asyncProperty(table, async (rows) => {
        const file = await folder.write('p.xlsx', xlsx({ sheet: sheetXml([['a', 'b', 'c'], ...rows]) }))
        const sheet = await readSheet(file, { format: 'xlsx' })
        assert.deepEqual(
          sheet.rows.map(({ cells }) => cells),
          rows,
        )
      }),
      { numRuns: 60 },
    )
  })

  test('a sheet is found by its name', async () => {
    await using folder = await sheetFolder()
    const file = await folder.write('a.xlsx', xlsx({ sheet: sheetXml([['a'], ['1']]) }))
    assert.equal((await readSheet(file, { format: 'xlsx', sheet: 'Werke' })).rows.length, 1)
    await assert.rejects(readSheet(file, { format: 'xlsx', sheet: 'Nichts' }), /no sheet "Nichts"; there is "Werke"/)
  })

  test('hostile files are refused in a few words', async () => {
    await using folder = await sheetFolder()
    const refused = async (content: Buffer, message: RegExp): Promise<void> => {
      const file = await folder.write('h.xlsx', content)
      await assert.rejects(readSheet(file, { format: 'xlsx' }), message)
    }
    const entity =
      '<!DOCTYPE a [<!ENTITY b "bbbb">]><worksheet><sheetData><row><c t="inlineStr"><is><t>&b;</t></is></c></row></sheetData></worksheet>'
    await refused(Buffer.from('a;b\n'), /it is no XLSX file/)
    await refused(zip({ 'a.txt': 'x' }), /it is no XLSX file/)
    await refused(xlsx({ sheet: entity }), /define/)
    await refused(xlsx({ sheet: entity.replace(/<!DOCTYPE.*\]>/, '') }), /it is broken: Invalid character entity/)
    await refused(
      xlsx({ sheet: sheetXml([['a'], [{ xml: '<c r="ZZZZ2"><v>1</v></c>' }]]) }),
      /a cell "ZZZZ2", which no sheet has/,
    )
    await refused(xlsx({ sheet: sheetXml([['a'], [{ xml: '<c r="XFE2"><v>1</v></c>' }]]) }), /which no sheet has/)
    await refused(xlsx({ sheet: sheetXml([Array.from({ length: 16_000 }, () => 'x')]) }), /it has 16000 columns/)
    await refused(
      xlsx({ sheet: sheetXml([['a'], ['y'.repeat(1_100_000)]]) }),
      /a cell has more than 1000000 characters/,
    )
    await refused(
      xlsx({ sheet: sheetXml([['a'], [{ xml: '<c t="s"><v>9</v></c>' }]]) }),
      /refers to a text that is not there/,
    )
    await refused(xlsx({ sheet: '<a>'.repeat(1000) }), /lie too deep/)
    await refused(
      xlsx({ sheet: `<a ${Array.from({ length: 300 }, (_, index) => `a${index}="1"`).join(' ')}/>` }),
      /too many attributes/,
    )
    await refused(
      xlsx({ sheet: '<worksheet><sheetData><row r="5"/><row r="5"/></sheetData></worksheet>' }),
      /a row after 5 is 5/,
    )
    await refused(xlsx({ sheet: '<worksheet><sheetData>' }), /it is broken/)
    // What unpacks to a hundred megabytes from one is no sheet.
    await refused(
      xlsx({ sheet: `<worksheet>${' '.repeat(100_000_000)}</worksheet>` }),
      /would unpack from \d+ to 1000000\d\d bytes/,
    )
  })

  test('an entry that claims to be smaller than it is ends where it said', async () => {
    await using folder = await sheetFolder()
    const packed = xlsx({ sheet: `<worksheet>${' '.repeat(50_000_000)}</worksheet>` })
    const size = Buffer.alloc(4)
    size.writeUInt32LE(50_000_023)
    const small = Buffer.alloc(4)
    small.writeUInt32LE(1000)
    for (let at = packed.indexOf(size); at >= 0; at = packed.indexOf(size)) small.copy(packed, at)
    await assert.rejects(
      openSheet(await folder.write('l.xlsx', packed), { format: 'xlsx' }),
      /it is broken: too many bytes/,
    )
  })
})
