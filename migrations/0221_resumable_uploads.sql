create table file_upload (
  id uuid not null default gen_random_uuid(),
  user_id bigint not null,
  location_id bigint not null,
  filename text not null,
  size bigint not null,
  received bigint not null default 0,
  reference text,
  parent_id bigint,
  -- What it became when everything was there.
  file_id bigint,
  created_at timestamptz not null default now(),
  touched_at timestamptz not null default now(),
  constraint file_upload_pkey primary key (id),
  constraint file_upload_location_fkey foreign key (location_id) references file_location (id) on delete cascade
);
comment on table file_upload is 'Uploads in pieces, until a day after something last came.';
create index file_upload_touched_idx on file_upload (touched_at);

create table file_upload_part (
  upload_id uuid not null,
  start bigint not null,
  location_id bigint not null,
  sha256 bytea not null,
  constraint file_upload_part_pkey primary key (upload_id, start),
  constraint file_upload_part_upload_fkey foreign key (upload_id) references file_upload (id) on delete cascade,
  constraint file_upload_part_blob_fkey foreign key (location_id, sha256) references file_blob (location_id, sha256)
);
comment on table file_upload_part is 'Pieces of uploads, each a content under its own hash.';
create index file_upload_part_blob_idx on file_upload_part (location_id, sha256);
