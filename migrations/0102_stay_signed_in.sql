-- Browsers that stay signed in: the sha256 of the cookie, of use only together with the browser id it was given to.
create table keep_login (
  hash bytea not null,
  browser_hash bytea not null,
  user_id bigint not null,
  created_at timestamptz not null default now(),
  -- Moves on with each use.
  expires_at timestamptz not null,
  constraint keep_login_pkey primary key (hash),
  constraint keep_login_user_id_fkey foreign key (user_id) references "user" (id) on delete cascade
);
create index keep_login_user_idx on keep_login (user_id);
create index keep_login_expires_idx on keep_login (expires_at);

-- From this and the used token itself its successor is made: two tabs that refresh at once get the same one.
alter table oauth_token add column successor_seed bytea;

-- Sessions of one browser end together.
create index oauth_session_browser_idx on oauth_session (browser_hash) where browser_hash is not null;
