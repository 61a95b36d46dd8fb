import { isDeepStrictEqual } from 'node:util'
import { type ServiceClient, ServiceError } from '../../client.ts'
import { SheetError } from '../limits.ts'
import type { Mapping } from '../plan/mapping.ts'
import type { StoredModel, WireColumn, WireMask, WireTable } from './model.ts'
import { type NewTypes, newTypes } from './tables.ts'

interface Snapshot {
  readonly tables: readonly WireTable[]
  readonly [property: string]: unknown
}

interface Masks {
  readonly masks: readonly WireMask[]
  readonly [property: string]: unknown
}

/** The committed object types and masks; none in a new instance. */
export async function readModel(client: ServiceClient): Promise<StoredModel> {
  try {
    const [{ tables }, { masks }] = await Promise.all([
      client.get<Snapshot>('/schema/user/CURRENT'),
      client.get<Masks>('/mask/CURRENT'),
    ])
    return { tables, masks }
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'DatamodelVersionNotFound') return { tables: [], masks: [] }
    throw error
  }
}

/** The languages of texts, the first one first. */
export async function readLanguages(client: ServiceClient): Promise<string[]> {
  const { database } = await client.get<{ database: { value: string }[] }>('/config/system/config/languages')
  return database.map(({ value }) => value)
}

/**
 * Adds the missing types to the working copy and commits it. Its other content is kept.
 * @throws {SheetError} when the working copy has changes of other users, which the commit would include.
 */
export async function makeTypes(client: ServiceClient, mapping: Mapping, missing: readonly string[]): Promise<void> {
  const types = newTypes(mapping, missing)
  const committed = await readModel(client)
  const head = await client.get<Snapshot>('/schema/user/HEAD')
  const masks = await client.get<Masks>('/mask/HEAD')
  assertNoOtherChanges(types, committed, { tables: head.tables, masks: masks.masks })
  assertFreeMasks(types, committed.masks)
  await client.post('/schema/user/HEAD', { ...head, tables: merged(head.tables, types.tables) })
  const stored = await client.get<Masks>('/mask/HEAD')
  await client.post<Masks>('/mask/HEAD', { ...stored, masks: merged(stored.masks, types.masks) })
  const names = await client.get<Record<string, object>>('/l10n/user/HEAD')
  await client.post('/l10n/user/HEAD', { ...names, ...types.names })
  await client.post('/schema/commit', undefined, { confirm: 'yes', reindex: 'reindex' })
}

/** Types of the same names that an interrupted import has left are replaced. */
function merged(present: readonly { readonly name: string }[], ours: readonly { readonly name: string }[]): unknown[] {
  const names = new Set(ours.map(({ name }) => name))
  return [...present.filter(({ name }) => !names.has(name)), ...ours]
}

function assertNoOtherChanges(types: NewTypes, committed: StoredModel, head: StoredModel): void {
  const shapes = new Map(types.tables.map((table) => [table.name, shapeOf(table.columns as WireColumn[])]))
  const leftTables = new Set(
    head.tables.filter(({ name, columns }) => shapes.get(name) === shapeOf(columns)).map(({ name }) => name),
  )
  const leftMasks = new Set(
    types.masks.filter((mask) => leftTables.has(String(mask.table_name_hint))).map(({ name }) => name),
  )
  const same =
    isDeepStrictEqual(without(head.tables, leftTables), without(committed.tables, leftTables)) &&
    isDeepStrictEqual(without(head.masks, leftMasks), without(committed.masks, leftMasks))
  if (!same) {
    throw new SheetError('the working copy of the datamodel has changes that are not committed: commit them first')
  }
}

/** Names and types of columns: a type of the same shape was left by an interrupted import. */
function shapeOf(columns: readonly WireColumn[]): string {
  const own = columns.filter(({ kind, name }) => kind === 'column' && name !== undefined)
  return JSON.stringify(own.map(({ name, type }) => [name, type]).toSorted())
}

function without<T extends { readonly name: string }>(entries: readonly T[], left: ReadonlySet<string>): T[] {
  return entries.filter(({ name }) => !left.has(name)).toSorted((one, other) => (one.name < other.name ? -1 : 1))
}

function assertFreeMasks({ masks }: NewTypes, committed: readonly WireMask[]): void {
  const taken = committed.find(({ name }) => masks.some((mask) => mask.name === name))
  if (taken) throw new SheetError(`there is a mask "${taken.name}" of another type: name one by "mask" in the mapping`)
}

interface PoolRecord {
  readonly pool: { readonly _id: number; readonly reference?: string }
}

/** The pool that the mapping names by its reference or number. */
export async function findPool(client: ServiceClient, named: string | undefined): Promise<number | null> {
  if (named === undefined) return null
  const pools = await client.get<PoolRecord[]>('/pool', { limit: 100_000 })
  const found = pools.find(({ pool }) => pool.reference === named || String(pool._id) === named)
  if (!found) throw new SheetError(`there is no pool "${named}"`)
  return found.pool._id
}
