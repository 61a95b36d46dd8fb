import type { Queryable, Tx } from '../platform/postgres/db.ts'
import { quoteIdentifier } from '../platform/postgres/literals.ts'

/**
 * The functions that the stores of users and groups share. `columns` turn a row of the table, whose alias is `t`, into a record.
 */
export function recordStore<Stored extends object>(kind: 'user' | 'group', columns: string) {
  const table = quoteIdentifier(kind)
  return {
    /** Locks the records with these ids or references, lowest id first. */
    async lock(tx: Tx, ids: readonly number[], references: readonly string[]): Promise<Stored[]> {
      if (ids.length + references.length === 0) return []
      const { rows } = await tx.query<Stored>(
        `select ${columns} from ${table} t where t.id = any($1) or t.reference = any($2) order by t.id for update of t`,
        [ids, references],
        `${kind}s_lock`,
      )
      return rows
    },

    async find(from: Queryable, ids: readonly number[]): Promise<Stored[]> {
      const { rows } = await from.query<Stored>(
        `select ${columns} from ${table} t where t.id = any($1) order by t.id`,
        [ids],
        `${kind}s_find`,
      )
      return rows
    },

    async newIds(tx: Tx, count: number): Promise<number[]> {
      if (count === 0) return []
      const { rows } = await tx.query<{ id: number }>(
        `select nextval(pg_get_serial_sequence($1, 'id')) as id from generate_series(1, $2)`,
        [table, count],
      )
      return rows.map((row) => row.id)
    },

    /** Removes a record; users and groups that it owned get `heir`, a record of the same kind, as owner. */
    async remove(tx: Tx, id: number, heir: number): Promise<void> {
      const owner = `owner_${kind}`
      await tx.query(`update "user" set ${owner} = $2 where ${owner} = $1`, [id, heir])
      await tx.query(`update "group" set ${owner} = $2 where ${owner} = $1`, [id, heir])
      await tx.query(`delete from ${table} where id = $1`, [id])
    },
  }
}
