-- Types of values that plugins bring, as far as the datamodel knows them: which members of a value are searched, and how.
-- One row, counted up with each change.
create table datamodel_custom_types (
  one boolean primary key default true constraint datamodel_custom_types_one check (one),
  revision int not null,
  types jsonb not null
);

-- As before, with the revision of these types: who indexes has to know both.
drop function datamodel_lock_shared(bigint);
create function datamodel_lock_shared(key bigint, out version int, out revision int) language plpgsql volatile as $$
begin
  perform pg_advisory_xact_lock_shared(key);
  version := (select coalesce(max(v.version), 0) from datamodel_version v);
  revision := (select coalesce(max(t.revision), 0) from datamodel_custom_types t);
end
$$;

comment on table datamodel_custom_types is 'One row: which members of values of plugins'' types are searched, and how; counted up with each change.';
