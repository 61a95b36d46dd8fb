import { isDeepStrictEqual } from 'node:util'
import type { ServiceClient, ServiceError } from '../../client.ts'
import { importedColumns, type Mapping } from '../plan/mapping.ts'
import { differences } from './compare.ts'
import { headingOf, type LinkValues, type PlannedRow, type Problem } from './convert.ts'
import { FileProblem, findFiles, type NamedFile, type Uploads } from './files.ts'
import { type Finder, type FoundObject, isKeyTaken, type Key } from './find.ts'
import { saveEach } from './save-each.ts'
import type { TermList, Terms } from './terms.ts'

/** The result of a row. */
export interface RowOutcome {
  readonly row: PlannedRow
  readonly result: 'created' | 'updated' | 'unchanged' | 'refused'
  readonly problems: readonly Problem[]
  /** Whether the row was sent to the service. */
  readonly asked: boolean
}

export interface RowStoreOptions {
  readonly client: ServiceClient
  readonly mapping: Mapping
  readonly mask: string
  readonly pool: number | null
  /** Masks of lists, by object type. */
  readonly listMasks: ReadonlyMap<string, string>
  readonly folder: string
  readonly find: Finder
  readonly terms: Terms
  readonly uploads: Uploads
  /** Whether objects of the rows may already exist. */
  readonly mayExist: boolean
}

/** A row in progress. */
interface Prepared {
  readonly row: PlannedRow
  readonly block: Record<string, unknown>
  readonly problems: Problem[]
  stored: FoundObject | null
}

/** Stores rows: lists and files first, then objects; existing objects get only their differences. */
export function createRowStore(options: RowStoreOptions) {
  const { client, mapping, mask, pool, find, mayExist } = options
  const { type, key } = mapping

  /** The results of all rows, in their order. */
  return async function store(rows: readonly PlannedRow[]): Promise<RowOutcome[]> {
    const outcomes = new Map<PlannedRow, RowOutcome>()
    const settle = (
      row: PlannedRow,
      result: RowOutcome['result'],
      problems: readonly Problem[] = [],
      asked = true,
    ): void => {
      outcomes.set(row, { row, result, problems, asked })
    }
    const prepared: Prepared[] = []
    for (const row of rows) {
      if (row.problems.length > 0) settle(row, 'refused', row.problems, false)
      else prepared.push({ row, block: { ...row.values }, problems: [], stored: null })
    }
    await linkTerms(prepared, options)
    if (mayExist) await findStored(prepared, (keys) => find.byKey(type, key.column, keys, 'long'))
    await linkFiles(prepared, options)
    const ready = prepared.filter((each) => {
      if (each.problems.length > 0) settle(each.row, 'refused', each.problems, false)
      return each.problems.length === 0
    })
    const taken = await create(ready.filter(({ stored }) => !stored))
    if (taken.length > 0) await findStored(taken, (keys) => find.untilThere(type, key.column, keys, 'long'))
    for (const { row, stored } of taken) {
      if (!stored) settle(row, 'refused', [unseen(row)])
    }
    await update(ready.filter(({ stored }) => stored))
    return rows.flatMap((row) => outcomes.get(row) ?? [])

    /** Returns the rows whose key already exists: from another import, or from a request whose answer was lost. */
    async function create(some: readonly Prepared[]): Promise<Prepared[]> {
      const there: Prepared[] = []
      await saveEach(some, {
        async send(items) {
          const objects = items.map(({ block }) => ({
            _objecttype: type,
            _mask: mask,
            [type]: { ...(pool === null ? {} : { _pool: { pool: { _id: pool } } }), ...withoutNulls(block) },
          }))
          await client.post(`/db/${type}`, objects, { format: 'short', strict: true })
          for (const { row } of items) settle(row, 'created')
        },
        refuse(item, error) {
          if (isKeyTaken(error, key.column)) there.push(item)
          else settle(item.row, 'refused', [problemOf(error, item.row, mapping)])
        },
      })
      return there
    }

    async function update(some: readonly Prepared[]): Promise<void> {
      const changed: { row: PlannedRow; block: Record<string, unknown> }[] = []
      for (const { row, block, stored } of some) {
        const before = (stored?.[type] ?? {}) as Record<string, unknown>
        const difference = differences(block, before)
        if (Object.keys(difference).length === 0) settle(row, 'unchanged')
        else changed.push({ row, block: { _id: before._id, ...difference } })
      }
      await saveEach(changed, {
        async send(items) {
          const objects = items.map(({ block }) => ({ _objecttype: type, _mask: mask, [type]: block }))
          await client.patch(`/db/${type}`, objects, { format: 'short', strict: true })
          for (const { row } of items) settle(row, 'updated')
        },
        refuse: ({ row }, error) => settle(row, 'refused', [problemOf(error, row, mapping)]),
      })
    }
  }

  function unseen(row: PlannedRow): Problem {
    const reason = 'there is an object with this key that this login may not see, or it is in use elsewhere'
    return { heading: headingOf(mapping, key.column), value: String(row.key), reason }
  }
}

async function findStored(
  prepared: readonly Prepared[],
  ask: (keys: readonly Key[]) => Promise<Map<Key, FoundObject>>,
): Promise<void> {
  const found = await ask(prepared.map(({ row }) => row.key))
  for (const each of prepared) each.stored = found.get(each.row.key) ?? null
}

/** Replaces values of lists by links; new values are created. */
async function linkTerms(prepared: readonly Prepared[], { terms, listMasks, mapping }: RowStoreOptions): Promise<void> {
  for (const { list, heading } of importedColumns(mapping)) {
    if (!list) continue
    const asking = prepared.flatMap((item) =>
      item.row.links.filter(({ column }) => column.mapping.heading === heading).map((link) => ({ item, link })),
    )
    const values = new Set(asking.flatMap(({ link }) => link.values))
    if (values.size === 0 && asking.length === 0) continue
    const target: TermList = { type: list.type, column: list.column, mask: listMasks.get(list.type) ?? '_all_fields' }
    const ids = values.size > 0 ? await terms.idsOf(target, values) : new Map<string, number | string>()
    for (const { item, link } of asking) addLinks(item, link, ids)
  }
}

function addLinks(
  { block, problems }: Prepared,
  { column, values }: LinkValues,
  ids: Map<string, number | string>,
): void {
  const { heading, list, column: name, separator } = column.mapping
  const links = values.flatMap((value) => {
    const id = ids.get(value)
    if (typeof id === 'number') return [{ _objecttype: list?.type, _system_object_id: id }]
    problems.push({ heading, value: value.slice(0, 200), reason: id ?? 'could not be made' })
    return []
  })
  if (separator === undefined) block[name] = links[0] ?? null
  else block[`_nested:${name}`] = links.map((link) => ({ [list?.link ?? '']: link }))
}

/** Files are uploaded unless the object or the service already has them. */
async function linkFiles(prepared: readonly Prepared[], options: RowStoreOptions): Promise<void> {
  const wanted = new Map<string, NamedFile>()
  const cells: { item: Prepared; cell: LinkValues; references: readonly string[] }[] = []
  for (const item of prepared) {
    for (const cell of item.row.files) {
      const files = await filesOf(item, cell, options)
      const references = [...files.keys()]
      if (isDeepStrictEqual(references, storedReferences(item, cell, options.mapping.type))) continue
      cells.push({ item, cell, references })
      for (const [reference, file] of files) wanted.set(reference, file)
    }
  }
  if (cells.length === 0) return
  // Files and values of a row with problems wait until it is corrected.
  const needed = new Set(cells.filter(({ item }) => item.problems.length === 0).flatMap(({ references }) => references))
  const links = await options.uploads.store(new Map([...wanted].filter(([reference]) => needed.has(reference))))
  for (const { item, cell, references } of cells) {
    const { heading, column } = cell.column.mapping
    const found = references.map((reference) => links.get(reference) ?? 'was not uploaded')
    item.block[column] = found
    for (const [index, link] of found.entries()) {
      if (typeof link !== 'string' || item.problems.length > 0) continue
      item.problems.push({ heading, value: cell.values[index] ?? '', reason: `the file was refused: ${link}` })
    }
  }
}

/** The files of a cell by their references. */
async function filesOf(
  { problems }: Prepared,
  { column, values }: LinkValues,
  { uploads, folder }: RowStoreOptions,
): Promise<Map<string, NamedFile>> {
  const files = new Map<string, NamedFile>()
  for (const value of values) {
    try {
      for (const file of await findFiles(folder, value, column.mapping)) {
        files.set(await uploads.referenceOf(file), file)
      }
    } catch (error) {
      if (!(error instanceof FileProblem)) throw error
      problems.push({ heading: column.mapping.heading, value: value.slice(0, 200), reason: error.message })
    }
  }
  return files
}

function storedReferences({ stored }: Prepared, { column }: LinkValues, type: string): unknown[] {
  const block = stored?.[type] as Record<string, readonly { reference?: string }[] | undefined> | undefined
  return (block?.[column.mapping.column] ?? []).map(({ reference }) => reference)
}

function withoutNulls(block: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(block).filter(([, value]) => value !== null))
}

/** The error of the service for a row, assigned to the column that it names. */
export function problemOf(error: ServiceError, row: PlannedRow, mapping: Mapping): Problem {
  const place = String(error.parameters.name ?? '')
  const name = /^\d[^.]*\.[a-z0-9_]+\.(?:_nested:)?([a-z0-9_]+)/.exec(place)?.[1] ?? ''
  const heading = headingOf(mapping, name)
  const value = typeof error.parameters.value === 'string' ? error.parameters.value : ''
  const reason = error.status === 202 ? 'the service asks for a confirmation' : error.detail.replace(/^\d+[.:]\s*/, '')
  return { heading, value: value || (heading === '' ? '' : String(row.values[name] ?? '')), reason }
}
