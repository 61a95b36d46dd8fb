/**
 * What must hold of the stored objects, whatever was asked of the service: each as a statement that finds what breaks it.
 * They hold at every moment, for nothing of a transaction is seen before all of it is.
 */
export const invariants: Readonly<Record<string, string>> = {
  'ids of purged objects are used again': `select 1 from object o join object_tombstone t on t.system_object_id = o.system_object_id or (t.objecttype = o.objecttype and t.id = o.id)`,
  'the history has a gap': `select o.system_object_id from object o join object_version v on v.system_object_id = o.system_object_id
     group by o.system_object_id, o.version having count(*) <> o.version or max(v.version) <> o.version`,
  'versions of no object': `select 1 from object_version v where not exists (select from object o where o.system_object_id = v.system_object_id)`,
  // What was taken out of the trash may link to what is still there: it is shown flagged.
  'a live object links to one that is not live': `select l.* from object_link l join object o on o.system_object_id = l.from_id and o.deleted_at is null
     left join object t on t.system_object_id = l.to_id where (t.deleted_at is not null or t.system_object_id is null)
     and not exists (select from object_version v where v.system_object_id = l.from_id and v.operation = 'r')`,
  'a unique value belongs to an object that is not live': `select u.* from object_unique u left join object o on o.system_object_id = u.system_object_id where o.deleted_at is not null or o.system_object_id is null`,
  'a parent is gone, or an object is its own ancestor': `with recursive up as (
     select system_object_id as id, p as parent, array[system_object_id] as seen from object cross join unnest(parents) as p where deleted_at is null
     union all
     select up.id, p, up.seen || up.parent from up join object o on o.system_object_id = up.parent cross join unnest(o.parents) as p
     where not up.parent = any(up.seen)
     )
     select * from up where parent = any(seen) or not exists (select from object o where o.system_object_id = parent and o.deleted_at is null)`,
}
