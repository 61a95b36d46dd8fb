-- A run may be taken up while a process still works on it: the latest one holds it, and what the other one writes is refused.
alter table export_run add column holder uuid;
comment on column export_run.holder is 'The attempt that works on the run.';
