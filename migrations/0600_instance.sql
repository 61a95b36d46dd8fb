create table instance (
  id uuid primary key default gen_random_uuid(),
  one boolean not null default true unique check (one)
);
comment on table instance is 'Who this database is; the data folder has the same name written down.';
insert into instance default values;
