-- What is made of files. The contents that were made are versions of the file; here stands how far that is.
create table file_rendition (
  file_id bigint not null,
  name text not null,
  -- `too_small`: the original is, so that there is none
  status text not null,
  -- Why there is none
  reason text,
  -- The program or package that is missing
  needs text,
  -- Of the recipe that it was made by, and the original that it was made of: both as they were then
  recipe_hash text,
  made_of bytea,
  -- How often it was begun; an end of the service in the middle counts
  attempts int not null default 0,
  status_at timestamptz not null default now(),
  constraint file_rendition_pkey primary key (file_id, name),
  constraint file_rendition_file_fkey foreign key (file_id) references file (id) on delete cascade,
  constraint file_rendition_status_check
    check (status in ('pending', 'processing', 'done', 'failed', 'not_produced', 'too_small'))
);
create index file_rendition_needs_idx on file_rendition (needs) where needs is not null;
comment on table file_rendition is 'Renditions of files: which there are to be, and how far that is.';

-- Runs that look through all files for renditions that are missing, stale or left over.
create sequence file_resync_id_seq as bigint;
create table file_resync (
  id bigint not null default nextval('file_resync_id_seq'),
  started_at timestamptz not null default now(),
  finished_at timestamptz,
  -- Null: the service itself
  user_id bigint,
  -- Files up to this id have been looked at
  up_to bigint not null default 0,
  total bigint not null,
  checked bigint not null default 0,
  -- Renditions that are made anew, and those that are gone
  queued bigint not null default 0,
  removed bigint not null default 0,
  constraint file_resync_pkey primary key (id)
);
alter sequence file_resync_id_seq owned by file_resync.id;
comment on table file_resync is 'Runs through all files that renew renditions, with their progress.';
