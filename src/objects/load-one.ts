import type { Model, Table } from '../datamodel/model.ts'
import type { Queryable } from '../platform/db.ts'
import type { Address } from './load.ts'
import { type LatestRow, type Loaded, latest, latestVersion, toLoaded } from './stored-rows.ts'

/** An object and what stands around it, as far as its mask shows it. */
export interface LoadedOne {
  readonly object: Loaded
  /** The objects that it links to and its parents, each with the stamp of its row: what is gone is not there. */
  readonly linked: readonly { readonly id: number; readonly stamp: string }[]
  /** Those of the reverse columns through which anything links here. */
  readonly reverses: ReadonlySet<number>
}

/** Where the links of a mask stand in the content, and through which columns its reverse objects link (reader.ts). */
export interface Surroundings {
  readonly linkPaths: readonly string[]
  readonly reverseColumns: readonly number[]
}

/**
 * One object in its latest version; null when there is none of this type. The common read, so one statement: each
 * further one costs a third of the throughput (bench/read.ts). Of the linked objects it brings the stamps only, which
 * is half the work of bringing the objects; what they are is usually in memory (head-cache.ts).
 */
export async function loadOne(
  q: Queryable,
  model: Model,
  table: Table,
  address: { readonly by: Address['by']; readonly id: number },
  surroundings: Surroundings,
): Promise<LoadedOne | null> {
  const { text, name } = oneStatement(address.by, surroundings)
  const { rows } = await q.query<{ r: LatestRow; l: string | null; b: string | null }>(
    text,
    [table.id, address.id],
    name,
  )
  const row = rows[0]
  const object = row && toLoaded(model, row.r)
  if (!object) return null
  return {
    object,
    linked: row.l ? row.l.split(',').map(stampedId) : [],
    reverses: new Set(row.b ? row.b.split(',').map(Number) : []),
  }
}

function stampedId(text: string): { id: number; stamp: string } {
  const colon = text.indexOf(':')
  return { id: Number(text.slice(0, colon)), stamp: text.slice(colon + 1) }
}

/** Statements by what they bring: a few per mask. */
const oneStatements = new Map<string, { text: string; name: string }>()

function oneStatement(by: Address['by'], surroundings: Surroundings): { text: string; name: string } {
  const key = `${by} ${surroundings.linkPaths.join(' ')} ${surroundings.reverseColumns.join(' ')}`
  let statement = oneStatements.get(key)
  if (!statement) {
    statement = { name: `object-one-${oneStatements.size}`, text: oneText(by, surroundings) }
    oneStatements.set(key, statement)
  }
  return statement
}

/**
 * Every update of a row gives it a new `xmin`, so that is its stamp. Paths and columns become part of the text: their
 * number differs, and paths are parsed once.
 */
function oneText(by: Address['by'], { linkPaths, reverseColumns }: Surroundings): string {
  const ids = linkPaths.map((path) => `select p::bigint from jsonb_path_query(v.content, '${assertPath(path)}') p`)
  const wanted = [...ids, 'select unnest(o.parents)'].join(' union all ')
  const reverses = `select string_agg(distinct k.column_id::text, ',') from object_link k
      where k.to_id = o.system_object_id and k.column_id = any('{${reverseColumns.map(Number).join()}}'::int[])`
  return `select ${latest} as r, (
      select string_agg(concat(l.system_object_id, ':', l.xmin), ',') from object l
      where l.system_object_id = any(array(${wanted}))
    ) as l, ${reverseColumns.length === 0 ? 'null' : `(${reverses})`} as b
    from object o ${latestVersion} where o.objecttype = $1 and o.${by} = $2`
}

function assertPath(path: string): string {
  if (!/^\$(\."n?\d+")+$/.test(path)) throw new Error(`not a path of column and table keys: ${path}`)
  return path
}
