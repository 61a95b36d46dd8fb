-- The check of the search index: how far it is, and what it has found.

create table search_check (
  singleton boolean not null default true,
  position bigint not null default 0,
  began_at timestamptz not null default now(),
  ended_at timestamptz,
  stepped_at timestamptz not null default '-infinity',
  checked bigint not null default 0,
  missing bigint not null default 0,
  surplus bigint not null default 0,
  different bigint not null default 0,
  last jsonb,
  constraint search_check_pkey primary key (singleton),
  constraint search_check_singleton_check check (singleton)
);

insert into search_check default values;

comment on table search_check is 'One row: the round of the index check that is under way, or that ended last.';
comment on column search_check.position is 'Objects up to this id have been compared with their documents.';
comment on column search_check.ended_at is 'Null: the round is under way.';
comment on column search_check.stepped_at is 'When the last step began, in whatever process.';
comment on column search_check.missing is 'Objects without document.';
comment on column search_check.surplus is 'Documents of objects that are not there.';
comment on column search_check.different is 'Documents that are not what is made of their objects.';
comment on column search_check.last is 'The whole round before, while another one is under way.';
