import type { Queryable } from '../platform/postgres/db.ts'
import type { Localized } from '../platform/values/localized.ts'

/** The conditions by which administrators search collections; null restricts nothing. */
export interface InspectedCollections {
  readonly words: string | null
  /** Login or id of the owner. */
  readonly owner: string | null
  /** Type of the owner. */
  readonly userType: string | null
  readonly loadParents: boolean
  readonly loadChildren: boolean
  readonly order: 'id' | 'objects' | 'updated'
  readonly offset: number
  readonly limit: number
}

export interface InspectedCollection {
  readonly id: number
  readonly version: number
  readonly type: string | null
  readonly displayname: Localized
  readonly reference: string | null
  readonly owner_id: number
  readonly owner: string
  readonly owner_type: string
  readonly parent_id: number | null
  readonly system: boolean
  readonly objects: number
  readonly children: number
  readonly grants: number
  readonly shares: number
  readonly has_pin: boolean
  readonly invalid_grants: boolean
  readonly updated_at: Date
  readonly parents?: readonly number[]
  readonly child_ids?: readonly number[]
}

const orders = { id: 'c.id', objects: 'c.object_count desc, c.id', updated: 'c.updated_at desc, c.id' } as const

/**
 * A page of all collections, and how many match. Secrets that open a collection (PINs, secrets of shares, uploads) are
 * left out; the UUID opens a drive, so it is left out, too.
 */
export async function inspectCollections(
  from: Queryable,
  asked: InspectedCollections,
): Promise<{ readonly rows: InspectedCollection[]; readonly total: number }> {
  const found = `from collection c join "user" u on u.id = c.owner_user
     where ($1::text is null or position(lower($1) in lower(concat_ws(' ', c.reference, c.shortname, c.displayname::text))) > 0
         or c.id::text = $1)
       and ($2::text is null or u.id::text = $2 or lower(u.login) = lower($2)) and ($3::text is null or u.type = $3)`
  const values = [asked.words, asked.owner, asked.userType]
  const [{ rows }, counted] = await Promise.all([
    from.query<InspectedCollection>(
      `with page as (select c.* ${found} order by ${orders[asked.order]} offset $4 limit $5)
       select c.id, c.version, c.type, c.displayname, c.reference, c.owner_user as owner_id,
         coalesce(u.login, u.email, u.id::text) as owner, u.type as owner_type, c.parent_id, c.is_system as system,
         c.object_count as objects, (select count(*)::int from collection x where x.parent_id = c.id) as children,
         jsonb_array_length(c.acl) as grants,
         (select count(*)::int from collection_share s where s.collection_id = c.id) as shares,
         c.pin_hash is not null as has_pin, c.invalid_acl as invalid_grants, c.updated_at
         ${asked.loadParents ? ', c.path as parents' : ''}
         ${asked.loadChildren ? ', array(select x.id from collection x where x.parent_id = c.id order by x.id limit 100) as child_ids' : ''}
       from page c join "user" u on u.id = c.owner_user order by ${orders[asked.order]}`,
      [...values, asked.offset, asked.limit],
    ),
    from.query<{ total: number }>(`select count(*)::int8 as total ${found}`, values),
  ])
  return { rows, total: counted.rows[0]?.total ?? 0 }
}

/** The number of collections with each of the marks that administrators search for. */
export async function inspectCollectionMarks(from: Queryable): Promise<Record<string, number>> {
  const { rows } = await from.query<Record<string, number>>(
    `select count(*)::int8 as all, count(*) filter (where acl <> '[]')::int8 as shared,
       count(pin_hash)::int8 as with_pin, count(*) filter (where invalid_acl)::int8 as invalid_grants,
       (select count(*) from collection_share)::int8 as links from collection`,
  )
  return rows[0] ?? {}
}
