create sequence event_id_seq as bigint;

-- The event log. Rows are never changed; they go by DELETE /event and by the janitor.
create table event (
  id bigint not null default nextval('event_id_seq'),
  type text not null,
  pollable boolean not null,
  at timestamptz not null,
  -- Who acted, as named at that moment; null where the type or the base configuration says that no user is kept.
  user_id bigint,
  user_displayname text,
  user_reference text,
  remote_addr text,
  schema text,
  basetype text,
  objecttype text,
  object_id bigint,
  object_version bigint,
  system_object_id bigint,
  global_object_id text,
  info jsonb,
  constraint event_pkey primary key (id)
);
create index event_pollable_idx on event (id) where pollable;
create index event_at_idx on event using brin (at) with (pages_per_range = 32);
create index event_object_idx on event (system_object_id) where system_object_id is not null;
