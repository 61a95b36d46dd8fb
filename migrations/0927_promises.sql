-- Links to objects that come later (`_allow_defer`). A promise reserves the system object id of its object, and links have that id
-- as their target from the beginning, so that all of them are complete once the object is created.
create table object_promise (
  id bigint not null,
  objecttype int not null,
  uuid text not null,
  users bigint[] not null,
  created_at timestamptz not null default now(),
  kept_at timestamptz,
  constraint object_promise_pkey primary key (id),
  constraint object_promise_name_key unique (uuid, objecttype)
);
comment on table object_promise is 'Objects that links name before they exist. A row whose object has been created is deleted once that is indexed.';
comment on column object_promise.id is 'The reserved system_object_id.';
comment on column object_promise.objecttype is 'Table id of the object type that the links expect.';
comment on column object_promise.uuid is 'The _uuid that the object will have.';
comment on column object_promise.users is 'Users whose saves have linked to it.';
comment on column object_promise.kept_at is 'When the object was created.';
