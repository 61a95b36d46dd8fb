-- Files of the hotfolder that are being imported. The transaction that puts a file into an object marks its claim, so that a
-- process that ends in between, or has lost its lock, brings no file in twice.
create table hotfolder_claim (
  collection_id bigint not null,
  place bytea not null,
  bytes bigint not null,
  modified bigint not null,
  run uuid not null,
  done_at timestamptz,
  claimed_at timestamptz not null default now(),
  constraint hotfolder_claim_pkey primary key (collection_id, place),
  constraint hotfolder_claim_collection_fkey foreign key (collection_id) references collection (id) on delete cascade
);
create index hotfolder_claim_run_idx on hotfolder_claim (run);
comment on table hotfolder_claim is 'Files of the hotfolder that are being imported.';
comment on column hotfolder_claim.place is 'Hash of the path below the folder of the collection.';
comment on column hotfolder_claim.modified is 'When the file was written to last, in milliseconds: another one of the name is another file.';
comment on column hotfolder_claim.run is 'The import that may put it into an object.';
comment on column hotfolder_claim.done_at is 'When it came into an object.';

-- What clients have dropped over HTTP since it was measured: at most so much lies there.
create table hotfolder_usage (
  collection_id bigint not null,
  files bigint not null,
  bytes bigint not null,
  measured_at timestamptz not null default '-infinity',
  constraint hotfolder_usage_pkey primary key (collection_id),
  constraint hotfolder_usage_collection_fkey foreign key (collection_id) references collection (id) on delete cascade
);
comment on table hotfolder_usage is 'At most so much lies in the folders of the hotfolder.';

create index collection_create_object_idx on collection (id) where create_object is not null;
