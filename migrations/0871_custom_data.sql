-- Values of plugins' types, each once: by the identifier that the plugin gave it, or one that is made of what it says. Objects
-- have copies, and are brought up to date when the value is.
create table custom_datum (
  -- <plugin>.<type>
  type text not null,
  uuid text not null,
  data jsonb not null,
  -- Since then its updater is to be asked for it.
  expires_at timestamptz not null,
  created_at timestamptz not null default now(),
  primary key (type, uuid)
);
create index custom_datum_due on custom_datum (type, expires_at);

-- Which objects have it in their latest version.
create table custom_datum_use (
  system_object_id bigint not null references object on delete cascade,
  type text not null,
  -- The identifier that stands in the object.
  written text not null,
  -- That of the value: another one where two turned out to be the same.
  uuid text not null,
  -- The copy in the object is older than the value.
  stale boolean not null default false,
  primary key (system_object_id, type, written)
);
create index custom_datum_use_by_value on custom_datum_use (type, uuid);
create index custom_datum_use_stale on custom_datum_use (type) where stale;

-- Runs of updaters: one at a time for each type, in whichever process; who stops in the middle loses it.
create table custom_datum_run (
  type text primary key,
  held_until timestamptz not null,
  started_at timestamptz not null,
  done int not null,
  total int not null
);

comment on table custom_datum is 'Values of plugins'' types, each once; objects have copies.';
comment on table custom_datum_use is 'Which objects have a value in their latest version.';
comment on table custom_datum_run is 'Runs of updaters of such values: one at a time for each type.';
