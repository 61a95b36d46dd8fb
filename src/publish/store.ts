import type { ReadableSql } from '../objects/service.ts'
import type { Queryable, Tx } from '../platform/postgres/db.ts'
import { numbersText } from '../platform/postgres/literals.ts'
import type { Publication } from './model.ts'

const columns = `p.id, p.system_object_id as "systemObjectId", p.version, p.collector, p.publish_uri as "publishUri",
  p.svc_uri as "svcUri", p.created_at as "createdAt"`

/** A record to write; `id` null: a new one. */
export type PublicationRow = Omit<Publication, 'id' | 'createdAt'> & { readonly id: number | null }

/** Records of objects that the caller may read, by id. */
export async function listPublications(
  q: Queryable,
  readable: ReadableSql,
  page: { readonly limit: number; readonly offset: number },
): Promise<Publication[]> {
  const first = readable.values.length
  const { rows } = await q.query<Publication>(
    `select ${columns} from publish p join object o on o.system_object_id = p.system_object_id
     where ${readable.sql} order by p.id limit $${first + 1} offset $${first + 2}`,
    [...readable.values, page.limit, page.offset],
  )
  return rows
}

/** The records whose objects the caller may read. */
export async function findPublications(
  q: Queryable,
  readable: ReadableSql,
  ids: readonly number[],
): Promise<Publication[]> {
  const { rows } = await q.query<Publication>(
    `select ${columns} from publish p join object o on o.system_object_id = p.system_object_id
     where ${readable.sql} and p.id = any($${readable.values.length + 1}::bigint[]) order by p.id`,
    [...readable.values, numbersText(ids)],
  )
  return rows
}

/** The objects of these records, which are locked, lowest id first. */
export async function lockPublications(tx: Tx, ids: readonly number[]): Promise<Map<number, number>> {
  if (ids.length === 0) return new Map()
  const { rows } = await tx.query<{ id: number; systemObjectId: number }>(
    `select id, system_object_id as "systemObjectId" from publish where id = any($1::bigint[]) order by id for update`,
    [numbersText(ids)],
    'publish-lock',
  )
  return new Map(rows.map(({ id, systemObjectId }) => [id, systemObjectId]))
}

/** Writes new and changed records; returns all as stored, in order. */
export async function writePublications(tx: Tx, records: readonly PublicationRow[]): Promise<Publication[]> {
  const { rows } = await tx.query<Publication>(
    `with sent as materialized (
       select coalesce(n.id, nextval(pg_get_serial_sequence('publish', 'id'))) as id, n.place, n.system_object_id, n.version,
         n.collector, n.publish_uri, n.svc_uri
       from jsonb_to_recordset($1) as n (place int, id bigint, system_object_id bigint, version int, collector text,
         publish_uri text, svc_uri text) order by n.place),
     written as (
       insert into publish as p (id, system_object_id, version, collector, publish_uri, svc_uri)
       select id, system_object_id, version, collector, publish_uri, svc_uri from sent
       on conflict (id) do update set system_object_id = excluded.system_object_id, version = excluded.version,
         collector = excluded.collector, publish_uri = excluded.publish_uri, svc_uri = excluded.svc_uri
       returning ${columns})
     select written.* from written join sent using (id) order by sent.place`,
    [
      JSON.stringify(
        records.map(({ id, systemObjectId, version, collector, publishUri, svcUri }, place) => ({
          place,
          id,
          system_object_id: systemObjectId,
          version,
          collector,
          publish_uri: publishUri,
          svc_uri: svcUri,
        })),
      ),
    ],
    'publish-write',
  )
  return rows
}

export async function deletePublication(tx: Tx, id: number): Promise<void> {
  await tx.query('delete from publish where id = $1', [id], 'publish-delete')
}

/** Most records in the answer of an object. */
const mostShown = 1000

/** The records of each of the objects, by id. */
export async function publicationsOf(
  q: Queryable,
  systemObjectIds: readonly number[],
): Promise<ReadonlyMap<number, Publication[]>> {
  const { rows } = await q.query<Publication>(
    `select p.* from unnest($1::bigint[]) as n (id) cross join lateral (
       select ${columns} from publish p where p.system_object_id = n.id order by p.id limit $2) p`,
    [numbersText(systemObjectIds), mostShown],
    'publish-of-objects',
  )
  return Map.groupBy(rows, ({ systemObjectId }) => systemObjectId)
}
