-- What users prove besides their password. The secret of an authenticator app is needed as it is to check its codes, so
-- it is stored so; it is shown once, when it is set up. Recovery codes are stored as sha256: they are random enough.
create table user_factor (
  user_id bigint not null,
  -- Null: no authenticator app.
  totp_secret bytea,
  totp_enrolled_at timestamptz,
  -- The last step of time (RFC 6238) of which a code was used: a code works once.
  totp_last_step bigint not null default 0,
  -- sha256 of those that are left.
  recovery_hashes bytea[] not null default '{}',
  -- What the user proved with last: totp, …
  last_method text,
  constraint user_factor_pkey primary key (user_id),
  constraint user_factor_user_id_fkey foreign key (user_id) references "user" (id) on delete cascade
);

-- The second factor of the sign-in that a code came of; null: none was needed.
alter table oauth_code add column two_factor text;
