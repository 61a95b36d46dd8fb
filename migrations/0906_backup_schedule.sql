-- Backups that are made by a schedule, and go by its retention.
alter table backup add column scheduled boolean not null default false;
comment on column backup.scheduled is 'Made by the schedule: it goes when it is none of those to be kept.';

-- The latest moment of the schedule for which a backup was begun: among all processes one begins it.
create table backup_schedule (
  single boolean not null default true,
  moment timestamptz not null,
  constraint backup_schedule_pkey primary key (single),
  constraint backup_schedule_single check (single)
);
comment on table backup_schedule is 'The latest moment of the schedule for which a backup was begun.';
