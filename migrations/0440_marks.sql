-- Watermarks and captions on renditions, and what administrators have uploaded for them.

-- Files that settings name: they stay as long as these do.
create table file_holder (
  file_id bigint not null,
  pool_id bigint,
  objecttype integer,
  -- Of the base configuration
  section text,
  constraint file_holder_key unique nulls not distinct (file_id, pool_id, objecttype, section),
  constraint file_holder_file_fkey foreign key (file_id) references file (id),
  constraint file_holder_pool_fkey foreign key (pool_id) references pool (id) on delete cascade,
  constraint file_holder_objecttype_fkey foreign key (objecttype) references objecttype (id) on delete cascade,
  constraint file_holder_one_check check (num_nonnulls(pool_id, objecttype, section) = 1)
);
create index file_holder_pool_idx on file_holder (pool_id) where pool_id is not null;
comment on table file_holder is 'Files that pools, object types and the base configuration name (watermarks, profiles): they are kept.';

-- unmarked: there is no watermark for it, so it is not made.
alter table file_rendition drop constraint file_rendition_status_check;
alter table file_rendition add constraint file_rendition_status_check
  check (status in ('pending', 'processing', 'done', 'failed', 'not_produced', 'too_small', 'unmarked'));

-- A run that renews only what bears a watermark or a caption.
alter table file_resync add column marks boolean not null default false;
