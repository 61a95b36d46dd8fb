-- Since when objects do not have a file any more, so that old versions let go of theirs after a while.
alter table file_use add column replaced_by int;
comment on column file_use.replaced_by is 'The version of the object that does not have the file any more; null while the latest one has it.';
update file_use u set replaced_by = coalesce(
  (select max(v.version) + 1 from object_version v
   where v.system_object_id = u.system_object_id
     and jsonb_path_exists(v.content, ('$.**."' || u.column_id || '"[*]._id ? (@ == ' || u.file_id || ')')::jsonpath)),
  (select o.version from object o where o.system_object_id = u.system_object_id), 1)
where not u.latest;
alter table file_use add constraint file_use_replaced_check check (latest = (replaced_by is null));
create index file_use_former_idx on file_use (system_object_id, file_id, column_id) where not latest;
