-- Which files have come into which objects by uploads into a collection: further files of a series or a version find their object.
create table collection_upload (
  collection_id bigint not null,
  system_object_id bigint not null,
  file_id bigint not null,
  stem_key text not null,
  series_key text,
  path text not null default '',
  created boolean not null,
  uploaded_at timestamptz not null default now(),
  constraint collection_upload_pkey primary key (collection_id, system_object_id, file_id),
  constraint collection_upload_collection_fkey foreign key (collection_id) references collection (id) on delete cascade,
  constraint collection_upload_object_fkey foreign key (system_object_id) references object (system_object_id) on delete cascade,
  constraint collection_upload_file_fkey foreign key (file_id) references file (id) on delete cascade
);
create index collection_upload_stem_idx on collection_upload (collection_id, stem_key);
create index collection_upload_series_idx on collection_upload (collection_id, series_key) where series_key is not null;
create index collection_upload_object_idx on collection_upload (system_object_id);
create index collection_upload_file_idx on collection_upload (file_id);
comment on table collection_upload is 'Files that uploads into collections have put into objects.';
comment on column collection_upload.stem_key is 'The name without its extension, in small letters.';
comment on column collection_upload.series_key is 'What a running number at the end of the stem is behind.';
comment on column collection_upload.path is 'Folders below the collection that the file came in.';
comment on column collection_upload.created is 'The object was made for this file.';
