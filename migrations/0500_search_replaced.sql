-- What documents were before they changed, for a short while: a result that was kept is brought forward by the difference.
create table search_replaced (
  like search_document including storage,
  replaced_at timestamptz not null
) with (toast_tuple_target = 1200, autovacuum_vacuum_scale_factor = 0.5, autovacuum_vacuum_threshold = 2000);
create index search_replaced_at_idx on search_replaced (replaced_at);
comment on table search_replaced is 'Documents as they were until a moment ago, by which kept results are brought up to date.';
comment on column search_replaced.replaced_at is 'When the document changed or went, as search_document.changed_at of what came in its place.';

alter table search_state add column replaced_since timestamptz;
comment on column search_state.replaced_since is 'Of batches up to this moment search_replaced is not complete; null: of none.';
