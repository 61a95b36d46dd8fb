import type { Queryable } from '../../platform/postgres/db.ts'
import type { RightContext } from '../catalogue.ts'
import { rightsCatalogue } from '../catalogue.ts'
import type { StoredGrant } from '../model.ts'

/** A place of stored grants: a table or a query, with the columns `id` and `acl`. */
export interface GrantStore {
  readonly kind: GrantSourceKind
  readonly from: string
  readonly context: RightContext
}

export const grantSourceKinds = ['pool', 'objecttype', 'object', 'collection', 'tag', 'user', 'group'] as const
export type GrantSourceKind = (typeof grantSourceKinds)[number]

/** The kinds of things that a grant refers to. */
export const namedThings = [
  'user',
  'group',
  'right_preset',
  'pool',
  'tag',
  'objecttype',
  'mask',
  'column',
  'right',
] as const
export type NamedThing = (typeof namedThings)[number]

/** Tables with the column `id` of the things that grants refer to. */
export type NamedTables = Readonly<Record<'user' | 'group' | 'right_preset' | 'pool' | 'tag', string>>

/** The ids of the datamodel that grants refer to. */
export interface ModelNames {
  readonly objecttypes: readonly number[]
  readonly masks: readonly number[]
  readonly columns: readonly number[]
}

export interface InvalidGrant {
  readonly kind: GrantSourceKind
  readonly id: number
  readonly grant: StoredGrant
  readonly missing: readonly { readonly what: NamedThing; readonly ref: number | string }[]
  /** The total number. */
  readonly count: number
}

/** JSON paths of each kind of reference in a stored grant; the key of `mask_ids` is an object type. */
const paths = {
  pool: '$.rights.*.pool_ids[*]',
  tag: '$.tagfilter.*[*]',
  column: '$.rights.*.column_ids[*]',
  mask: '$.rights.*.mask_ids.*[*] ? (@.type() == "number")',
} as const

/**
 * Grants with references to deleted things, in one statement over all places. Such a grant gives less than it shows, or nothing:
 * users, groups, presets, object types, masks and file columns can be deleted while grants still refer to them.
 */
export async function findInvalid(
  from: Queryable,
  stores: readonly GrantStore[],
  tables: NamedTables,
  model: ModelNames,
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Promise<InvalidGrant[]> {
  const places = stores.map(({ kind, from: source }) => `select '${kind}' as kind, id::bigint, acl from ${source}`)
  const rights = stores.flatMap(({ kind, context }) =>
    rightsCatalogue[context].rights.map(({ name }) => `${kind}.${name}`),
  )
  const gone = (what: keyof NamedTables): string =>
    `when '${what}' then not exists (select from ${tables[what]} t where t.id::text = named.ref)`
  const byPath = Object.entries(paths).map(
    ([what, path]) => `select one.*, '${what}', p #>> '{}' from one, jsonb_path_query(acl_grant, '${path}') as p`,
  )
  const { rows } = await from.query<InvalidGrant>(
    `with place as (${places.join(' union all ')}),
     one as (
       select kind, id, n, acl_grant from place, jsonb_array_elements(acl) with ordinality as g (acl_grant, n)
       where jsonb_typeof(acl) = 'array'
     ),
     named (kind, id, n, acl_grant, what, ref) as (
       select one.*, 'user', substr(acl_grant->>'who', 2) from one where acl_grant->>'who' ~ '^u\\d'
       union select one.*, 'group', substr(acl_grant->>'who', 2) from one where acl_grant->>'who' ~ '^g\\d'
       union select one.*, 'right_preset', acl_grant->>'preset' from one where acl_grant ? 'preset'
       union select one.*, 'right', r from one, jsonb_object_keys(acl_grant->'rights') as r
       union select one.*, 'objecttype', p #>> '{}' from one, jsonb_path_query(acl_grant, '$.rights.*.objecttype_ids[*]') as p
       union select one.*, 'objecttype', p #>> '{}' from one, jsonb_path_query(acl_grant, '$.rights.*.mask_ids.keyvalue().key') as p
       ${byPath.map((select) => `union ${select}`).join('\n       ')}
     )
     select kind, id, acl_grant as grant, (count(*) over ())::int as count,
       jsonb_agg(jsonb_build_object('what', what,
         'ref', case when what = 'right' then to_jsonb(ref) else to_jsonb(ref::bigint) end) order by what, ref) as missing
     from named
     where case what
       ${(['user', 'group', 'right_preset', 'pool', 'tag'] as const).map(gone).join('\n       ')}
       when 'objecttype' then not ref = any($1::text[])
       when 'mask' then not ref = any($2::text[])
       when 'column' then not ref = any($3::text[])
       else not kind || '.' || ref = any($4::text[])
     end
     group by kind, id, n, acl_grant
     order by array_position($5::text[], kind), id, n
     limit $6 offset $7`,
    [
      model.objecttypes.map(String),
      model.masks.map(String),
      model.columns.map(String),
      rights,
      grantSourceKinds,
      limit,
      offset,
    ],
    'invalid-grants',
  )
  return rows
}
