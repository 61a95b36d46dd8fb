-- Authorization codes (RFC 6749, 4.1), as sha256 only. A used one stays for a day: presenting it again gives a theft away,
-- and ends the session that it has opened.
create table oauth_code (
  hash bytea not null,
  client_id text not null,
  redirect_uri text not null,
  -- Whether the client named it: then its token request must name the same.
  redirect_uri_given boolean not null,
  scopes text[] not null,
  -- base64url of the sha256 of the verifier (RFC 7636, S256); null: none.
  code_challenge text,
  -- sha256 of the browser id that must come with the token request and binds the session; null: any.
  browser_hash bytea,
  user_id bigint not null,
  method text not null,
  login text,
  remote_addr text not null,
  user_agent text,
  issued_at timestamptz not null default now(),
  expires_at timestamptz not null,
  used_at timestamptz,
  session_id uuid,
  constraint oauth_code_pkey primary key (hash),
  constraint oauth_code_user_id_fkey foreign key (user_id) references "user" (id) on delete cascade,
  constraint oauth_code_session_id_fkey foreign key (session_id) references oauth_session (id) on delete cascade
);
create index oauth_code_expires_idx on oauth_code (expires_at);
create index oauth_code_user_idx on oauth_code (user_id);
create index oauth_code_session_idx on oauth_code (session_id);

-- Where a session was opened, for its user to recognise it, and when it was last seen (to within minutes).
alter table oauth_session
  add column remote_addr text not null default '',
  add column user_agent text,
  add column last_used_at timestamptz not null default now();
