import type { Model } from '../../datamodel/model.ts'
import type { Queryable } from '../../platform/postgres/db.ts'
import type { CallerRights, SearchGrant } from '../../rights/service.ts'

/** Children of `x.id` that are not in the trash. The second part is what the index on parents knows. */
const child = `o.parents @> array[x.id] and o.parents <> '{}' and o.deleted_at is null`

const tagsFit = (tags: string, of: string): string =>
  `${tags} @> ${of}."all" and (${of}."any" = '{}' or ${tags} && ${of}."any") and not ${tags} && ${of}."not"`

/** The read right as `CallerRights.may` has it: by ownership, by the grants of the container, by those of the object. */
const readable = `o.owner_user = $2 or o.owner_group = any($3::bigint[])
  or exists (
    select from jsonb_to_recordset($4::jsonb)
      as g(types int[], pools bigint[], without boolean, private boolean, "all" int[], "any" int[], "not" int[])
    where (g.private or not (o.private_acl and o.objecttype = any($5::int[])))
      and (g.types is null or o.objecttype = any(g.types))
      and case when g.without then o.pool_id is null else g.pools is null or o.pool_id = any(g.pools) end
      and ${tagsFit('o.tags', 'g')})
  or (o.acl is not null and o.objecttype = any($5::int[]) and exists (
    select from jsonb_array_elements(o.acl) as own(a), jsonb_to_record(coalesce(a->'tagfilter', '{}'))
      as f("all" int[], "any" int[], "not" int[])
    where a->'rights' ? 'read'
      and case when a->>'who' = 'contact' then 'c' || o.pool_id else a->>'who' end = any($6::text[])
      and (a #> '{rights,read,objecttype_ids}' is null or a #> '{rights,read,objecttype_ids}' @> to_jsonb(o.objecttype))
      and (a #> '{rights,read,pool_ids}' is null or a #> '{rights,read,pool_ids}' @> to_jsonb(o.pool_id))
      and a->>'active' is distinct from 'false'
      and coalesce((a->>'from')::timestamptz <= now(), true) and coalesce(now() < (a->>'to')::timestamptz, true)
      and o.tags @> coalesce(f."all", '{}') and (coalesce(f."any", '{}') = '{}' or o.tags && f."any")
      and not o.tags && coalesce(f."not", '{}')))`

/** Which of the objects have a child that the caller may read; children in the trash do not count. */
export async function withReadableChildren(
  q: Queryable,
  model: Model,
  caller: CallerRights,
  systemObjectIds: readonly number[],
): Promise<Set<number>> {
  if (systemObjectIds.length === 0) return new Set()
  const select = 'select x.id from unnest($1::bigint[]) as x(id) where exists (select from object o where'
  const { rows } = caller.root
    ? await q.query<{ id: number }>(`${select} ${child})`, [systemObjectIds], 'objects-with-children')
    : await q.query<{ id: number }>(
        `${select} ${child} and (${readable}))`,
        [systemObjectIds, ...readableValues(model, caller)],
        'objects-with-readable-children',
      )
  return new Set(rows.map((row) => row.id))
}

/** Grants of a caller reach every pool; their text is made once. */
const texts = new WeakMap<CallerRights, { readonly grants: string; readonly principals: readonly string[] }>()

function readableValues(model: Model, caller: CallerRights): unknown[] {
  const { grants, principals } = texts.get(caller) ?? textsOf(caller)
  const withGrants = [...model.tablesById.values()].filter((table) => table.aclTable).map((table) => table.id)
  return [caller.userId, caller.groupIds, grants, withGrants, principals]
}

function textsOf(caller: CallerRights) {
  const filter = caller.searchFilter()
  // Ownership is asked by itself.
  const grants = filter.all ? [] : filter.grants.filter((grant) => !grant.owner).map(grantRow)
  const made = { grants: JSON.stringify(grants), principals: filter.all ? [] : filter.principals }
  texts.set(caller, made)
  return made
}

function grantRow({ objecttypeIds, poolIds, tags, reachesPrivate }: SearchGrant) {
  return {
    types: objecttypeIds,
    without: poolIds === 'none',
    private: reachesPrivate,
    pools: poolIds === 'none' ? null : poolIds,
    ...(tags ?? { all: [], any: [], not: [] }),
  }
}
