-- Ids of purged objects: all that is left of them, so that an id is never used twice.
create table object_tombstone (
  system_object_id bigint not null,
  objecttype int not null,
  id bigint not null,
  uuid text not null,
  constraint object_tombstone_pkey primary key (system_object_id),
  constraint object_tombstone_id_key unique (objecttype, id)
);
create index object_tombstone_uuid_idx on object_tombstone (uuid);
