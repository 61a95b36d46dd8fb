import type { Model, Table } from '../../datamodel/model.ts'
import type { Admission } from '../../platform/memory/admission.ts'
import { createByteCache, oldestOf } from '../../platform/memory/byte-cache.ts'
import type { Shares } from '../../platform/memory/shares.ts'
import { createBatchLoader } from '../../platform/postgres/batch-loader.ts'
import type { Queryable } from '../../platform/postgres/db.ts'
import type { Reader } from '../masks/reader.ts'
import { contentBytes, expectedBytes } from '../render/parts.ts'
import { type Address, loadStampedHeads } from '../stored/load.ts'
import { createOneReader, type LoadedOne } from '../stored/load-one.ts'
import { createRowVersionReader, type RowVersions } from '../stored/row-versions.ts'
import { type Head, type Loaded, heads as toHeads } from '../stored/rows.ts'

/** Bytes of the largest object that is kept. */
const largestObject = 1_000_000

/** Bytes of the objects that were read by id, of the heads around them, of their ids, and of the statements that read them. */
export type ObjectShares = Pick<Shares, 'objects' | 'objectHeads' | 'objectIds' | 'objectStatements'>

/** Maximum number of ids and columns in one request for a page. */
const mostAround = 1000

/** The data around the object that is needed. */
export interface Needs {
  readonly links: boolean
  readonly reverses: boolean
}

export interface CachedObject {
  readonly object: Loaded
  /** The heads of its parents and, when needed, of the objects that it links to. */
  readonly heads: readonly Head[]
  /** Reverse columns through which no object links to it, when needed. */
  readonly absent: readonly number[]
  /** It is kept in memory, since it is requested repeatedly. */
  readonly kept: boolean
}

interface Entry<T> {
  readonly rowVersion: string
  readonly value: T
}

/**
 * Objects in memory. The same artists and terms are the targets of most links, and some objects are read again and again; loading
 * and parsing them is most of the work of a read. `admission` decides which objects are kept. No answer is ever out of date: each
 * read asks the database for the row versions of the rows, and an entry is only used when its row still has the row version with
 * which it was read.
 *
 * The returned objects are shared: callers must not change them. Reads must come from `db` itself, not from a transaction, within
 * which a row can change again without a new row version.
 */
export function createObjectCache(db: Queryable, admission: Admission, memory: ObjectShares) {
  const current = createRowVersionReader(db)
  const stored = createOneReader(db, memory.objectStatements)
  const versionedHeads = createBatchLoader(
    (lists: readonly (readonly number[])[]) => loadStampedHeads(db, new Set(lists.flat())),
    { most: 1000, sizeOf: (ids) => ids.length },
  )
  let ofModel: Model | null = null
  const objects = createByteCache<number, Entry<Loaded>>({
    name: 'objects',
    maxBytes: memory.objects,
    maxEntryBytes: largestObject,
    // Characters may take two bytes; the links are kept in addition.
    sizeOf: ({ value }) => headBytes(value) + 2 * contentBytes(value.content),
  })
  const heads = createByteCache<number, Entry<Head>>({
    name: 'object_heads',
    maxBytes: memory.objectHeads,
    sizeOf: ({ value }) => headBytes(value),
  })
  const linked = new WeakMap<Loaded, { readonly reader: Reader; readonly ids: readonly number[] }>()
  /** `_id` of a type to system object id: neither ever changes. */
  const addresses = createByteCache<string, { readonly id: number }>({
    name: 'object_ids',
    maxBytes: memory.objectIds,
    sizeOf: () => 32,
  })

  // The objects in memory refer to the tables of the datamodel with which they were read.
  function begin(model: Model): void {
    if (ofModel === model) return
    ofModel = model
    objects.clear()
    heads.clear()
    addresses.clear()
  }

  /** Keeps an object that was read, with the row version of its row, if it is worth it. */
  function remember(object: Loaded, rowVersion: string): void {
    if (ofModel?.tablesById.get(object.table.id) !== object.table) return
    const id = object.systemObjectId
    admission.note(id)
    // Unless a changed version of it is already there.
    const known = objects.get(id)
    if (known ? known.rowVersion === rowVersion : !admission.admits(id, oldestOf(objects)?.value.systemObjectId)) return
    objects.set(id, { rowVersion, value: object })
    addresses.set(`${object.table.id}:${object.id}`, { id: object.systemObjectId })
  }

  return {
    /** One object in its latest version with the data around it; null when there is none of this type. */
    async one(
      model: Model,
      table: Table,
      address: { readonly by: Address['by']; readonly id: number },
      reader: Reader,
      needs: Needs,
    ): Promise<CachedObject | null> {
      begin(model)
      const reverseColumns = needs.reverses ? reader.reverseColumns : []
      const remembered = await check(table, address, reader, needs, reverseColumns)
      const surroundings = { linkPaths: needs.links ? reader.linkPaths : [], reverseColumns }
      const one = remembered ?? (await stored.read(model, table, address, surroundings))
      if (!one) return null
      if (remembered) admission.note(one.object.systemObjectId)
      else remember(one.object, one.rowVersion)
      return foundOf(model, one, reverseColumns)
    },

    remember,

    /** Heads of objects, in no order; heads in memory that are still current are not read again. */
    async heads(model: Model, ids: readonly number[]): Promise<Head[]> {
      begin(model)
      const [first, ...others] = ids
      if (first === undefined) return []
      const { rowVersions } = await current.readAll([{ ids: [first, ...others], columns: [] }])
      return [...(await headsById(model, ids, rowVersions)).values()]
    },

    /**
     * The data around objects that were just read: heads, and for each object the columns through which no object links to it; null
     * when there are too many.
     */
    async around(
      model: Model,
      items: readonly { readonly object: Loaded; readonly reader: Reader }[],
      needs: Needs,
    ): Promise<{
      readonly heads: readonly Head[]
      readonly absent: readonly { readonly object: Loaded; readonly columns: readonly number[] }[]
    } | null> {
      begin(model)
      const open = items.map(({ object, reader }) => ({
        object,
        around: needs.links ? [...reader.links(object.content), ...object.parents] : object.parents,
        columns: needs.reverses ? reader.reverseColumns : [],
      }))
      const ids = new Set(open.flatMap(({ around }) => around))
      if (ids.size + open.reduce((sum, { columns }) => sum + columns.length, 0) > mostAround) return null
      const { rowVersions, isLinked } = await current.readAll(
        open.map(({ object, around, columns }) => ({ ids: [object.systemObjectId, ...around], columns })),
      )
      const heads = await headsById(model, ids, rowVersions)
      const absent = open.map(({ object, columns }) => ({
        object,
        columns: columns.filter((column) => !isLinked(object.systemObjectId, column)),
      }))
      return { heads: [...heads.values()], absent }
    },

    /**
     * Several objects, if all of them are in memory and unchanged; else null, mostly without any request to the database.
     * `readerOf` may also reject an object (null).
     */
    async all(
      model: Model,
      ids: readonly number[],
      readerOf: (object: Loaded) => Reader | null,
      needs: Needs,
    ): Promise<CachedObject[] | null> {
      begin(model)
      const known: { entry: Entry<Loaded>; around: readonly number[]; columns: readonly number[] }[] = []
      for (const id of ids) {
        const entry = objects.get(id)
        const reader = entry && readerOf(entry.value)
        if (!entry || !reader) return null
        const columns = needs.reverses ? reader.reverseColumns : []
        known.push({ entry, around: aroundOf(entry.value, reader, needs), columns })
      }
      const { rowVersions, isLinked } = await current.readAll(
        known.map(({ entry: { value }, around, columns }) => ({ ids: [value.systemObjectId, ...around], columns })),
      )
      if (known.some(({ entry: { rowVersion, value } }) => rowVersions.get(value.systemObjectId) !== rowVersion))
        return null
      const found = await headsById(model, new Set(known.flatMap(({ around }) => around)), rowVersions)
      for (const id of ids) admission.note(id)
      return known.map(({ entry: { value }, around, columns }) => ({
        object: value,
        heads: around.flatMap((id) => found.get(id) ?? []),
        absent: columns.filter((column) => !isLinked(value.systemObjectId, column)),
        kept: true,
      }))
    },
  }

  /** The object from memory, when its row still has the same row version. */
  function check(
    table: Table,
    { by, id }: { readonly by: Address['by']; readonly id: number },
    reader: Reader,
    needs: Needs,
    reverseColumns: readonly number[],
  ) {
    const known = by === 'id' ? addresses.get(`${table.id}:${id}`)?.id : id
    const entry = known === undefined ? undefined : objects.get(known)
    return entry?.value.table === table ? confirm(entry, reader, needs, reverseColumns) : null
  }

  /** The entry from memory, when its row still has the same row version. */
  async function confirm(entry: Entry<Loaded>, reader: Reader, needs: Needs, reverseColumns: readonly number[]) {
    const object = entry.value
    const around = aroundOf(object, reader, needs)
    const { rowVersions, reverses } = await current.read([object.systemObjectId, ...around], reverseColumns)
    return rowVersions.get(object.systemObjectId) === entry.rowVersion
      ? { object, rowVersion: entry.rowVersion, around: only(rowVersions, around), reverses }
      : null
  }

  async function foundOf(
    model: Model,
    { object, around, reverses }: LoadedOne,
    reverseColumns: readonly number[],
  ): Promise<CachedObject> {
    const absent = reverseColumns.filter((column) => !reverses.has(column))
    const heads = around.size === 0 ? [] : [...(await headsById(model, around.keys(), around)).values()]
    return { object, heads, absent, kept: objects.has(object.systemObjectId) }
  }

  function aroundOf(object: Loaded, reader: Reader, { links }: Needs): readonly number[] {
    return links ? linkedFrom(object, reader) : object.parents
  }

  /** The linked objects that the mask shows, and the parents. */
  function linkedFrom(object: Loaded, reader: Reader): readonly number[] {
    const known = linked.get(object)
    if (known?.reader === reader) return known.ids
    const ids = [...new Set([...reader.links(object.content), ...object.parents])]
    linked.set(object, { reader, ids })
    return ids
  }

  /**
   * The heads of these rows; heads that are not in memory with this row version are loaded, together with those for other requests.
   */
  async function headsById(model: Model, ids: Iterable<number>, rowVersions: RowVersions): Promise<Map<number, Head>> {
    const found = new Map<number, Head>()
    const missing: number[] = []
    for (const id of ids) {
      const rowVersion = rowVersions.get(id)
      if (rowVersion === undefined) continue
      const entry = heads.get(id)
      if (entry?.rowVersion === rowVersion) found.set(id, entry.value)
      else missing.push(id)
    }
    if (missing.length === 0) return found
    const rows = await versionedHeads(missing)
    for (const id of missing) {
      const row = rows.get(id)
      const [head] = row ? toHeads(model, [row.r]) : []
      if (!row || !head) continue
      found.set(id, head)
      if (ofModel === model) heads.set(id, { rowVersion: row.rowVersion, value: head })
    }
    return found
  }
}

const sizes = new WeakMap<Head, number>()

/** The size in bytes of a head: the part of an object that links to it show. */
export function headBytes(head: Head): number {
  let bytes = sizes.get(head)
  if (bytes === undefined) {
    // Characters may take two bytes; its short form is kept as a text in addition.
    bytes =
      700 +
      3 * expectedBytes(head.standard) +
      2 * expectedBytes(head.acl) +
      8 * (head.tags.length + head.parents.length)
    sizes.set(head, bytes)
  }
  return bytes
}

const noRowVersions: RowVersions = new Map()

function only(rowVersions: RowVersions, ids: readonly number[]): RowVersions {
  if (ids.length === 0) return noRowVersions
  const result = new Map<number, string>()
  for (const id of ids) {
    const rowVersion = rowVersions.get(id)
    if (rowVersion !== undefined) result.set(id, rowVersion)
  }
  return result
}
