-- Sets of facet values and of who may see an object that no document has any more are removed by a job.
alter table search_state
  add column set_removals bigint not null default 0,
  add column sets_pruned_at timestamptz;
comment on column search_state.set_removals is 'How often sets were removed: what was looked up before the last time may be gone.';
comment on column search_state.sets_pruned_at is 'When all sets that no document had any more were removed last.';
