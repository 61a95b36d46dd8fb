-- Counts the addresses that a collection has had for uploads: each renewal makes those before it void.
alter table collection add column upload_generation integer not null default 0;
comment on column collection.upload_generation is 'Which of its upload addresses is good; the address itself follows from the secret key.';

-- Files that a client of a drive has announced and not sent yet.
create table drive_placeholder (
  collection_id bigint not null,
  name_key text not null,
  name text not null,
  created_at timestamptz not null default now(),
  constraint drive_placeholder_pkey primary key (collection_id, name_key),
  constraint drive_placeholder_collection_fkey foreign key (collection_id) references collection (id) on delete cascade
);
create index drive_placeholder_created_idx on drive_placeholder (created_at);
comment on table drive_placeholder is 'Names in drives that were locked or sent empty: their contents come later.';
comment on column drive_placeholder.name_key is 'The name in small letters.';

-- Write locks of drives (RFC 4918).
create table drive_lock (
  token uuid not null,
  collection_id bigint not null,
  name_key text,
  deep boolean not null,
  owner text not null default '',
  expires_at timestamptz not null,
  constraint drive_lock_pkey primary key (token),
  constraint drive_lock_collection_fkey foreign key (collection_id) references collection (id) on delete cascade
);
create index drive_lock_collection_idx on drive_lock (collection_id);
create index drive_lock_expires_idx on drive_lock (expires_at);
comment on table drive_lock is 'Write locks of drives.';
comment on column drive_lock.name_key is 'The name in small letters of what is locked in the collection; null: the collection itself.';
comment on column drive_lock.deep is 'All below the collection is locked as well.';
comment on column drive_lock.owner is 'XML that the client calls itself by.';
