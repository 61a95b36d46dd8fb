-- Codes that were sent by mail as a second factor, for ten minutes; kept for an hour to count them. Of a code only a keyed
-- hash is stored: six digits are found out from any other.
create table factor_mail_code (
  id bigint not null generated always as identity,
  -- sha256 of the id of the sign-in that it is for.
  flow_hash bytea not null,
  user_id bigint not null,
  hash bytea not null,
  sent_at timestamptz not null default now(),
  expires_at timestamptz not null,
  constraint factor_mail_code_pkey primary key (id),
  constraint factor_mail_code_user_id_fkey foreign key (user_id) references "user" (id) on delete cascade
);
create index factor_mail_code_flow_idx on factor_mail_code (flow_hash);
create index factor_mail_code_user_idx on factor_mail_code (user_id, sent_at);
create index factor_mail_code_sent_idx on factor_mail_code (sent_at);
comment on table factor_mail_code is 'codes of second factors that were sent by mail, as keyed hashes';
comment on column user_factor.totp_secret is 'sealed with the key of the instance (20 bytes: one of before, as it is, until the next start)';
