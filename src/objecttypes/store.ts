import type { Queryable, Tx } from '../platform/postgres/db.ts'
import { defaultSettings, type ObjecttypeSettings, type StoredObjecttype } from './model.ts'

interface Row {
  id: number
  version: number
  settings: Partial<ObjecttypeSettings>
}

function toObjecttype({ id, version, settings }: Row): StoredObjecttype {
  return { id, version, settings: { ...defaultSettings, ...settings } }
}

/** Settings of all object types by table id. */
export async function readObjecttypes(db: Queryable): Promise<ReadonlyMap<number, StoredObjecttype>> {
  const { rows } = await db.query<Row>('select id, version, settings from objecttype order by id')
  return new Map(rows.map((row) => [row.id, toObjecttype(row)]))
}

/** Locks the settings of these object types until the transaction ends, lowest id first; unknown ids are absent. */
export async function lockObjecttypes(tx: Tx, ids: readonly number[]): Promise<ReadonlyMap<number, StoredObjecttype>> {
  const { rows } = await tx.query<Row>(
    'select id, version, settings from objecttype where id = any($1::int[]) order by id for update',
    [ids.filter((id) => id <= 2_147_483_647)],
  )
  return new Map(rows.map((row) => [row.id, toObjecttype(row)]))
}

export async function writeObjecttypes(tx: Tx, objecttypes: readonly StoredObjecttype[]): Promise<void> {
  await tx.query(
    `update objecttype o set version = n.version, settings = n.settings
     from unnest($1::int[], $2::int[], $3::jsonb[]) as n (id, version, settings) where o.id = n.id`,
    [
      objecttypes.map((objecttype) => objecttype.id),
      objecttypes.map((objecttype) => objecttype.version),
      objecttypes.map((objecttype) => JSON.stringify(objecttype.settings)),
    ],
  )
}

/** The number of object types with settings for each of the tags. */
export async function countTags(db: Queryable, tagIds: readonly number[]): Promise<ReadonlyMap<number, number>> {
  const { rows } = await db.query<{ id: number; count: number }>(
    `select (t->>'id')::int as id, count(*)::int as count
     from objecttype, jsonb_array_elements(coalesce(settings->'tags', '[]')) t
     where (t->>'id')::int = any($1::int[]) group by 1`,
    [tagIds],
  )
  return new Map(rows.map((row) => [row.id, row.count]))
}

/** The number of grants of object types with conditions on each of the tags. */
export async function countGrantTags(db: Queryable, tagIds: readonly number[]): Promise<ReadonlyMap<number, number>> {
  const { rows } = await db.query<{ id: number; count: number }>(
    `select id.value::int as id, count(*)::int as count
     from objecttype, jsonb_array_elements(coalesce(settings->'acl', '[]')) g,
       jsonb_each(coalesce(g->'tagfilter', '{}')) slot, jsonb_array_elements_text(slot.value) id
     where id.value::int = any($1::int[]) group by 1`,
    [tagIds],
  )
  return new Map(rows.map((row) => [row.id, row.count]))
}

/** Removes the tags from the settings of object types. */
export async function removeTags(tx: Tx, tagIds: readonly number[]): Promise<void> {
  await tx.query(
    `update objecttype set version = version + 1, settings = jsonb_set(settings, '{tags}', (
       select coalesce(jsonb_agg(t order by n), '[]') from jsonb_array_elements(settings->'tags') with ordinality e (t, n)
       where not (t->>'id')::int = any($1::int[])))
     where exists (select 1 from jsonb_array_elements(coalesce(settings->'tags', '[]')) t
       where (t->>'id')::int = any($1::int[]))`,
    [tagIds],
  )
}

/** The number of object types that refer to the mapping. */
export async function countMapping(tx: Tx, id: number): Promise<number> {
  const { rows } = await tx.query<{ count: number }>(
    `select count(*)::int as count from objecttype where exists (
       select from jsonb_each(coalesce(settings -> 'fields', '{}')) f where f.key like 'mapping_%' and f.value = to_jsonb($1::bigint))`,
    [id],
  )
  return rows[0]?.count ?? 0
}

/** Removes the references of object types to the mapping. */
export async function removeMapping(tx: Tx, id: number): Promise<void> {
  await tx.query(
    `update objecttype set version = version + 1, settings = jsonb_set(settings, '{fields}', (settings -> 'fields') || n.none)
     from (select o.id, jsonb_object_agg(f.key, 'none') as none from objecttype o, jsonb_each(coalesce(o.settings -> 'fields', '{}')) f
           where f.key like 'mapping_%' and f.value = to_jsonb($1::bigint) group by o.id) n
     where n.id = objecttype.id`,
    [id],
  )
}
