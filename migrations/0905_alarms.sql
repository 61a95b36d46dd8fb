-- What administrators are told of while it lasts, so that they hear of it once in a while and not at every look.
create table alarm (
  name text not null,
  told_at timestamptz not null,
  constraint alarm_pkey primary key (name)
);
comment on table alarm is 'What administrators were told of, and when last: they hear of it once a day at most.';
