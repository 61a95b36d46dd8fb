import type pg from 'pg'
import type { Db } from '../platform/postgres/db.ts'

export interface SqlAnswer {
  readonly query: string
  readonly columns: readonly string[]
  readonly rows: readonly (readonly (string | null)[])[]
  /** There are more rows than shown. */
  readonly cut: boolean
  readonly milliseconds: number
  readonly error: string
}

/** Maximum seconds, rows, and characters of a value. */
const [longest, mostRows, longestValue] = [5, 200, 2000]

/**
 * Runs a query that an administrator types. It is put into a select, so that only queries are valid, and runs in a read-only
 * transaction, as a role that may only read tables where there is one. It has a time limit of some seconds, and a separate
 * connection, which is closed afterwards because the query may have changed its settings.
 */
export async function askSql(db: Db, query: string): Promise<SqlAnswer> {
  const client = await db.connect()
  const began = performance.now()
  try {
    await client.query(`begin read only`)
    await client.query(`set local statement_timeout = '${longest}s'`)
    await client.query(`set local lock_timeout = '1s'`)
    if (await mayBeReader(client)) await client.query('set local role pg_read_all_data')
    const { rows } = await client.query<{ names: string[]; texts: (string | null)[] }>(bounded(query))
    return {
      query,
      columns: rows[0]?.names ?? [],
      rows: rows.slice(0, mostRows).map(({ texts }) => texts),
      cut: rows.length > mostRows,
      ...{ milliseconds: Math.round(performance.now() - began), error: '' },
    }
  } catch (error) {
    const milliseconds = Math.round(performance.now() - began)
    return { query, columns: [], rows: [], cut: false, milliseconds, error: (error as Error).message }
  } finally {
    client.release(true)
  }
}

/**
 * In the extended protocol a text is a single statement. The database cuts long values, so that they do not fill the memory here.
 */
function bounded(query: string): pg.QueryConfig & { queryMode: string } {
  const text = `select array(select key from json_each_text(j) with ordinality as e(key, value, n) order by n) as names,
    array(select left(value, ${longestValue}) from json_each_text(j) with ordinality as e(key, value, n) order by n) as texts
    from (select row_to_json(q) as j from (\n${query}\n) q limit ${mostRows + 1}) shown`
  return { text, queryMode: 'extended' }
}

async function mayBeReader(client: pg.PoolClient): Promise<boolean> {
  const { rows } = await client.query<{ may: boolean }>(
    `select pg_has_role(current_user, 'pg_read_all_data', 'member') as may`,
  )
  return rows[0]?.may ?? false
}
