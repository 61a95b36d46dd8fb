-- Objects whose pool, owner, tags or grants have changed and that are not indexed since: searches ask the rows of these who may see them.
alter table index_queue add column moved boolean not null default false;

create index index_queue_moved_idx on index_queue (system_object_id) where moved;
