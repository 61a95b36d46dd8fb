-- Contents that stay where they are on the web have a location of their own, which nobody manages.
alter table file_location drop constraint file_location_kind_check,
  add constraint file_location_kind_check check (kind in ('file', 's3', 'remote'));
insert into file_location (id, name, kind, config) values (0, ':remote', 'remote', '{}');

create table file_remote (
  location_id bigint not null default 0,
  sha256 bytea not null,
  url text not null,
  -- What the server said of the content when it was read; null: nothing.
  etag text,
  created_at timestamptz not null default now(),
  constraint file_remote_pkey primary key (location_id, sha256, url),
  constraint file_remote_blob_fkey foreign key (location_id, sha256)
    references file_blob (location_id, sha256) on delete cascade
);
comment on table file_remote is 'Where on the web contents lie that were not copied, each under its hash.';
