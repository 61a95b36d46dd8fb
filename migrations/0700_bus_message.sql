-- What processes tell each other is sent with NOTIFY, which a network can lose. Here is how many messages there were: who has not
-- heard of one reads everything again. Nothing of it is needed after a crash, which ends all connections.
create unlogged table bus_message (
  id bigint primary key generated always as identity,
  transaction xid8 not null default pg_current_xact_id(),
  sent_at timestamptz not null default clock_timestamp()
);
comment on table bus_message is 'Messages between the processes of the last minutes, by number, so that each process notices those that it has not got.';
comment on column bus_message.transaction is 'Who has seen all transactions before some moment looks at the later ones only.';
