-- What users are sent by mail: confirmation of their address, welcome, a new password.
alter table "user"
  -- Whoever has to confirm the address cannot sign in before.
  add column confirm_email boolean not null default false,
  add column confirm_email_sent_at timestamptz,
  add column email_confirmed_at timestamptz,
  add column welcome_email boolean not null default false,
  add column welcome_email_sent_at timestamptz;

-- Links that were sent by mail, each good once. Only the sha256 of its secret is stored.
create table account_token (
  hash bytea not null,
  user_id bigint not null references "user" on delete cascade,
  purpose text not null,
  -- What it depends on, as sha256: with another address, or for a password another password, it is void.
  state bytea not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  constraint account_token_pkey primary key (hash),
  constraint account_token_purpose_check check (purpose in ('password', 'email'))
);
create index account_token_user_idx on account_token (user_id, purpose);
create index account_token_expires_idx on account_token (expires_at);
comment on table account_token is 'Links that were sent by mail and not used yet: to set a password, to confirm an address.';
comment on column "user".confirm_email is 'Whether the address has to be confirmed; before that nobody can sign in.';
comment on column account_token.state is 'sha256 of what it depends on: another address, or for a password another password, makes it void.';
