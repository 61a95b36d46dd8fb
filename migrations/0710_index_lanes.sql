-- Objects that were queued in large numbers go in a lane of their own, so that they never hold up a single one.
alter table index_queue add column bulk boolean not null default false;
comment on column index_queue.bulk is 'Queued with many others: entries of few come first.';

drop index index_queue_order_idx;
create index index_queue_order_idx on index_queue (priority, bulk, seq);

-- Whose dependents are still to be queued, a part at a time.
create table index_spread (
  kind "char" not null,
  id bigint not null,
  seq bigint not null default nextval('index_queue_seq'),
  after_column integer not null default 0,
  after_id bigint not null default 0,
  depth integer not null default 0,
  primary key (kind, id)
);
create index index_spread_order_idx on index_spread (kind, seq);
comment on table index_spread is 'Changed objects whose dependents still have to be queued for the index, a part at a time.';
comment on column index_spread.kind is 'l: those that link to it; c: those right below it in a hierarchy.';
comment on column index_spread.after_column is 'Dependents up to here are queued: the column of the link, and the object.';
comment on column index_spread.depth is 'How far it stands below the object that was moved.';

alter table search_document add column parents_hash bigint;
alter table search_replaced add column parents_hash bigint;
comment on column search_document.parents_hash is 'Hash of the objects that it stands right below; null: not known.';
