-- How far the janitors of the event log have come: nothing of theirs is before it.
create table event_janitor (
  name text not null,
  up_to bigint not null,
  constraint event_janitor_pkey primary key (name)
);
comment on table event_janitor is 'How far the janitors of the event log have come.';
