import type { Queryable } from '../../platform/postgres/db.ts'

/** An object that links name and that does not exist yet. */
export interface InspectedPromise {
  /** The reserved system object id. */
  readonly id: number
  readonly objecttype: number
  readonly uuid: string
  /** The users whose saves have linked to it, first one first. */
  readonly users: readonly number[]
  readonly createdAt: Date
  /** The number of links, at most one more than `mostLinks`. */
  readonly links: number
  /** The first objects with such a link. */
  readonly objects: readonly {
    readonly id: number
    readonly objecttype: number
    readonly column: number
    readonly deleted: boolean
  }[]
}

/** Up to here links to a promised object are counted. */
export const mostLinks = 1000
const shownObjects = 10

/** Promised objects to which objects link in their latest version, oldest first; one more than `limit` where there are more. */
export async function inspectPromises(
  from: Queryable,
  { offset, limit }: { readonly offset: number; readonly limit: number },
): Promise<InspectedPromise[]> {
  const { rows } = await from.query<InspectedPromise>(
    `select p.id, p.objecttype, p.uuid, p.users, p.created_at as "createdAt",
       (select count(*)::int from (select from object_link where to_id = p.id limit $3) l) as links,
       (select json_agg(json_build_object('id', f.from_id, 'objecttype', f.objecttype, 'column', f.column_id, 'deleted', f.deleted))
        from (
          select l.from_id, l.column_id, o.objecttype, o.deleted_at is not null as deleted
          from object_link l join object o on o.system_object_id = l.from_id
          where l.to_id = p.id order by l.column_id, l.from_id limit $4
        ) f) as objects
     from (
       select * from object_promise p
       where kept_at is null and exists (select from object_link l where l.to_id = p.id)
       order by id offset $1 limit $2 + 1
     ) p order by p.id`,
    [offset, limit, mostLinks + 1, shownObjects],
  )
  return rows
}
