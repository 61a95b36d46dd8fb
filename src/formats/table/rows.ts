/** A table of objects: its columns are discovered while its rows are buffered, so that objects are read only once. */

import { Spool } from '../../platform/memory/spool.ts'
import { createYielder } from '../../platform/process/cooperative-yield.ts'
import type { SourceObject } from '../source.ts'
import type { WriteContext } from '../writer.ts'
import type { CellValue } from './cell.ts'
import { cellsOf } from './cells.ts'
import { Columns } from './columns.ts'
import { headingsOf } from './headings.ts'

export interface Table {
  /** The heading of each column. */
  readonly headings: readonly string[]
  readonly count: number
  /** Bytes of the buffered rows; the written rows are several times as large. */
  readonly bytes: number
  /** Rows with their cells, by the places of the columns. */
  rows(): AsyncGenerator<Row>
}

export interface Row {
  readonly cells: readonly (CellValue | undefined)[]
  /** The value of `extraOf` for the object. */
  readonly extra: unknown
}

export interface TableShape {
  readonly mostColumns: number
  /** Data kept for each object, in addition to its cells. */
  readonly extraOf?: (object: SourceObject) => unknown
}

/** Reads all objects, then writes the table. */
export async function* tableOf(
  objects: AsyncIterable<SourceObject>,
  context: WriteContext,
  { mostColumns, extraOf = () => null }: TableShape,
  write: (table: Table) => AsyncIterable<Buffer>,
): AsyncGenerator<Buffer> {
  await using spool = new Spool()
  const columns = new Columns(mostColumns)
  const cellOptions = { options: context.options, languages: context.actor.languages }
  const yielder = createYielder(() => context.deadline.check())
  let count = 0
  for await (const object of objects) {
    count++
    if (yielder.due()) await yielder.yield()
    const cells = cellsOf(object.tree, cellOptions).map(({ path, value }) => [columns.numberOf(path), value])
    await spool.add(JSON.stringify([extraOf(object), cells]))
  }
  const { paths, places } = columns.ordered()
  async function* rows(): AsyncGenerator<Row> {
    for await (const line of spool.lines()) {
      if (yielder.due()) await yielder.yield()
      const [extra, given] = JSON.parse(line) as readonly [unknown, readonly (readonly [number, CellValue])[]]
      const cells = new Array<CellValue | undefined>(paths.length)
      for (const [number, value] of given) cells[places[number] as number] = value
      yield { extra, cells }
    }
  }
  yield* write({ headings: headingsOf(paths, context), count, bytes: spool.bytes, rows })
}
