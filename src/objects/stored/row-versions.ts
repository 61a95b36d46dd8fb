import { createBatchLoader } from '../../platform/postgres/batch-loader.ts'
import type { Queryable } from '../../platform/postgres/db.ts'
import { numbersText } from '../../platform/postgres/literals.ts'

/**
 * Detects whether rows have changed since they were read. The *row version* of an object is the `xmin` of its row: every
 * transaction that updates the row gives it a new one.
 */

/** System object ids to row versions. */
export type RowVersions = ReadonlyMap<number, string>

/** Approximate maximum of ids and pairs in one statement. */
const largestBatch = 1000

/** Objects whose row versions are requested, and columns that may link to the first of them. */
interface Question {
  readonly ids: readonly [number, ...number[]]
  readonly columns: readonly number[]
}

interface Current {
  readonly rowVersions: RowVersions
  /** Keys (`linkKey`) of the requested pairs with a link. */
  readonly linked: ReadonlySet<string>
}

/** Reads row versions. */
export function createRowVersionReader(db: Queryable) {
  const current = createBatchLoader((lists: readonly (readonly Question[])[]) => read(db, lists.flat()), {
    most: largestBatch,
    sizeOf: (questions) => questions.reduce((sum, { ids, columns }) => sum + ids.length + columns.length, 0),
  })
  return {
    /**
     * The row versions of the objects that exist, and the columns, of those given, through which any object links to the first one.
     */
    async read(
      ids: readonly [number, ...number[]],
      columns: readonly number[],
    ): Promise<{ rowVersions: RowVersions; reverses: ReadonlySet<number> }> {
      const { rowVersions, linked } = await current([{ ids, columns }])
      if (columns.length === 0) return { rowVersions, reverses: noColumns }
      return { rowVersions, reverses: new Set(columns.filter((column) => linked.has(linkKey(ids[0], column)))) }
    },

    /** The same for several objects at once. */
    async readAll(
      questions: readonly Question[],
    ): Promise<{ rowVersions: RowVersions; isLinked: (to: number, column: number) => boolean }> {
      const { rowVersions, linked } = await current(questions)
      return { rowVersions, isLinked: (to, column) => linked.has(linkKey(to, column)) }
    },
  }
}

const noColumns: ReadonlySet<number> = new Set()

async function read(db: Queryable, questions: readonly Question[]): Promise<Current> {
  const ids = new Set<number>()
  const [to, columns]: [number[], number[]] = [[], []]
  for (const question of questions) {
    for (const id of question.ids) ids.add(id)
    for (const column of question.columns) {
      to.push(question.ids[0])
      columns.push(column)
    }
  }
  const { rows } = await db.query<{ s: string | null; l: string | null }>(
    `select (select ${rowVersionList} = any($1::bigint[])) as s,
       (select string_agg(concat(x.id, ':', x.col), ',') from unnest($2::bigint[], $3::int[]) as x(id, col)
        where exists (select from object_link k where k.to_id = x.id and k.column_id = x.col)) as l`,
    [numbersText(ids), numbersText(to), numbersText(columns)],
    'object-row-versions',
  )
  return { rowVersions: rowVersionsOf(rows[0]?.s ?? null), linked: new Set(rows[0]?.l?.split(',')) }
}

function linkKey(to: number, column: number): string {
  return `${to}:${column}`
}

/** The row versions of some rows as one text, up to the condition on `l.system_object_id`. */
export const rowVersionList = `string_agg(concat(l.system_object_id, ':', l.xmin), ',') from object l where l.system_object_id`

/** Parses the result of `rowVersionList`. */
export function rowVersionsOf(text: string | null): RowVersions {
  const rowVersions = new Map<number, string>()
  if (text === null) return rowVersions
  for (const entry of text.split(',')) {
    const colon = entry.indexOf(':')
    rowVersions.set(Number(entry.slice(0, colon)), entry.slice(colon + 1))
  }
  return rowVersions
}
