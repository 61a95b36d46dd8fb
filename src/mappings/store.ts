import type { Queryable, Tx } from '../platform/postgres/db.ts'
import type { Mapping, MappingBody, Use } from './model.ts'

interface Row {
  readonly id: number
  readonly profile: string
  readonly displayname: Mapping['displayname']
  readonly body: MappingBody
}

const columns = 'id, profile, displayname, body'

function toMapping({ id, profile, displayname, body }: Row): Mapping {
  return { id, profile, displayname, ...body }
}

export async function findMapping(from: Queryable, id: number): Promise<Mapping | null> {
  const { rows } = await from.query<Row>(`select ${columns} from mapping where id = $1`, [id], 'find-mapping')
  return rows[0] ? toMapping(rows[0]) : null
}

/** The mappings for a use, by id. */
export async function mappingsFor(from: Queryable, use: Use): Promise<readonly Mapping[]> {
  const { rows } = await from.query<Row>(
    `select ${columns} from mapping where body -> 'type' -> $1 = 'true' order by id`,
    [use],
    'mappings-for',
  )
  return rows.map(toMapping)
}

export interface ListedMapping extends Omit<Row, 'body'> {
  /** Of its fields, in order. */
  readonly recipes: readonly string[]
}

/** The members that lists show, by id. */
export async function listMappings(from: Queryable): Promise<readonly ListedMapping[]> {
  const { rows } = await from.query<ListedMapping>(
    `select id, profile, displayname,
            array(select jsonb_object_keys(coalesce(body -> 'recipes', '{}')) order by 1) as recipes
     from mapping order by id`,
    [],
    'list-mappings',
  )
  return rows
}

export type Written = Omit<Mapping, 'id'>

function parameters({ profile, displayname, ...body }: Written): readonly unknown[] {
  return [profile, JSON.stringify(displayname), JSON.stringify(body)]
}

export async function insertMapping(tx: Tx, mapping: Written): Promise<number> {
  const { rows } = await tx.query<{ id: number }>(
    'insert into mapping (profile, displayname, body) values ($1, $2, $3) returning id',
    parameters(mapping),
    'insert-mapping',
  )
  return rows[0]?.id ?? 0
}

/** False: the mapping does not exist. */
export async function updateMapping(tx: Tx, id: number, mapping: Written): Promise<boolean> {
  const { rowCount } = await tx.query(
    'update mapping set profile = $2, displayname = $3, body = $4, updated_at = now() where id = $1',
    [id, ...parameters(mapping)],
    'update-mapping',
  )
  return rowCount > 0
}

/** Waits for saves that are about to name it, and blocks further ones. */
export async function lockForDelete(tx: Tx, id: number): Promise<Mapping | null> {
  const { rows } = await tx.query<Row>(`select ${columns} from mapping where id = $1 for update`, [id])
  return rows[0] ? toMapping(rows[0]) : null
}

/** The existing mappings with these ids; they are locked until the transaction ends. */
export async function lockForUse(tx: Tx, ids: readonly number[]): Promise<ReadonlyMap<number, Mapping>> {
  const { rows } = await tx.query<Row>(
    `select ${columns} from mapping where id = any($1::bigint[]) order by id for key share`,
    [ids],
    'lock-mappings',
  )
  return new Map(rows.map((row) => [row.id, toMapping(row)]))
}

export async function deleteMapping(tx: Tx, id: number): Promise<void> {
  await tx.query('delete from mapping where id = $1', [id])
}
