-- Mails that wait for the hour that their reader has chosen (`mail_schedule`), and go out together.
create table mail_batch (
  id bigint generated always as identity,
  user_id bigint not null,
  key text not null,
  mail jsonb not null,
  queued_at timestamptz not null default now(),
  constraint mail_batch_pkey primary key (id),
  constraint mail_batch_key unique (key)
);
create index mail_batch_user_idx on mail_batch (user_id, id);
comment on table mail_batch is 'Mails that wait for the hour that their reader has chosen (`mail_schedule`), and go out together.';
comment on column mail_batch.key is 'Names the mail: queued twice, it is sent once.';
