import type { ClientBase } from 'pg'

/** A table in a backup: `schema.name`, and its columns in the order of the copied rows. */
export interface TableContent {
  readonly schema: string
  readonly name: string
  readonly columns: readonly string[]
}

export interface SequenceState {
  readonly schema: string
  readonly name: string
  readonly type: string
  /** As text: it may exceed 2^53. */
  readonly value: string
  /** Whether `value` was already drawn. */
  readonly called: boolean
}

/** Our schema, and that of the job queue: waiting mails and webhooks must not be lost. */
const schemas = ['public', 'graphile_worker']

/**
 * Tables that are rebuilt from the objects after a restore: the search index, its queue, counted files, and locks. Messages between
 * processes are only temporary. The table of migrations describes the schema; a restore creates it by migrating.
 */
const leftOut = ['search\\_%', 'index\\_queue', 'bus\\_message%', 'file\\_count%', 'migration', 'migrations']

/** All tables whose rows are part of a backup, by name. */
export async function contentTables(client: ClientBase): Promise<TableContent[]> {
  const { rows } = await client.query<TableContent>(
    `select n.nspname as schema, c.relname as name,
       array_agg(a.attname::text order by a.attnum) as columns
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
       join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
     where n.nspname = any($1) and c.relkind = 'r' and c.relpersistence = 'p'
       and not c.relname like any($2)
     group by 1, 2 order by 1, 2`,
    [schemas, leftOut],
  )
  return rows
}

/** Number of rows of each table. */
export async function countRows(client: ClientBase, tables: readonly TableContent[]): Promise<number[]> {
  const counts = tables.map((table, index) => `select ${index} as index, count(*)::int8 as rows from ${nameOf(table)}`)
  const { rows } = await client.query<{ index: number; rows: number }>(`${counts.join(' union all ')} order by index`)
  return rows.map((row) => row.rows)
}

/** All sequences with their positions. Read after a snapshot is taken, the positions are at least as high as the ids in it. */
export async function sequenceStates(client: ClientBase): Promise<SequenceState[]> {
  const { rows } = await client.query<Omit<SequenceState, 'value' | 'called'>>(
    `select n.nspname as schema, c.relname as name, format_type(s.seqtypid, null) as type
     from pg_sequence s join pg_class c on c.oid = s.seqrelid join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = any($1) and not c.relname like any($2) order by 1, 2`,
    [schemas, leftOut],
  )
  if (rows.length === 0) return []
  // One statement for all of them: each object type has a sequence.
  const parts = rows.map(
    (row, index) => `select ${index} as index, last_value::text as value, is_called as called from ${nameOf(row)}`,
  )
  const { rows: states } = await client.query<{ index: number; value: string; called: boolean }>(
    parts.join(' union all '),
  )
  return states.flatMap(({ index, value, called }) => {
    const row = rows[index]
    return row ? [{ ...row, value, called }] : []
  })
}

/** The quoted name of a table or sequence, for SQL text. */
export function nameOf({ schema, name }: { schema: string; name: string }): string {
  return `${quoted(schema)}.${quoted(name)}`
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

export function columnList(columns: readonly string[]): string {
  return columns.map(quoted).join(', ')
}
