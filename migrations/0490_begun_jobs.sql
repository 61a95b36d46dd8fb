-- Jobs that the process which added them runs by itself: they are not in the queue, so that nobody looks for them there.
create table begun_job (
  id bigint primary key generated always as identity,
  name text not null,
  payload json not null,
  priority integer not null,
  max_attempts integer not null,
  begun_by text not null,
  begun_at timestamptz not null default now()
);
comment on table begun_job is 'Jobs that were begun by the process which added them; those of a process that has ended are put into the queue.';
comment on column begun_job.name is 'Name of the job that takes over.';
comment on column begun_job.begun_by is 'Whose: the process holds an advisory lock of that name as long as it lives.';
