-- Objects that could not be indexed are tried again by themselves, after longer and longer pauses.
alter table search_failure
  add column attempts integer not null default 1,
  add column retry_at timestamptz not null default now();
comment on column search_failure.attempts is 'How often indexing has failed since it last succeeded.';
comment on column search_failure.retry_at is 'When it is tried again, unless the object changes before.';
