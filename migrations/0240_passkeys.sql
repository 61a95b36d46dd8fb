-- Passkeys (WebAuthn): the public keys of what users prove themselves with; several of each user.
create table passkey (
  id uuid not null default gen_random_uuid(),
  user_id bigint not null,
  -- As the device names it.
  credential_id bytea not null,
  -- COSE.
  public_key bytea not null,
  -- Uses that the device has counted; most count none.
  sign_count bigint not null,
  -- How a browser gets to the device: usb, internal, hybrid …
  transports text[] not null default '{}',
  name text not null,
  -- The key is kept in more than one place.
  backed_up boolean not null default false,
  created_at timestamptz not null default now(),
  last_used_at timestamptz,
  constraint passkey_pkey primary key (id),
  constraint passkey_credential_id_key unique (credential_id),
  constraint passkey_user_id_fkey foreign key (user_id) references "user" (id) on delete cascade
);
create index passkey_user_idx on passkey (user_id);
comment on table passkey is 'passkeys of users: what a device has told of its key';

-- Challenges that browsers were given, by sha256; taken away by the first answer.
create table passkey_challenge (
  hash bytea not null,
  -- sha256 of the cookie of the pages.
  browser_hash bytea not null,
  -- Null: whoever answers says who it is.
  user_id bigint,
  purpose text not null,
  expires_at timestamptz not null,
  constraint passkey_challenge_pkey primary key (hash),
  constraint passkey_challenge_purpose_check check (purpose in ('setup', 'proof')),
  constraint passkey_challenge_user_id_fkey foreign key (user_id) references "user" (id) on delete cascade
);
create index passkey_challenge_expires_idx on passkey_challenge (expires_at);
create index passkey_challenge_user_idx on passkey_challenge (user_id);
comment on table passkey_challenge is 'questions that passkeys have to sign, for five minutes';

-- What passkeys call the user: random, since devices show it to whoever has them.
alter table user_factor add column passkey_handle bytea;
