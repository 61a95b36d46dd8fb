import { numbersText, type Queryable } from '../../platform/db.ts'

/**
 * Whether rows are still what they were when they were read. The *stamp* of an object is the `xmin` of its row: every
 * transaction that updates the row gives it a new one.
 */

/** System object ids to stamps. */
export type Stamps = ReadonlyMap<number, string>

/** Ids that one statement asks for at most. */
const largestBatch = 1000

interface Batch {
  readonly ids: Set<number>
  /** Which columns link to which objects: asked pair by pair. */
  readonly to: number[]
  readonly columns: number[]
  readonly answer: Promise<Current>
}

interface Current {
  readonly stamps: Stamps
  /** Keys (`linkKey`) of the asked pairs that anything links through. */
  readonly linked: ReadonlySet<string>
}

/**
 * Asks for stamps with one statement for all requests that arrive together: the statement costs more than what it
 * reads. What it answers was true after each of them had arrived.
 */
export function createStampReader(db: Queryable) {
  let gathering: Batch | null = null

  function startBatch(): Batch {
    const ids = new Set<number>()
    const to: number[] = []
    const columns: number[] = []
    const answer = new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
      if (gathering === batch) gathering = null
      return read(db, ids, to, columns)
    })
    const batch = { ids, to, columns, answer }
    return batch
  }

  return {
    /** The stamps of the objects that exist, and those of the columns through which anything links to the first one. */
    async read(
      ids: readonly [number, ...number[]],
      columns: readonly number[],
    ): Promise<{ stamps: Stamps; reverses: ReadonlySet<number> }> {
      gathering ??= startBatch()
      const batch = gathering
      const [to] = ids
      for (const id of ids) batch.ids.add(id)
      for (const column of columns) {
        batch.to.push(to)
        batch.columns.push(column)
      }
      if (batch.ids.size + batch.to.length > largestBatch) gathering = null
      const { stamps, linked } = await batch.answer
      return { stamps, reverses: new Set(columns.filter((column) => linked.has(linkKey(to, column)))) }
    },
  }
}

async function read(
  db: Queryable,
  ids: ReadonlySet<number>,
  to: readonly number[],
  columns: readonly number[],
): Promise<Current> {
  const { rows } = await db.query<{ s: string | null; l: string | null }>(
    `select (select ${stampList} = any($1::bigint[])) as s,
       (select string_agg(concat(x.id, ':', x.col), ',') from unnest($2::bigint[], $3::int[]) as x(id, col)
        where exists (select from object_link k where k.to_id = x.id and k.column_id = x.col)) as l`,
    [numbersText(ids), numbersText(to), numbersText(columns)],
    'object-stamps',
  )
  return { stamps: stampsOf(rows[0]?.s ?? null), linked: new Set(rows[0]?.l?.split(',')) }
}

function linkKey(to: number, column: number): string {
  return `${to}:${column}`
}

/** The stamps of some rows as one text, up to the condition on `l.system_object_id`. */
export const stampList = `string_agg(concat(l.system_object_id, ':', l.xmin), ',') from object l where l.system_object_id`

/** What `stampList` gives. */
export function stampsOf(text: string | null): Stamps {
  const stamps = new Map<number, string>()
  if (text === null) return stamps
  for (const entry of text.split(',')) {
    const colon = entry.indexOf(':')
    stamps.set(Number(entry.slice(0, colon)), entry.slice(colon + 1))
  }
  return stamps
}
