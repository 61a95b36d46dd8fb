import type { Table } from '../datamodel/model.ts'
import type { Tx } from '../platform/db.ts'
import { AppError } from '../platform/errors.ts'
import type { LinkRef } from './link-ref.ts'
import type { Draft } from './payload.ts'
import { lookupKey, uniqueValue } from './unique.ts'
import { printable } from './values.ts'

/** What a save needs to know of an object that exists: which one it is and what rights on it depend on. */
export interface Found {
  readonly systemObjectId: number
  readonly objecttypeId: number
  readonly id: number
  readonly version: number
  readonly uuid: string
  readonly poolId: number | null
  readonly ownerUserId: number | null
  readonly ownerGroupId: number | null
  readonly tags: readonly number[]
  readonly acl: unknown
  readonly parents: readonly number[]
  readonly deleted: boolean
}

/** Finds what references name: objects of the same request first, then stored ones. */
export interface Resolver {
  /** The stored object that a reference names, trash included; `undefined` when there is none. */
  stored(ref: LinkRef): Found | undefined
  /** The object of this request that a reference names. */
  drafted(ref: LinkRef): Draft | undefined
}

/** Key of a reference: equal keys name the same object. An object of another database has a key that nothing has here. */
function keyOf(ref: LinkRef, databaseName: string): string {
  switch (ref.by) {
    case 'system':
      return (ref.database ?? databaseName) === databaseName ? `s${ref.id}` : `g${ref.id}@${ref.database}`
    case 'uuid':
      return `u${ref.uuid}`
    case 'id':
      return `i${ref.table.id}:${ref.id}`
    case 'lookup':
      return `l${ref.column.id}:${JSON.stringify(ref.value)}`
  }
}

/**
 * Resolves all references of a request with a constant number of statements, and locks the objects found against
 * deletion (`for key share`) until the transaction ends.
 * @throws {AppError} `LookupFoundTooMany` when a lookup is ambiguous.
 */
export async function createResolver(
  { tx, databaseName }: { readonly tx: Tx; readonly databaseName: string },
  refs: readonly LinkRef[],
  drafts: readonly Draft[],
): Promise<Resolver> {
  const nameOf = (ref: LinkRef) => keyOf(ref, databaseName)
  const distinct = new Map<string, LinkRef>()
  for (const ref of refs) distinct.set(nameOf(ref), ref)
  const lookups = await resolveLookups(tx, [...distinct.values()])
  const found = await findObjects(tx, [...distinct.values()], [...lookups.values()])
  const byDraft = indexDrafts(drafts, [...distinct.values()])
  return {
    stored(ref) {
      if (ref.by !== 'lookup') return found.get(nameOf(ref))
      const systemObjectId = lookups.get(nameOf(ref))
      return systemObjectId === undefined ? undefined : found.get(`s${systemObjectId}`)
    },
    drafted: (ref) => byDraft.get(nameOf(ref)),
  }

  /** Lookups by column to system object ids: through the unique key where there is one, else through the contents. */
  async function resolveLookups(q: Tx, all: readonly LinkRef[]): Promise<Map<string, number>> {
    const result = new Map<string, number>()
    const unique: { key: string; value: string; ref: LinkRef & { by: 'lookup' } }[] = []
    const scanned: (LinkRef & { by: 'lookup' })[] = []
    for (const ref of all) {
      if (ref.by !== 'lookup') continue
      const key = lookupKey(ref.column)
      if (key) unique.push({ key: key.key, value: uniqueValue([ref.value]), ref })
      else scanned.push(ref)
    }
    if (unique.length > 0) {
      const { rows } = await q.query<{ n: number; id: number }>(
        `select x.n, u.system_object_id as id
         from unnest($1::text[], $2::text[]) with ordinality as x(key, value, n)
         join object_unique u on u.key = x.key and u.value = x.value`,
        [unique.map((entry) => entry.key), unique.map((entry) => entry.value)],
        'resolve-unique',
      )
      for (const row of rows) {
        const entry = unique[row.n - 1]
        if (entry) result.set(nameOf(entry.ref), row.id)
      }
    }
    if (scanned.length > 0) {
      const { rows } = await q.query<{ n: number; id: number; matches: number }>(
        `select x.n, min(o.system_object_id) as id, count(*)::int as matches
         from unnest($1::int[], $2::text[], $3::jsonb[]) with ordinality as x(objecttype, column_key, value, n)
         join object o on o.objecttype = x.objecttype and o.deleted_at is null
         join object_version v on v.system_object_id = o.system_object_id and v.version = o.version
          and v.content -> x.column_key = x.value
         group by x.n`,
        [
          scanned.map((ref) => ref.table.id),
          scanned.map((ref) => ref.column.key),
          scanned.map((ref) => JSON.stringify(ref.value)),
        ],
        'resolve-scan',
      )
      for (const row of rows) {
        const ref = scanned[row.n - 1]
        if (!ref) continue
        if (row.matches > 1) {
          throw new AppError('LookupFoundTooMany', {
            name: ref.place,
            column: ref.column.fullName,
            value: printable(ref.value),
            found: row.matches,
          })
        }
        result.set(nameOf(ref), row.id)
      }
    }
    return result
  }

  async function findObjects(q: Tx, all: readonly LinkRef[], lookedUp: readonly number[]): Promise<Map<string, Found>> {
    const systemIds = new Set(lookedUp)
    const uuids: string[] = []
    const tables: number[] = []
    const ids: number[] = []
    for (const ref of all) {
      if (ref.by === 'system') systemIds.add(ref.id)
      else if (ref.by === 'uuid') uuids.push(ref.uuid)
      else if (ref.by === 'id') {
        tables.push(ref.table.id)
        ids.push(ref.id)
      }
    }
    const result = new Map<string, Found>()
    if (systemIds.size + uuids.length + ids.length === 0) return result
    if (uuids.length + ids.length > 0) {
      const { rows } = await q.query<{ id: number }>(
        `select system_object_id as id from object where uuid = any($1::text[])
         union
         select o.system_object_id from unnest($2::int[], $3::bigint[]) as x(objecttype, id)
         join object o on o.objecttype = x.objecttype and o.id = x.id`,
        [uuids, tables, ids],
        'resolve-names',
      )
      for (const row of rows) systemIds.add(row.id)
    }
    const { rows } = await q.query<Found>(
      `select system_object_id as "systemObjectId", objecttype as "objecttypeId", id, version, uuid,
              pool_id as "poolId", owner_user as "ownerUserId", owner_group as "ownerGroupId", tags, acl, parents,
              deleted_at is not null as deleted
       from object where system_object_id = any($1::bigint[]) order by system_object_id for key share`,
      [[...systemIds]],
      'resolve-objects',
    )
    for (const row of rows) {
      result.set(`s${row.systemObjectId}`, row)
      result.set(`u${row.uuid}`, row)
      result.set(`i${row.objecttypeId}:${row.id}`, row)
    }
    return result
  }

  /** Objects of the request by every name that a reference of the request uses. */
  function indexDrafts(all: readonly Draft[], wanted: readonly LinkRef[]): Map<string, Draft> {
    const index = new Map<string, Draft>()
    const columns = new Map<Table, Set<string>>()
    for (const ref of wanted) {
      if (ref.by === 'lookup') columns.set(ref.table, (columns.get(ref.table) ?? new Set()).add(ref.column.key))
    }
    for (const draft of all) {
      if (draft.systemObjectId !== undefined) index.set(`s${draft.systemObjectId}`, draft)
      if (draft.uuid !== undefined) index.set(`u${draft.uuid}`, draft)
      if (draft.id !== undefined) index.set(`i${draft.table.id}:${draft.id}`, draft)
      for (const key of columns.get(draft.table) ?? []) {
        const value = draft.written[key]
        if (value !== undefined && value !== null) index.set(`l${key}:${JSON.stringify(value)}`, draft)
      }
    }
    return index
  }
}
