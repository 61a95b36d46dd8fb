-- What harvesters have been told of objects, so that they hear of each change and of whatever they can see no more.
create table harvest_set (
  id int generated always as identity,
  spec text not null,
  constraint harvest_set_pkey primary key (id),
  constraint harvest_set_spec_key unique (spec)
);
comment on table harvest_set is 'Names of sets that records are or were in; a number is never given twice.';

create table harvest_record (
  id bigint not null,
  uuid text not null,
  moment timestamptz not null,
  gone boolean not null,
  sets int[] not null,
  told int[] not null,
  constraint harvest_record_pkey primary key (id)
);
create index harvest_record_moment_idx on harvest_record (moment, id);
create index harvest_record_uuid_idx on harvest_record (uuid);
create index harvest_record_told_idx on harvest_record using gin (told) with (fastupdate = off);
comment on table harvest_record is 'Objects that harvesters have been told of, by their system object ids; objects that are gone stay.';
comment on column harvest_record.moment is 'Datestamp. No answer that was given without this state of the record says a later time.';
comment on column harvest_record.gone is 'It is told as deleted.';
comment on column harvest_record.sets is 'Sets that it is in, or was in when it went, those above them included.';
comment on column harvest_record.told is 'All sets in which it has ever been told.';

create table harvest_state (
  id boolean not null default true,
  version int not null default 0,
  active boolean not null default false,
  moment timestamptz not null default now(),
  built_at timestamptz,
  basis text,
  walked bigint,
  followed_at bigint,
  followed_id bigint,
  constraint harvest_state_pkey primary key (id),
  constraint harvest_state_single check (id)
);
comment on table harvest_state is 'How far harvest_record is. There is no row before harvesting was switched on for the first time.';
comment on column harvest_state.version is 'Ascends with every step, so that of two processes one goes on.';
comment on column harvest_state.moment is 'Of the last step; later than that of any before, whatever the clock says.';
comment on column harvest_state.built_at is 'When all objects had been looked at for the first time.';
comment on column harvest_state.basis is 'Hash of the rights and sets by which records were looked at; with another one all are looked at anew.';
comment on column harvest_state.walked is 'The last object that was looked at anew; null: none is to be any more.';
comment on column harvest_state.followed_at is 'The last change of the index that was looked at: its moment in microseconds since 1970, and the object.';

-- Entries are added and removed, never changed, so that nobody waits for anybody.
create table harvest_queue (
  seq bigint generated always as identity,
  object_id bigint not null,
  constraint harvest_queue_pkey primary key (seq)
);
comment on table harvest_queue is 'Objects that are to be looked at anew for another reason than a change in the index.';

-- Lists of collections are no part of what is indexed of an object.
create function harvest_lists_changed() returns trigger language plpgsql as $$
begin
  insert into harvest_queue (object_id)
  select distinct object_id from changed where object_id > 0 and exists (select from harvest_state where active);
  return null;
end $$;
create trigger harvest_lists_grown after insert on collection_object
  referencing new table as changed for each statement execute function harvest_lists_changed();
create trigger harvest_lists_shrunk after delete on collection_object
  referencing old table as changed for each statement execute function harvest_lists_changed();
