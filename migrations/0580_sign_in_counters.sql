-- Counters of failed sign-ins have a name of their own, made with a secret of the instance, in place of one of 2^20
-- buckets that strangers could work out and share. A hash cannot be turned back: what was counted until now is forgotten,
-- and blocks (minutes long) end with this migration.
drop table sign_in_failure;

create table sign_in_failure (
  counter bytea primary key,
  failures int not null,
  about text,
  blocked_until timestamptz,
  forget_at timestamptz not null
);
comment on table sign_in_failure is 'Failures that block further attempts for some minutes.';
comment on column sign_in_failure.counter is 'HMAC-SHA256 of what is counted, with the key of sign_in_key.';
comment on column sign_in_failure.about is 'The user whose sign-ins (user:1) or second factors (factor:1) it blocks; null: of a network or client, or of a name that nobody has.';
create index sign_in_failure_forget_idx on sign_in_failure (forget_at);
create index sign_in_failure_about_idx on sign_in_failure (about) where about is not null;

create table sign_in_key (key bytea not null);
comment on table sign_in_key is 'One row: what the counters of sign_in_failure are named with, so that nobody outside makes two that are one.';
insert into sign_in_key (key)
  select sha256(decode(replace(gen_random_uuid()::text || gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex'));
