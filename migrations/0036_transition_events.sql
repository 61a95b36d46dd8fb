-- How far event transitions have been run along the event log. Not active: there are none, and nothing is followed.
create table transition_event_cursor (
  singleton boolean primary key default true check (singleton),
  active boolean not null default false,
  last_id bigint not null default 0
);
insert into transition_event_cursor default values;

-- Versions of objects that an event transition has written: their events run no event transition, which ends circles.
create table transition_event_skip (
  system_object_id bigint not null,
  version int not null,
  at timestamptz not null default now(),
  constraint transition_event_skip_pkey primary key (system_object_id, version)
);
create index transition_event_skip_at_idx on transition_event_skip (at);
