-- Where contents of files lie. Relative folders count from the data folder, so that it can be moved as a whole.
create sequence file_location_id_seq as bigint;
create table file_location (
  id bigint not null default nextval('file_location_id_seq'),
  created_at timestamptz not null default now(),
  name text not null,
  kind text not null,
  prefix text not null default '',
  -- Of this kind only, secrets included: { dir } or { bucket, endpoint, accesskey, secretkey, region, ssl }
  config jsonb not null,
  allow_purge boolean not null default false,
  read_only boolean not null default false,
  constraint file_location_pkey primary key (id),
  constraint file_location_name_key unique (name),
  constraint file_location_kind_check check (kind in ('file', 's3'))
);
alter sequence file_location_id_seq owned by file_location.id;
insert into file_location (name, kind, config) values ('file', 'file', '{"dir": "files"}');

-- Contents by their hash, each once per location. A row is there before the content gets its name, and until it is
-- removed: whatever lies in a location without a row is a leftover.
create table file_blob (
  location_id bigint not null,
  sha256 bytea not null,
  size bigint not null,
  -- When something last came to use it or ceased to; what is unused for long enough is removed.
  touched_at timestamptz not null default now(),
  constraint file_blob_pkey primary key (location_id, sha256),
  constraint file_blob_location_fkey foreign key (location_id) references file_location (id)
);
create index file_blob_touched_idx on file_blob (touched_at);

create sequence file_id_seq as bigint;
create table file (
  id bigint not null default nextval('file_id_seq'),
  -- The file that it was made from.
  parent_id bigint,
  reference text,
  upload_user bigint not null,
  uploaded_at timestamptz not null default now(),
  -- The name as the uploader gave it.
  filepath text not null,
  -- Since when no object has it; null while one does.
  unlinked_at timestamptz default now(),
  constraint file_pkey primary key (id),
  constraint file_reference_key unique (reference),
  constraint file_parent_fkey foreign key (parent_id) references file (id) on delete set null
);
alter sequence file_id_seq owned by file.id;
create index file_parent_idx on file (parent_id) where parent_id is not null;
create index file_unlinked_idx on file (unlinked_at) where unlinked_at is not null;

-- What a file can be had as: `original`, and what was made from that.
create table file_version (
  file_id bigint not null,
  name text not null,
  location_id bigint not null,
  sha256 bytea not null,
  size bigint not null,
  extension text not null,
  class text not null,
  mime_type text not null,
  status text not null,
  status_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  -- Width, height, colours and so on, as far as they are known.
  metadata jsonb not null default '{}',
  constraint file_version_pkey primary key (file_id, name),
  constraint file_version_file_fkey foreign key (file_id) references file (id) on delete cascade,
  constraint file_version_blob_fkey foreign key (location_id, sha256) references file_blob (location_id, sha256)
);
create index file_version_blob_idx on file_version (location_id, sha256);

-- Which objects have a file, through which column; `latest` is false for those that only old versions of an object have.
create table file_use (
  file_id bigint not null,
  system_object_id bigint not null,
  column_id int not null,
  latest boolean not null,
  constraint file_use_pkey primary key (file_id, system_object_id, column_id),
  constraint file_use_file_fkey foreign key (file_id) references file (id)
);
create index file_use_object_idx on file_use (system_object_id);

-- The key of signed addresses, the same in all processes.
create table file_key (
  id int not null default 1,
  key bytea not null,
  created_at timestamptz not null default now(),
  constraint file_key_pkey primary key (id),
  constraint file_key_one_check check (id = 1)
);
