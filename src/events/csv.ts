import type { Readable } from 'node:stream'
import { type Stringifier, stringify } from 'csv-stringify'
import { badRequest } from '../platform/errors.ts'
import type { EventRecord } from './schema.ts'

export interface CsvOptions {
  delimiter: string
  quote: string
  escape: string
  /** Whether there is one column for each key of `info` (`info.standard`), instead of one column with its JSON. */
  explode: boolean
  /** Joins the items of lists within exploded `info`; null: lists are written as JSON. */
  arrayConcat: string | null
  /** Cells are cut after this many characters; 0: not cut. */
  maxLength: number
  bom: boolean
}

type Records = () => AsyncIterable<EventRecord>

const columns = [
  '_id',
  'type',
  'timestamp',
  'pollable',
  'schema',
  'basetype',
  'objecttype',
  'object_id',
  'object_version',
  'system_object_id',
  'global_object_id',
  'remote_addr',
  'user_id',
  'user_generated_displayname',
] as const

/** The highest number of columns of `info`. Nobody can read more in a spreadsheet, and clients decide about the keys. */
const maxInfoColumns = 2000

/**
 * The events as a stream of CSV. Cells that a spreadsheet would run as a formula are escaped. To explode `info`, `records` is
 * called twice: once for its columns, once for the rows.
 */
export async function csvStream(records: Records, options: CsvOptions): Promise<Readable> {
  const { delimiter, quote } = options
  if (delimiter === quote || /[\r\n]/.test(delimiter + quote + options.escape)) {
    throw badRequest(
      'csv_delimiter, csv_quote and csv_escape must not be line breaks, and the first two must differ.',
      {
        csv_delimiter: delimiter,
        csv_quote: quote,
      },
    )
  }
  const infoColumns = options.explode ? await exploded(records(), options) : ['info']
  const stringifier = stringify({
    delimiter,
    quote,
    escape: options.escape,
    bom: options.bom,
    header: true,
    columns: [...columns, ...infoColumns],
    escape_formulas: true,
    record_delimiter: '\r\n',
  })
  void feed(records(), stringifier, options)
  return stringifier
}

async function feed(records: AsyncIterable<EventRecord>, out: Stringifier, options: CsvOptions): Promise<void> {
  try {
    for await (const record of records) {
      if (out.destroyed) return
      if (!out.write(toRow(record, options))) await drained(out)
    }
    out.end()
  } catch (error) {
    out.destroy(error as Error)
  }
}

/** Also resolves when the reader disconnects, so that the writer does not wait forever. */
function drained(out: Stringifier): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      out.off('drain', done)
      out.off('close', done)
      resolve()
    }
    out.on('drain', done)
    out.on('close', done)
  })
}

async function exploded(records: AsyncIterable<EventRecord>, options: CsvOptions): Promise<string[]> {
  const keys = new Set<string>()
  for await (const { event } of records) {
    for (const key of Object.keys(flatten(event.info, options))) keys.add(key)
    if (keys.size > maxInfoColumns) {
      throw badRequest(
        `The info of these events has more than ${maxInfoColumns} keys: filter them, or send no csv_explode.`,
        {
          param: 'csv_explode',
        },
      )
    }
  }
  return [...keys].sort()
}

type Cell = string | number | undefined

function toRow({ event, user }: EventRecord, options: CsvOptions): Record<string, Cell> {
  const info = options.explode ? flatten(event.info, options) : { info: JSON.stringify(event.info) }
  const row: Record<string, Cell> = { user_id: user?.user._id, ...info }
  for (const column of columns) {
    const value = column === 'user_id' ? row.user_id : event[column]
    row[column] = typeof value === 'boolean' ? String(value) : (value as Cell)
  }
  if (options.maxLength > 0) {
    for (const [key, value] of Object.entries(row)) {
      if (typeof value === 'string' && value.length > options.maxLength) row[key] = cut(value, options.maxLength)
    }
  }
  return row
}

/** Never cuts a character in half. */
function cut(text: string, length: number): string {
  const head = text.slice(0, length)
  return head.isWellFormed() ? head : head.slice(0, -1)
}

function flatten(info: object, { arrayConcat }: CsvOptions): Record<string, Cell> {
  const cells: Record<string, Cell> = {}
  const visit = (value: unknown, path: string): void => {
    if (value === null || value === undefined) return
    if (Array.isArray(value)) cells[path] = listCell(value, arrayConcat)
    else if (typeof value === 'object') for (const [key, item] of Object.entries(value)) visit(item, `${path}.${key}`)
    else cells[path] = typeof value === 'number' ? value : String(value)
  }
  visit(info, 'info')
  return cells
}

function listCell(list: readonly unknown[], separator: string | null): string {
  if (separator === null || list.some((item) => typeof item === 'object' && item !== null)) return JSON.stringify(list)
  return list.join(separator)
}
