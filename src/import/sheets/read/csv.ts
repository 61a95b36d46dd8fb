import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { CsvError, parse } from 'csv-parse'
import { limits, SheetError } from '../limits.ts'
import { findDialect } from './dialect.ts'
import { findEncoding, knownEncoding, sampleOf, textOf } from './encoding.ts'
import type { CsvDialect, SheetRow } from './model.ts'

/** A CSV file; every call of `rows` reads it again, a piece at a time. */
export async function openCsv(file: string, told: Partial<CsvDialect>) {
  const encoding = told.encoding === undefined ? await findEncoding(file) : knownEncoding(told.encoding)
  const { text, whole } = await sampleOf(file, encoding)
  const found = findDialect(text, whole)
  const { delimiter = found.delimiter, quote = found.quote } = told
  const format = { format: 'csv' as const, encoding, delimiter, quote }
  return { format, rows: () => records(file, format, text.startsWith(`sep=${delimiter}`)) }
}

async function* records(file: string, { encoding, delimiter, quote }: CsvDialect, hint: boolean) {
  const parser = parse({
    delimiter,
    quote,
    escape: quote,
    // A quote in the middle of a field is a normal character: inches, nicknames.
    relax_quotes: true,
    relax_column_count: true,
    max_record_size: limits.row,
    // csv-parse finds the line break by itself; a file may mix them.
    record_delimiter: ['\r\n', '\n', '\r'],
  })
  let number = 0
  const fed = pipeline(Readable.from(boundedLines(textOf(file, encoding)), { objectMode: false }), parser)
  // The loop below reports the same failure.
  fed.catch(() => {})
  try {
    for await (const record of parser as AsyncIterable<string[]>) {
      number++
      if (hint && number === 1) continue
      yield rowOf(number, record)
    }
    await fed
  } catch (error) {
    throw readable(error, number + 1)
  } finally {
    parser.destroy()
  }
}

function rowOf(number: number, record: string[]): SheetRow {
  const long = record.findIndex((cell) => cell.length > limits.cell)
  if (long >= 0) {
    throw new SheetError(`row ${number}, column ${long + 1} has more than ${limits.cell} characters`)
  }
  return { number, cells: record }
}

/** The limit of the parser is for the content of fields, so a line of only delimiters would take unlimited memory. */
async function* boundedLines(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let length = 0
  for await (const piece of pieces) {
    let start = 0
    for (let end = piece.indexOf('\n'); end >= 0; end = piece.indexOf('\n', start)) {
      if (length + end - start > limits.row) throw tooLong()
      length = 0
      start = end + 1
    }
    length += piece.length - start
    if (length > limits.row) throw tooLong()
    yield piece
  }
}

function tooLong(): SheetError {
  return new SheetError(`a line has more than ${limits.row} characters: is it a CSV file?`)
}

function readable(error: unknown, row: number): unknown {
  if (!(error instanceof CsvError)) return error
  if (error.code === 'CSV_MAX_RECORD_SIZE') {
    return new SheetError(`row ${row} has more than ${limits.row} characters: is a quote not closed?`, { cause: error })
  }
  if (error.code === 'CSV_QUOTE_NOT_CLOSED') {
    return new SheetError(`a quote that opens in row ${row} is not closed`, { cause: error })
  }
  return new SheetError(`row ${row} cannot be read: ${error.message}`, { cause: error })
}
