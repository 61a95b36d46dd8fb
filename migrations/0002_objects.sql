create sequence system_object_id_seq as bigint;

-- One row per object that is not purged (the trash included): what every access looks at first. Content lives in
-- object_version, once per version.
create table object (
  system_object_id bigint not null,
  objecttype int not null,
  id bigint not null,
  version int not null,
  uuid text not null,
  pool_id bigint,
  owner_user bigint,
  owner_group bigint,
  tags int[] not null default '{}',
  -- Grants on this object (rights/acl.ts); null when there are none.
  acl jsonb,
  -- System object ids of the parents: none or one in a hierarchy, any number in a polyhierarchy.
  parents bigint[] not null default '{}',
  -- Position among the children of a parent; null sorts last, then by system_object_id.
  child_idx int,
  -- `_standard` as last computed (render/standard.ts): what a link to this object shows.
  standard jsonb not null default '{}',
  created_at timestamptz not null,
  created_by bigint,
  modified_at timestamptz not null,
  deleted_at timestamptz,
  constraint object_pkey primary key (system_object_id),
  constraint object_id_key unique (objecttype, id),
  constraint object_uuid_key unique (uuid)
);
create index object_parents_idx on object using gin (parents) where parents <> '{}';
create index object_pool_idx on object (pool_id) where pool_id is not null;
create index object_deleted_idx on object (deleted_at) where deleted_at is not null;

-- Every version ever written, append only. `content` is keyed by column id (datamodel/model.ts, Column.key), so old
-- versions stay readable under today's names.
create table object_version (
  system_object_id bigint not null,
  version int not null,
  -- 'i'nsert, 'u'pdate, 'd'elete, 'r'estore (undelete)
  operation "char" not null,
  at timestamptz not null,
  by_user bigint,
  comment text,
  datamodel_version int not null,
  pool_id bigint,
  owner_user bigint,
  owner_group bigint,
  tags int[] not null default '{}',
  acl jsonb,
  parents bigint[] not null default '{}',
  content jsonb not null,
  constraint object_version_pkey primary key (system_object_id, version)
);

-- Links of the latest versions: who points where through which column. One row per distinct triple; the rows of
-- nested tables are found in the content.
create table object_link (
  to_id bigint not null,
  column_id int not null,
  from_id bigint not null,
  constraint object_link_pkey primary key (to_id, column_id, from_id)
);

-- Values of unique keys: the database itself refuses the second one. Objects in the trash hold no values.
create table object_unique (
  key text not null,
  value text not null,
  system_object_id bigint not null,
  constraint object_unique_pkey primary key (key, value)
);

-- Objects whose search document is out of date. `seq` tells a later change from the one being indexed.
create sequence index_queue_seq as bigint;
create table index_queue (
  system_object_id bigint not null,
  seq bigint not null default nextval('index_queue_seq'),
  -- 0 saves, 1 objects that link to a changed one, 2 a reindex
  priority smallint not null default 0,
  constraint index_queue_pkey primary key (system_object_id)
);
create index index_queue_order_idx on index_queue (priority, seq);
