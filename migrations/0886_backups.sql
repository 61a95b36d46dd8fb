-- Backups that were asked for over the interface.
create table backup (
  id bigint not null generated always as identity,
  created_at timestamptz not null default clock_timestamp(),
  finished_at timestamptz,
  user_id bigint,
  status text not null default 'running',
  format text not null,
  include_events boolean not null,
  -- Where the archive lies, once it is whole.
  location_id bigint,
  sha256 bytea,
  size bigint,
  -- [{at, msg}]
  log jsonb not null default '[]',
  constraint backup_pkey primary key (id),
  constraint backup_user_fkey foreign key (user_id) references "user" on delete set null,
  constraint backup_location_fkey foreign key (location_id) references file_location,
  constraint backup_status_known check (status in ('running', 'done', 'error'))
);
create unique index backup_running on backup (status) where status = 'running';
comment on table backup is 'Backups that were asked for over the interface.';
