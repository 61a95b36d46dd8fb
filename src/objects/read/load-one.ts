import { createHash } from 'node:crypto'
import type { Model, Table } from '../../datamodel/model.ts'
import { createByteCache, stringBytes } from '../../platform/byte-cache.ts'
import type { Queryable } from '../../platform/db.ts'
import type { Address } from './load.ts'
import { type Stamps, stampList, stampsOf } from './stamps.ts'
import { type LatestRow, type Loaded, latest, latestVersion, toLoaded } from './stored-rows.ts'

/**
 * The common read, one object by its id, in one statement: each further one costs a third of the throughput
 * (bench/read.ts). Of the objects around it the statement brings the stamps only (stamps.ts), which is half the work of
 * bringing the objects; what they are is usually in memory (object-cache.ts).
 */
export interface LoadedOne {
  readonly object: Loaded
  readonly stamp: string
  /** The objects that it links to and its parents, as far as they exist. */
  readonly around: Stamps
  /** Those of the reverse columns through which anything links here. */
  readonly reverses: ReadonlySet<number>
}

/** What a mask shows around an object (reader.ts): where links stand in the content, which columns link from below. */
export interface Surroundings {
  readonly linkPaths: readonly string[]
  readonly reverseColumns: readonly number[]
}

/** One object in its latest version; null when there is none of this type. */
export async function loadOne(
  q: Queryable,
  model: Model,
  table: Table,
  address: { readonly by: Address['by']; readonly id: number },
  surroundings: Surroundings,
): Promise<LoadedOne | null> {
  const key = `${address.by} ${surroundings.linkPaths.join(' ')} ${surroundings.reverseColumns.join(' ')}`
  const { text, name } = statement(key, () => oneText(address.by, surroundings))
  const { rows } = await q.query<{ r: LatestRow; s: string; l: string | null; b: string | null }>(
    text,
    [table.id, address.id],
    name,
  )
  const row = rows[0]
  const object = row && toLoaded(model, row.r)
  return object ? { object, stamp: row.s, around: stampsOf(row.l), reverses: columnsOf(row.b) } : null
}

function columnsOf(text: string | null): ReadonlySet<number> {
  return new Set(text ? text.split(',').map(Number) : [])
}

/** Bytes of the texts of all statements in memory. */
const maxBytes = 4_000_000
/** Statements that PostgreSQL keeps prepared on each connection at most: there are a few per mask and its versions. */
const mostPrepared = 500

let prepared = 0

/** Statements by what they ask. */
const statements = createByteCache<string, { readonly text: string; readonly name: string | undefined }>({
  name: 'object_statements',
  maxBytes,
  sizeOf: ({ text, name = '' }) => stringBytes(text) + stringBytes(name),
})

function statement(key: string, text: () => string): { readonly text: string; readonly name: string | undefined } {
  const known = statements.get(key)
  if (known) return known
  // What was forgotten and is asked for again has its old name: connections know it by that.
  const name = `object-one-${createHash('sha256').update(key).digest('base64url').slice(0, 22)}`
  const made = { text: text(), name: ++prepared > mostPrepared ? undefined : name }
  statements.set(key, made)
  return made
}

/** Paths and columns become part of the text: their number differs, and paths are parsed once. */
function oneText(by: Address['by'], { linkPaths, reverseColumns }: Surroundings): string {
  const links = linkPaths.map((path) => `jsonb_path_query_array(v.content, '${assertPath(path)}')`)
  // The text of a list of numbers differs from that of an array by its brackets only.
  const ids =
    links.length === 0 ? 'o.parents' : `translate((${links.join(' || ')})::text, '[]', '{}')::bigint[] || o.parents`
  return `select ${latest} as r, o.xmin::text as s, (select ${stampList} = any(${ids})) as l,
      ${reverseText(reverseColumns, 'o.system_object_id')} as b
    from object o ${latestVersion} where o.objecttype = $1 and o.${by} = $2`
}

/** The columns that link to an object, as `12,13`; a look into the index for each. */
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
