-- Collections give rights on the objects in them. Their lists are kept in memory by each process: a version says which have changed.
alter table collection
  add column list_version int not null default 1,
  -- A grant gives more than the owner may pass on, of some object: there it gives nothing.
  add column invalid_acl boolean not null default false;

create function gives_on_objects(acl jsonb) returns boolean language sql immutable parallel safe
return jsonb_path_exists(acl, '$[*].rights ? (exists(@.read) || exists(@.write) || exists(@.delete) || exists(@.acl)
  || exists(@.change_owner) || exists(@.mask) || exists(@.asset_upload) || exists(@.asset_show) || exists(@.asset_download))');

create index collection_sharing_idx on collection (id) where acl <> '[]' and gives_on_objects(acl);
create index collection_invalid_idx on collection (id) where invalid_acl;

-- Whoever changes a list holds its collection already, so that nobody waits for anybody here.
create function collection_list_added() returns trigger language plpgsql as $$
begin
  update collection set list_version = list_version + 1 where id in (select collection_id from new_rows);
  return null;
end $$;
create function collection_list_removed() returns trigger language plpgsql as $$
begin
  update collection set list_version = list_version + 1 where id in (select collection_id from old_rows);
  return null;
end $$;
create trigger collection_list_added after insert on collection_object
  referencing new table as new_rows for each statement execute function collection_list_added();
create trigger collection_list_removed after delete on collection_object
  referencing old table as old_rows for each statement execute function collection_list_removed();

comment on column collection.list_version is 'Another one whenever something is put into the list or taken out of it; places in the list are no matter.';
comment on column collection.invalid_acl is 'A grant, own or inherited, says more of some object in the list than the owner may pass on.';
