import { type ServiceClient, ServiceError } from '../client.ts'
import { type MaskEntry, tateMasks } from './masks.ts'
import { type TableEntry, tateTableNames, tateTables } from './tables.ts'

/** Object types as a service has them. */
export type KnownTables = readonly { name: string; columns?: { name?: string; column_id?: number }[] }[]

interface Snapshot {
  version: number
  max_column_id?: number
  tables: KnownTables
}

interface Masks {
  masks: { name: string; mask_id?: number }[]
}

/** The existing datamodel conflicts; `message` has the details. */
export class ModelConflict extends Error {}

/**
 * Makes sure that the service has the object types, masks and names of the collection. Existing ones are not changed; other object
 * types stay. With `extend` types get the columns that they lack: those of an older release. Returns whether a version was
 * committed.
 */
export async function ensureDatamodel(client: ServiceClient, { extend = false } = {}): Promise<boolean> {
  const current = await client.get<Snapshot>('/schema/user/CURRENT').catch(noVersion)
  const tables = current?.tables ?? []
  const lacking = lackingColumns(tables)
  if (lacking.length === 0 && tateTables.every(({ name }) => tables.some((table) => table.name === name))) return false
  if (!extend) assertOurs(tables)
  const head = await client.get<Snapshot>('/schema/user/HEAD')
  const next = lacking.length > 0 ? extended(head) : merged(head.tables, withPairs(head))
  // Whatever version this instance expects of its clients.
  await client.post('/schema/user/HEAD?overwrite=1', { ...head, tables: next })
  const masks = await client.get<Masks>('/mask/HEAD')
  const own = { ...masks, masks: merged(masks.masks, sameMasks(masks)) }
  const stored = await client.post<Masks>('/mask/HEAD?overwrite=1', own)
  const names = await client.get<Record<string, object>>('/l10n/user/HEAD')
  await client.post('/l10n/user/HEAD', { ...names, ...tateTableNames, ...maskNames(stored) })
  await client.post('/schema/commit', undefined, { confirm: 'yes', reindex: 'reindex' })
  return true
}

function noVersion(error: unknown): null {
  if (error instanceof ServiceError && error.code === 'DatamodelVersionNotFound') return null
  throw error
}

/** The missing columns of types that have the names of ours. */
function lackingColumns(tables: KnownTables) {
  const known = new Map(tables.map((table) => [table.name, table]))
  return tateTables.flatMap(({ name, columns }) => {
    const table = known.get(name)
    if (!table) return []
    const there = new Set((table.columns ?? []).map((column) => column.name))
    const missing = columns.filter((column) => column.kind === 'column' && !there.has(column.name))
    return missing.length > 0 ? [{ name, missing }] : []
  })
}

/** @throws {ModelConflict} when a type of the same name is another one. */
export function assertOurs(tables: KnownTables): void {
  const [first] = lackingColumns(tables)
  if (!first) return
  const names = first.missing.map((column) => column.name).join(', ')
  throw new ModelConflict(
    `the service has an object type "${first.name}" of its own, without ${names}: import into another instance`,
  )
}

/** The tables with their missing columns; missing tables are added as a whole. */
function extended(head: Snapshot): unknown[] {
  const lacking = new Map(lackingColumns(head.tables).map(({ name, missing }) => [name, missing]))
  const known = new Set(head.tables.map(({ name }) => name))
  return [
    ...head.tables.map((table) => ({
      ...table,
      columns: [...(table.columns ?? []), ...(lacking.get(table.name) ?? [])],
    })),
    ...withPairs(head).filter(({ name }) => !known.has(name)),
  ]
}

/** Our masks with the ids of existing masks of the same names: grants refer to these ids. */
function sameMasks({ masks }: Masks): MaskEntry[] {
  const ids = new Map(masks.map(({ name, mask_id }) => [name, mask_id]))
  return tateMasks.map((mask) => (ids.get(mask.name) === undefined ? mask : { ...mask, mask_id: ids.get(mask.name) }))
}

/**
 * The tables with their bidirectional pairs. A pair refers to a column of another table, which is only possible by id. So the
 * columns of pairs get ids from us, higher than all ids of the service.
 */
function withPairs({ max_column_id = 0 }: Snapshot): TableEntry[] {
  const paired = tateTables.flatMap(({ name, opposite }) => (opposite ? [name, opposite] : []))
  const idOf = (table: string): number => max_column_id + 1 + paired.indexOf(table)
  return tateTables.map(({ opposite, ...table }) => {
    if (!paired.includes(table.name)) return table
    const columns = table.columns.map((column) => ({ ...column, column_id: idOf(table.name) }))
    const pair = opposite ? [{ columns: [{ column_id: idOf(table.name) }, { column_id: idOf(opposite) }] }] : []
    return { ...table, columns, bidirectional: pair }
  })
}

/** Ours instead of those of the same name: in a working copy that an interrupted import left behind. */
function merged<T extends { name: string }>(
  present: readonly T[],
  ours: readonly (TableEntry | MaskEntry)[],
): unknown[] {
  const names = new Set(ours.map((entry) => entry.name))
  return [...present.filter((entry) => !names.has(entry.name)), ...ours]
}

function maskNames({ masks }: Masks): Record<string, object> {
  const names = new Map(tateMasks.map((mask) => [mask.name, mask.name_localized]))
  return Object.fromEntries(
    masks.flatMap(({ name, mask_id }) => {
      const localized = names.get(name)
      return localized ? [[`mask.${mask_id}.${name}.name`, localized]] : []
    }),
  )
}

interface PoolRecord {
  pool: { _id: number; reference?: string }
}

/** The collection's pool, by which a demo is known. */
export const poolReference = 'tate:collection'

/** The pool that holds the artworks; created below the root pool when it is not there. Returns its id. */
export async function ensurePool(client: ServiceClient): Promise<number> {
  const pools = await client.get<PoolRecord[]>('/pool', { limit: 100_000 })
  const found = pools.find(({ pool }) => pool.reference === poolReference)
  if (found) return found.pool._id
  const [created] = await client.post<PoolRecord[]>('/pool', [
    {
      _basetype: 'pool',
      pool: {
        'lookup:_id_parent': { reference: 'system:root' },
        reference: poolReference,
        name: { 'de-DE': 'Sammlung Tate', 'en-US': 'Tate collection' },
        shortname: { 'de-DE': 'Tate', 'en-US': 'Tate' },
        description: {
          'de-DE': 'Veröffentlichte Metadaten der Sammlung Tate (CC0 1.0).',
          'en-US': 'Published metadata of the Tate collection (CC0 1.0).',
        },
      },
    },
  ])
  if (!created) throw new Error('the service created no pool')
  return created.pool._id
}
