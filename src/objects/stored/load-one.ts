import { createHash } from 'node:crypto'
import type { Model, Table } from '../../datamodel/model.ts'
import { createByteCache, stringBytes } from '../../platform/memory/byte-cache.ts'
import { createBatchLoader } from '../../platform/postgres/batch-loader.ts'
import type { Queryable } from '../../platform/postgres/db.ts'
import { numbersText } from '../../platform/postgres/literals.ts'
import type { Address } from './load.ts'
import { type RowVersions, rowVersionList, rowVersionsOf } from './row-versions.ts'
import { type LatestRow, type Loaded, latest, latestVersion, toLoaded } from './rows.ts'

/**
 * The common read, one object by its id, in one statement: each further statement costs a third of the throughput (bench/read.ts).
 * For the objects around it the statement returns only the row versions (row-versions.ts), which is half the work of loading the
 * objects; the objects themselves are usually in memory (read/object-cache.ts).
 */
export interface LoadedOne {
  readonly object: Loaded
  readonly rowVersion: string
  /** The objects that it links to and its parents, as far as they exist. */
  readonly around: RowVersions
  /** The reverse columns, of those given, through which any object links to it. */
  readonly reverses: ReadonlySet<number>
}

/**
 * The data around an object that a mask shows (masks/reader.ts): the paths of links in the content, and the columns of links from
 * objects below.
 */
export interface Surroundings {
  readonly linkPaths: readonly string[]
  readonly reverseColumns: readonly number[]
}

interface OneRow {
  readonly r: LatestRow
  readonly s: string
  readonly l: string | null
  readonly b: string | null
}

/** Maximum number of objects of one statement. */
const largestBatch = 100
/** Maximum number of statements that PostgreSQL keeps prepared on each connection: there are a few per mask and its versions. */
const mostPrepared = 500

/**
 * Loads single objects; requests that arrive together, for the same mask, share a statement. The texts of all statements have
 * `maxBytes` in memory.
 */
export function createOneReader(q: Queryable, maxBytes: number) {
  let prepared = 0
  /** Readers by their statement: each reads rows by ids. */
  const readers = createByteCache<string, ReturnType<typeof readerFor>>({
    name: 'object_statements',
    maxBytes,
    sizeOf: ({ bytes }) => bytes,
  })

  function readerFor(key: string, table: Table, by: Address['by'], surroundings: Surroundings) {
    const text = oneText(by, surroundings)
    // A statement that was evicted and is needed again gets the same name: connections know it by that name.
    const hash = createHash('sha256').update(key).digest('base64url').slice(0, 22)
    const name = ++prepared > mostPrepared ? undefined : `object-one-${hash}`
    const rowsOf = createBatchLoader(
      async (ids: readonly number[]) => {
        const { rows } = await q.query<OneRow>(text, [table.id, numbersText(new Set(ids))], name)
        return new Map(rows.map((row) => [row.r[by === 'id' ? 2 : 0], row]))
      },
      { most: largestBatch },
    )
    return { rowsOf, bytes: stringBytes(text) + stringBytes(name ?? '') }
  }

  return {
    /** One object in its latest version; null when there is none of this type. */
    async read(
      model: Model,
      table: Table,
      { by, id }: { readonly by: Address['by']; readonly id: number },
      surroundings: Surroundings,
    ): Promise<LoadedOne | null> {
      const { linkPaths, reverseColumns } = surroundings
      const key = `${by} ${linkPaths.join(' ')} ${reverseColumns.join(' ')}`
      const known = readers.get(`${table.id} ${key}`)
      const reader = known ?? readerFor(key, table, by, surroundings)
      if (!known) readers.set(`${table.id} ${key}`, reader)
      const row = (await reader.rowsOf(id)).get(id)
      const object = row && toLoaded(model, row.r)
      return object ? { object, rowVersion: row.s, around: rowVersionsOf(row.l), reverses: columnsOf(row.b) } : null
    },
  }
}

function columnsOf(text: string | null): ReadonlySet<number> {
  return new Set(text ? text.split(',').map(Number) : [])
}

/** Paths and columns become part of the text: their number differs, and paths are parsed once. */
function oneText(by: Address['by'], { linkPaths, reverseColumns }: Surroundings): string {
  const links = linkPaths.map((path) => `jsonb_path_query_array(v.content, '${assertPath(path)}')`)
  // The text of a list of numbers differs from that of an array by its brackets only.
  const ids =
    links.length === 0 ? 'o.parents' : `translate((${links.join(' || ')})::text, '[]', '{}')::bigint[] || o.parents`
  return `select ${latest} as r, o.xmin::text as s, (select ${rowVersionList} = any(${ids})) as l,
      ${reverseText(reverseColumns, 'o.system_object_id')} as b
    from object o ${latestVersion} where o.objecttype = $1 and o.${by} = any($2::bigint[])`
}

/** The columns that link to an object, as `12,13`; one index look-up for each. */
function reverseText(columns: readonly number[], to: string): string {
  if (columns.length === 0) return 'null'
  const each = columns.map(
    (column) =>
      `(select ${Number(column)} from object_link where to_id = ${to} and column_id = ${Number(column)} limit 1)`,
  )
  return `concat_ws(',', ${each.join(', ')})`
}

function assertPath(path: string): string {
  if (!/^\$(\."n?\d+")+$/.test(path)) throw new Error(`not a path of column and table keys: ${path}`)
  return path
}
