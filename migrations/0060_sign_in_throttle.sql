-- Failed sign-ins are counted per account and address together, so that strangers cannot lock an account for its owner.
-- Buckets are hashes (2^20 of each kind), so the table cannot grow without bound whatever is tried.
drop table login_failure;

create table sign_in_failure (
  bucket int not null,
  failures int not null,
  -- Bucket of the login that it is about; null: of a network, whatever it tries.
  login_bucket int,
  -- Null: not blocked.
  blocked_until timestamptz,
  -- From then on the row counts for nothing.
  forget_at timestamptz not null,
  constraint sign_in_failure_pkey primary key (bucket)
);
create index sign_in_failure_forget_idx on sign_in_failure (forget_at);
create index sign_in_failure_login_idx on sign_in_failure (login_bucket);

-- Browsers and networks from which a user has signed in, as sha256; a few of each user.
create table known_source (
  user_id bigint not null references "user" on delete cascade,
  hash bytea not null,
  seen_at timestamptz not null,
  constraint known_source_pkey primary key (user_id, hash)
);
