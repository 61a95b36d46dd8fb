create table reindex_run (
  id bigint generated always as identity primary key,
  until_seq bigint not null,
  block boolean not null,
  datamodel integer not null,
  began_at timestamptz not null default now()
);
comment on table reindex_run is 'orders to index objects anew that are not carried out; the log is told when they are';
comment on column reindex_run.until_seq is 'done when no entry of a reindex up to this one waits in index_queue';
comment on column reindex_run.datamodel is 'version of the datamodel when it was ordered';
