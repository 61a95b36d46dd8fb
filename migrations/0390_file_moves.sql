-- Runs that bring the contents of one location to another.
create sequence file_move_id_seq as bigint;
create table file_move (
  id bigint not null default nextval('file_move_id_seq'),
  started_at timestamptz not null default now(),
  finished_at timestamptz,
  user_id bigint not null,
  -- Locations may go once nothing of theirs is left, so these refer to none.
  from_id bigint not null,
  to_id bigint not null,
  contents text not null,
  status text not null default 'running',
  -- Why it failed, or what kept it from going on when it was last tried
  error text,
  -- Contents up to this hash have been looked at in this pass; a pass that moved nothing is the last
  up_to bytea not null default '',
  pass_moved bigint not null default 0,
  total bigint not null,
  total_size bigint not null,
  moved bigint not null default 0,
  moved_size bigint not null default 0,
  -- Contents that are missing or damaged where they lie
  failed bigint not null default 0,
  constraint file_move_pkey primary key (id),
  constraint file_move_contents_check check (contents in ('all', 'originals', 'versions')),
  constraint file_move_status_check check (status in ('running', 'done', 'stopped', 'failed'))
);
alter sequence file_move_id_seq owned by file_move.id;
create unique index file_move_running_idx on file_move (status) where status = 'running';
comment on table file_move is 'Runs that bring contents of files from one location to another, with their progress.';
