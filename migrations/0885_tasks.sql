-- Tasks: what users have the service do to many objects, once or again and again.
create table task (
  id bigint not null generated always as identity,
  version int not null default 1,
  user_id bigint not null,
  module text not null,
  params jsonb not null,
  timeout_sec int not null default 0,
  description text not null default '',
  next_run_at timestamptz,
  frontend_prefs jsonb not null default '{}',
  -- [{email, problems_only}]
  recipients jsonb not null default '[]',
  schedules jsonb not null default '[]',
  -- How far the run is, and what the next one has to know of it.
  state jsonb not null default '{}',
  status text not null default 'new',
  status_percent int,
  status_msg text not null default '',
  run_started_at timestamptz,
  run_canceled_at timestamptz,
  run_finished_at timestamptz,
  -- Counts runs: whoever works on an ended one finds that it is another one by now.
  run int not null default 0,
  -- Who works on the run: the one that took it last.
  worker uuid,
  log_lines int not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint task_pkey primary key (id),
  constraint task_user_fkey foreign key (user_id) references "user" on delete cascade,
  constraint task_status_known check (status in ('new', 'running', 'done', 'canceled', 'error'))
);
create index task_user on task (user_id, id);
create index task_due on task (next_run_at) where next_run_at is not null;

-- Lines of the latest run.
create table task_log (
  task_id bigint not null,
  idx int not null,
  at timestamptz not null default clock_timestamp(),
  level text not null,
  msg text not null,
  status_percent int,
  constraint task_log_pkey primary key (task_id, idx),
  constraint task_log_task_fkey foreign key (task_id) references task on delete cascade
);
comment on table task is 'Tasks: what users have the service do to many objects, once or again and again.';
comment on table task_log is 'Lines of the latest run of each task.';
