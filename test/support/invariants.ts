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
     and not exists (select from object_version v where v.system_object_id = l.from_id and v.operation = 'r')
     and not exists (select from object_promise p where p.id = l.to_id and p.kept_at is null)`,
  'a promise is kept without its object, or open beside it': `select p.* from object_promise p left join object o on o.system_object_id = p.id
     left join object_tombstone t on t.system_object_id = p.id
     where case when p.kept_at is null then coalesce(o.system_object_id, t.system_object_id) is not null else o.system_object_id is null and t.system_object_id is null end`,
  'a unique value belongs to an object that is not live': `select u.* from object_unique u left join object o on o.system_object_id = u.system_object_id where o.deleted_at is not null or o.system_object_id is null`,
  'a parent is gone, or an object is its own ancestor': `with recursive up as (
     select system_object_id as id, p as parent, array[system_object_id] as seen from object cross join unnest(parents) as p where deleted_at is null
     union all
     select up.id, p, up.seen || up.parent from up join object o on o.system_object_id = up.parent cross join unnest(o.parents) as p
     where not up.parent = any(up.seen)
     )
     select * from up where parent = any(seen) or not exists (select from object o where o.system_object_id = parent and o.deleted_at is null)`,
  'a file is not counted as it is': `with due as (select file_id from file_count_due),
     parts as (select f.file_id, o.objecttype, o.pool_id, min(case when o.deleted_at is not null then 3 when f.latest then 1 else 2 end) as age
       from file_use f join object o using (system_object_id) group by 1, 2, 3),
     there as (select p.file_id, array_agg(row(p.objecttype, p.pool_id, p.age)::text order by p.objecttype, p.pool_id) as parts,
         (select array_agg(row(v.name = 'original', v.extension, v.class, v.size)::text order by v.name) from file_version v where v.file_id = p.file_id) as versions
       from parts p group by 1),
     counted as (select c.file_id,
         (select array_agg(row(p.objecttype, p.pool_id, p.age)::text order by p.objecttype, p.pool_id) from file_count_use_part p where p.usage_id = c.usage_id) as parts,
         (select array_agg(row(k.original, k.extension, k.class, v.size)::text order by v.at) from unnest(c.kinds, c.sizes) with ordinality as v(kind, size, at)
            join file_count_kind k on k.id = v.kind) as versions
       from file_counted c)
     select * from there t full join counted c using (file_id) where file_id not in (select file_id from due)
       and (t.parts is distinct from c.parts or t.versions is distinct from c.versions)`,
  'the sums of files are not what was counted': `select * from (select * from file_count_sum where count <> 0 or size <> 0) s full join (
       select usage_id, v.kind_id, count(*) as n, sum(v.size) as bytes from file_counted cross join unnest(kinds, sizes) as v(kind_id, size) group by 1, 2
     ) c using (usage_id, kind_id) where s.count is distinct from c.n or s.size is distinct from c.bytes`,
  'a collection has the wrong place or owner': `select c.* from collection c left join collection p on p.id = c.parent_id
     where c.path <> coalesce(p.path, '{}') || c.id or (p.id is null) <> (c.parent_id is null)
       or (c.user_id is null and p.id is not null and not c.is_system and c.owner_user <> p.owner_user)
       or (c.user_id is not null and c.user_id <> c.owner_user)`,
  'a collection is not counted as it is': `select c.id from collection c left join collection_object e on e.collection_id = c.id
     group by c.id having c.object_count <> count(e.object_id) or c.remote_count <> count(*) filter (where e.object_id < 0)`,
  'a list has an object that is not live': `select e.* from collection_object e
     left join object o on o.system_object_id = e.object_id left join foreign_object f on f.id = -e.object_id
     where case when e.object_id > 0 then o.deleted_at is not null or o.system_object_id is null else f.id is null end`,
  'two entries of a list are at one place': `select collection_id, rank from collection_object group by 1, 2 having count(*) > 1`,
}
