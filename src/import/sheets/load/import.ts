import { hash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Progress } from '../../../platform/process/progress.ts'
import { inBatches, shareOut } from '../../batches.ts'
import type { ServiceClient } from '../../client.ts'
import { untilSearchable } from '../../searchable.ts'
import { SheetError } from '../limits.ts'
import { importedColumns, type Mapping } from '../plan/mapping.ts'
import type { Sheet, SheetRow } from '../read/model.ts'
import { KeySet } from '../values/key-set.ts'
import { checkpointFileOf, readCheckpoint, removeCheckpoint } from './checkpoint.ts'
import { createConverter, type PlannedRow } from './convert.ts'
import { createErrorsFile, freeErrorsFile } from './errors-file.ts'
import { createUploads, folderOf } from './files.ts'
import { createFinder } from './find.ts'
import { fit } from './fit.ts'
import { createLedger } from './ledger.ts'
import { tableOf, usualMask } from './model.ts'
import { createParentStore } from './parents.ts'
import { createRowStore } from './rows.ts'
import { findPool, makeTypes, readModel } from './setup.ts'
import { createTerms } from './terms.ts'

/** Maximum number of characters of the cells of a batch: long texts lead to smaller requests. */
const heaviest = 4_000_000

export interface SheetImportOptions {
  readonly client: ServiceClient
  readonly file: string
  readonly sheet: Sheet
  readonly mapping: Mapping
  /** Number of rows. */
  readonly rows: number
  readonly batch?: number
  readonly connections?: number
  readonly progress: Progress
  /** Ends the import after the requests in flight; running the same import again continues from there. */
  readonly signal?: AbortSignal
}

export interface SheetImportSummary {
  readonly created: number
  readonly updated: number
  readonly unchanged: number
  readonly refused: number
  /** Number of created list objects. */
  readonly terms: number
  readonly seconds: number
  readonly interrupted: boolean
  /** The file with the wrong rows; null when there are none. */
  readonly errorsFile: string | null
}

/** Creates the missing object types, stores all rows, and waits until they are found. */
export async function importSheet(options: SheetImportOptions): Promise<SheetImportSummary> {
  const { client, file, sheet, mapping, progress, batch = 500, connections = 2 } = options
  const signal = options.signal ?? new AbortController().signal
  assertHeadings(mapping, sheet)
  const { missing } = fit(mapping, await readModel(client))
  if (missing.length > 0) {
    await makeTypes(client, mapping, missing)
    progress.say(`committed the object types ${missing.join(', ')}`)
  }
  const begun = performance.now()
  const model = await readModel(client)
  const { columns } = fit(mapping, model)
  const maskOf = (type: string): string => {
    const table = tableOf(model, type)
    return table ? usualMask(model, table) : '_all_fields'
  }
  const mask = mapping.mask ?? maskOf(mapping.type)
  const lists = [...new Set(importedColumns(mapping).flatMap(({ list }) => (list ? [list.type] : [])))]

  const checkpointFile = checkpointFileOf(file)
  const of = await fingerprint(file, mapping, client.url)
  const checkpoint = await readCheckpoint(checkpointFile, of)
  const errorsFile = checkpoint?.errors.file ?? freeErrorsFile(file)
  const delimiter = sheet.format.format === 'csv' ? sheet.format.delimiter : ','
  const errors = createErrorsFile(errorsFile, sheet.headings, delimiter)
  if (checkpoint) {
    await errors.backTo(checkpoint.errors.bytes)
    progress.say(`goes on behind row ${checkpoint.row}`)
  }
  const ledger = createLedger({ of, checkpoint, checkpointFile, errorsFile, errors })

  const find = createFinder(client)
  const terms = createTerms(client, find)
  const types = [mapping.type, ...lists]
  const before = await countOf(client, types)
  const store = createRowStore({
    client,
    mapping,
    mask,
    pool: await findPool(client, mapping.pool),
    listMasks: new Map(lists.map((type) => [type, maskOf(type)])),
    folder: folderOf(file),
    find,
    terms,
    uploads: createUploads(client),
    mayExist: checkpoint !== null || !(await isEmptyType(client, mapping.type, mask)),
  })
  const convert = createConverter({ mapping, columns, headings: sheet.headings })
  const rows = (): AsyncGenerator<PlannedRow> => planned(sheet.rows(), convert)
  const from = checkpoint?.row ?? 0

  progress.start('Rows', options.rows)
  progress.advance(checkpoint ? sumOf(checkpoint) : 0)
  const sizes = { size: batch, weigh: weightOf, most: heaviest }
  const batches = numbered(inBatches(rows(), { ...sizes, wanted: ({ number }) => number > from }))
  await shareOut(batches, { workers: connections, signal }, async ({ number, rows: some }) => {
    await ledger.settle(number, await store(some))
    progress.advance(some.length)
  })
  progress.stop()
  if (!signal.aborted) {
    const total = before + ledger.counts().created - (checkpoint?.created ?? 0) + terms.created()
    await untilSearchable({ client, progress, signal }, types, total)
  }
  if (!signal.aborted && mapping.columns.some(({ type, ignore }) => type === 'parent' && !ignore)) {
    const place = createParentStore({ client, mapping, mask, find })
    progress.start('Hierarchy', options.rows)
    for await (const some of inBatches(rows(), sizes)) {
      if (signal.aborted) break
      await ledger.addErrors(await place(some))
      progress.advance(some.length)
    }
    progress.stop()
  }
  if (!signal.aborted) await removeCheckpoint(checkpointFile)
  const counts = ledger.counts()
  return {
    ...counts,
    terms: terms.created(),
    seconds: (performance.now() - begun) / 1000,
    interrupted: signal.aborted,
    errorsFile: ledger.hasErrors() ? errorsFile : null,
  }
}

function assertHeadings(mapping: Mapping, { headings }: Sheet): void {
  const missing = importedColumns(mapping).filter(({ heading }) => !headings.includes(heading))
  if (missing.length > 0) {
    const names = missing.map(({ heading }) => JSON.stringify(heading)).join(', ')
    throw new SheetError(`the sheet has no column ${names}, which the mapping names`)
  }
}

function weightOf({ cells }: PlannedRow): number {
  return cells.reduce((sum, cell) => sum + cell.length, 0)
}

function sumOf({
  created,
  updated,
  unchanged,
  refused,
}: Record<'created' | 'updated' | 'unchanged' | 'refused', number>) {
  return created + updated + unchanged + refused
}

/** All rows, including those that were stored before: a duplicate key is reported at its second row. */
export async function* planned(
  rows: AsyncIterable<SheetRow>,
  convert: (row: SheetRow) => PlannedRow,
): AsyncGenerator<PlannedRow> {
  const keys = new KeySet()
  for await (const row of rows) {
    const found = convert(row)
    if (found.problems.length > 0 || keys.add(String(found.key)) !== false) yield found
    else {
      const problem = { heading: '', value: String(found.key), reason: 'a row further up has the same key' }
      yield { ...found, parent: undefined, problems: [problem] }
    }
  }
}

async function* numbered(
  batches: AsyncGenerator<PlannedRow[]>,
): AsyncGenerator<{ number: number; rows: PlannedRow[] }> {
  let number = 0
  for await (const rows of batches) yield { number: number++, rows }
}

async function countOf(client: ServiceClient, objecttypes: readonly string[]): Promise<number> {
  const request = { objecttypes, search: [], limit: 0, format: 'short' }
  return (await client.post<{ count: number }>('/search', request)).count
}

async function isEmptyType(client: ServiceClient, type: string, mask: string): Promise<boolean> {
  const first = await client.get<unknown[]>(`/db/${type}/${mask}/list`, { limit: 1, format: 'short' })
  return first.length === 0
}

async function fingerprint(file: string, mapping: Mapping, url: string): Promise<string> {
  const { size, mtimeMs } = await stat(file)
  return hash('sha256', JSON.stringify([resolve(file), size, mtimeMs, mapping, url]))
}
