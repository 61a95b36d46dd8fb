-- Its hash was taken when it arrived; the last time that it was read again, and what was found.
alter table file_blob
  add column verified_at timestamptz not null default now(),
  add column fixity text not null default 'ok',
  add constraint file_blob_fixity_check check (fixity in ('ok', 'damaged', 'missing'));
create index file_blob_verified_idx on file_blob (verified_at);
create index file_blob_damaged_idx on file_blob (location_id, verified_at) where fixity <> 'ok';
