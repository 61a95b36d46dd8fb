-- What is written in files, for the search: bounded, and only of what people read (PDF, office documents, plain text).
create table file_text (
  file_id bigint not null,
  text text not null,
  -- There is more than is kept
  cut boolean not null default false,
  read_at timestamptz not null default now(),
  constraint file_text_pkey primary key (file_id),
  constraint file_text_file_fkey foreign key (file_id) references file (id) on delete cascade
);
comment on table file_text is 'Texts of documents, for the search.';
