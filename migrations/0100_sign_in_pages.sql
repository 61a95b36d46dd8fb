-- A sign-in on the pages that is not finished: the user has proved a password, and further pages must be passed. It
-- belongs to the browser that began it. Of secrets only the sha256 is stored.
create table login_flow (
  id_hash bytea not null,
  -- sha256 of the cookie of the pages.
  browser_hash bytea not null,
  client_id text not null,
  redirect_uri text not null,
  -- Whether the client named it: then its token request must name the same.
  redirect_uri_given boolean not null,
  state text not null,
  scopes text[] not null,
  -- base64url of the sha256 of the verifier (RFC 7636, S256); null: the client sends none.
  code_challenge text,
  keep_login boolean not null default false,
  -- The browser id that tokens are to be bound to; null: to none.
  bound_browser_hash bytea,
  -- Null as long as nobody has proved anything: a sign-in that has gone to another server.
  user_id bigint,
  method text,
  login text,
  remote_addr text not null default '',
  user_agent text,
  -- Names of the steps that are passed.
  steps_done text[] not null default '{}',
  -- What steps keep between their pages, by step.
  notes jsonb not null default '{}',
  -- Wrong answers so far.
  failures int not null default 0,
  -- The way back from a page, once.
  action_code_hash bytea,
  action_secret_hash bytea,
  action_expires_at timestamptz,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  constraint login_flow_pkey primary key (id_hash),
  constraint login_flow_action_key unique (action_code_hash),
  constraint login_flow_user_id_fkey foreign key (user_id) references "user" (id) on delete cascade
);
create index login_flow_expires_idx on login_flow (expires_at);
create index login_flow_user_idx on login_flow (user_id);
