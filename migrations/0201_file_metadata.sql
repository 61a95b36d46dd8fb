-- What files say of themselves (EXIF, IPTC, XMP and so on): [{group, name, label, value, print}]. How far the reading is
-- stands beside the renditions, under the name ":metadata".
create table file_metadata (
  file_id bigint not null,
  tags jsonb not null,
  read_at timestamptz not null default now(),
  constraint file_metadata_pkey primary key (file_id),
  constraint file_metadata_file_fkey foreign key (file_id) references file (id) on delete cascade
);
comment on table file_metadata is 'EXIF, IPTC, XMP and other tags of files.';
