/** `xlsx`: the table as a workbook, with a sheet for each million rows, written while it is read. */
import { Readable } from 'node:stream'
import { ZipFile } from 'yazl'
import { type Format, inPieces, type WriteContext } from '../../writer.ts'
import { type Row, type Table, tableOf } from '../rows.ts'
import { contentsOf, numbered, type OpenPictures, type Thumbnail, thumbnailOf } from './pictures.ts'
import { headingRow, mostColumns, mostRows, sheetEnd, sheetStart, valueRow } from './sheet.ts'
import {
  contentTypes,
  drawing,
  type Parts,
  pictureRelations,
  rootRelations,
  sheetRelations,
  styles,
  workbook,
  workbookRelations,
} from './workbook.ts'

export interface XlsxDeps {
  readonly openPictures: OpenPictures
}

export const xlsxFormat = (deps: XlsxDeps): Format => ({
  name: 'xlsx',
  contentType: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  extension: 'xlsx',
  single: false,
  write(objects, context) {
    const pictures = context.options.table?.includeThumbnail === true
    const shape = { mostColumns: mostColumns - 1, ...(pictures ? { extraOf: thumbnailOf } : {}) }
    return tableOf(objects, context, shape, (table) => workbookOf(deps, table, context, pictures))
  },
})

/** Rows with more bytes may need a sheet of more than four gigabytes. */
const mostPlain = 400_000_000

async function* workbookOf(
  deps: XlsxDeps,
  table: Table,
  context: WriteContext,
  pictures: boolean,
): AsyncGenerator<Buffer> {
  const zip = new ZipFile()
  const output = zip.outputStream as Readable
  zip.on('error', (error: Error) => output.destroy(error))
  const parts: Parts = { sheets: Math.max(1, Math.ceil(table.count / (mostRows - 1))), pictures }
  const seen: Thumbnail[] = []
  const rows = table.rows()
  const large = table.bytes > mostPlain
  // The first entry lists the types of all others: programs look there.
  addText(zip, '[Content_Types].xml', contentTypes(parts))
  addText(zip, '_rels/.rels', rootRelations())
  addText(zip, 'xl/workbook.xml', workbook(parts))
  addText(zip, 'xl/_rels/workbook.xml.rels', workbookRelations(parts))
  addText(zip, 'xl/styles.xml', styles())
  async function* sheet(number: number): AsyncGenerator<string> {
    yield* sheetOf(table, rows, pictures, number === 1 ? seen : null)
    if (number < parts.sheets) return
    if (pictures) addPictures(zip, deps, seen, context)
    zip.end()
  }
  for (let number = 1; number <= parts.sheets; number++) {
    addStream(zip, `xl/worksheets/sheet${number}.xml`, () => Readable.from(inPieces(sheet(number))), large)
  }
  try {
    for await (const piece of output) yield piece as Buffer
  } finally {
    output.destroy()
    await rows.return(undefined)
  }
}

/** A sheet with as many of the rows as it can have. `seen`: collects the pictures. */
async function* sheetOf(
  table: Table,
  rows: AsyncGenerator<Row>,
  pictures: boolean,
  seen: Thumbnail[] | null,
): AsyncGenerator<string> {
  const shown = pictures ? seen : null
  yield sheetStart(pictures)
  yield headingRow(pictures ? ['', ...table.headings] : table.headings)
  for (let number = 2; number <= mostRows; number++) {
    const { done, value } = await rows.next()
    if (done) break
    const picture = shown && value.extra ? numbered(value.extra as Thumbnail, number - 2, shown.length) : null
    if (picture) shown?.push(picture)
    yield valueRow(value.cells, number, pictures ? 1 : 0, picture !== null)
  }
  yield sheetEnd(shown !== null)
}

function addPictures(zip: ZipFile, deps: XlsxDeps, seen: readonly Thumbnail[], { actor }: WriteContext): void {
  addText(zip, 'xl/worksheets/_rels/sheet1.xml.rels', sheetRelations())
  addText(zip, 'xl/drawings/drawing1.xml', drawing(seen))
  addText(zip, 'xl/drawings/_rels/drawing1.xml.rels', pictureRelations(seen.map(({ name }) => name)))
  const contents = contentsOf(deps.openPictures, actor, seen)
  for (const { name } of seen) {
    zip.addReadStreamLazy(`xl/media/${name}`, { ...always, compress: false }, (done) => {
      contents.next().then(
        ({ value }) => done(null, value ?? Readable.from([])),
        (error: unknown) => done(error, Readable.from([])),
      )
    })
  }
}

/** The same objects give the same bytes. */
const always = { mtime: new Date(315_532_800_000), mode: 0o100644 }

function addText(zip: ZipFile, path: string, text: string): void {
  zip.addBuffer(Buffer.from(text), path, always)
}

function addStream(zip: ZipFile, path: string, open: () => Readable, large: boolean): void {
  zip.addReadStreamLazy(path, { ...always, forceZip64Format: large }, (done) => {
    const stream = open()
    // yazl does not notice errors of its sources.
    stream.once('error', (error) => zip.emit('error', error))
    done(null, stream)
  })
}
