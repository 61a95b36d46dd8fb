-- Files of objects, counted: `file_count_sum` adds up `file_counted`, what was last counted of each file. Whatever changes what is to
-- be counted of a file leaves its id in `file_count_due` in the same transaction; those files are counted anew from time to time
-- (objects/upkeep/file-counts.ts), and by whoever reads sums meanwhile. So these never say anything else than the files do.
create sequence file_count_due_id_seq as bigint;
create table file_count_due (
  id bigint not null default nextval('file_count_due_id_seq'),
  file_id bigint not null,
  constraint file_count_due_pkey primary key (id)
);
alter sequence file_count_due_id_seq owned by file_count_due.id;
comment on table file_count_due is 'Files that are to be counted anew; entries are added and removed, never changed.';

-- What objects have a file: equal for many files, so that sums are kept by it, and a file of several objects counts once.
create sequence file_count_use_id_seq as int;
create table file_count_use (
  id int not null default nextval('file_count_use_id_seq'),
  -- Of its parts
  hash bytea not null,
  constraint file_count_use_pkey primary key (id),
  constraint file_count_use_hash_key unique (hash)
);
alter sequence file_count_use_id_seq owned by file_count_use.id;
comment on table file_count_use is 'Kinds of use: the object types and pools of the objects that have a file.';

create table file_count_use_part (
  usage_id int not null,
  objecttype int not null,
  pool_id bigint,
  -- 1: the latest version of a live object, 2: only former ones, 3: only objects in the trash
  age smallint not null,
  constraint file_count_use_part_usage_fkey foreign key (usage_id) references file_count_use (id) on delete cascade
);
create index file_count_use_part_usage_idx on file_count_use_part (usage_id);
create index file_count_use_part_pool_idx on file_count_use_part (pool_id);
create index file_count_use_part_objecttype_idx on file_count_use_part (objecttype);
comment on table file_count_use_part is 'Object types and pools of a kind of use.';

create sequence file_count_kind_id_seq as int;
create table file_count_kind (
  id int not null default nextval('file_count_kind_id_seq'),
  original boolean not null,
  extension text not null,
  class text not null,
  constraint file_count_kind_pkey primary key (id),
  constraint file_count_kind_key unique (original, extension, class)
);
alter sequence file_count_kind_id_seq owned by file_count_kind.id;
comment on table file_count_kind is 'Kinds of versions of files that are counted together.';

create table file_counted (
  file_id bigint not null,
  usage_id int not null,
  -- Of its versions, in the same order
  kinds int[] not null,
  sizes bigint[] not null,
  constraint file_counted_pkey primary key (file_id)
);
comment on table file_counted is 'What stands in the sums of each file.';

create table file_count_sum (
  usage_id int not null,
  kind_id int not null,
  count bigint not null,
  size bigint not null,
  constraint file_count_sum_pkey primary key (usage_id, kind_id)
);
comment on table file_count_sum is 'How many versions of files there are, and how large, by use and kind.';

create function file_recount_old() returns trigger language plpgsql as $$
begin
  insert into file_count_due (file_id) select distinct file_id from old_rows;
  return null;
end $$;

create function file_recount_new() returns trigger language plpgsql as $$
begin
  insert into file_count_due (file_id) select distinct file_id from new_rows;
  return null;
end $$;

create function file_version_recount() returns trigger language plpgsql as $$
begin
  insert into file_count_due (file_id)
  select distinct n.file_id from new_rows n join old_rows o using (file_id, name)
  where (n.size, n.extension, n.class) is distinct from (o.size, o.extension, o.class);
  return null;
end $$;

create function file_use_recount() returns trigger language plpgsql as $$
begin
  insert into file_count_due (file_id)
  select distinct n.file_id from new_rows n join old_rows o using (file_id, system_object_id, column_id)
  where n.latest <> o.latest;
  return null;
end $$;

create function object_files_recount() returns trigger language plpgsql as $$
begin
  insert into file_count_due (file_id) select distinct file_id from file_use where system_object_id = new.system_object_id;
  return null;
end $$;

create trigger file_version_added after insert on file_version
  referencing new table as new_rows for each statement execute function file_recount_new();
create trigger file_version_changed after update on file_version
  referencing old table as old_rows new table as new_rows for each statement execute function file_version_recount();
create trigger file_version_gone after delete on file_version
  referencing old table as old_rows for each statement execute function file_recount_old();
create trigger file_use_added after insert on file_use
  referencing new table as new_rows for each statement execute function file_recount_new();
create trigger file_use_changed after update on file_use
  referencing old table as old_rows new table as new_rows for each statement execute function file_use_recount();
create trigger file_use_gone after delete on file_use
  referencing old table as old_rows for each statement execute function file_recount_old();
-- Asked of every object that is saved: the condition is met by few.
create trigger object_files_moved after update on object for each row
  when (old.pool_id is distinct from new.pool_id or (old.deleted_at is null) <> (new.deleted_at is null))
  execute function object_files_recount();

insert into file_count_due (file_id) select distinct file_id from file_use;
