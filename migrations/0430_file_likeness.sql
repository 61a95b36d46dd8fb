-- What pictures look like, so that others that look alike are found. Without a hash: it was looked at, and shows too little to
-- be compared.
create table file_likeness (
  file_id bigint not null,
  -- The original that it was made of: another one says nothing of the file any more
  made_of bytea not null,
  hash bigint,
  -- The hash in four bands of 16 bits, each with its number above it: who differs in at most 7 bits has one that differs in at
  -- most one
  bands int[] generated always as (
    case when hash is not null then array[
      (hash >> 48 & 65535)::int, 65536 + (hash >> 32 & 65535)::int, 131072 + (hash >> 16 & 65535)::int,
      196608 + (hash & 65535)::int
    ] end
  ) stored,
  constraint file_likeness_pkey primary key (file_id),
  constraint file_likeness_file_fkey foreign key (file_id) references file (id) on delete cascade
);
create index file_likeness_bands_idx on file_likeness using gin (bands);
comment on table file_likeness is 'Hashes of what pictures look like, by which others that look alike are found.';
