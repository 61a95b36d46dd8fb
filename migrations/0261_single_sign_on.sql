-- Sign-ins by another server: what it takes to sign out there, too.
create table directory_session (
  id uuid not null,
  kind text not null,
  -- Name of the provider in the base configuration.
  provider text not null,
  user_id bigint not null,
  -- Who the user is there.
  subject text not null,
  details jsonb not null,
  -- Null: the code for it was not used yet.
  session_id uuid,
  expires_at timestamptz not null,
  constraint directory_session_pkey primary key (id),
  constraint directory_session_user_id_fkey foreign key (user_id) references "user" (id) on delete cascade,
  constraint directory_session_session_id_fkey foreign key (session_id) references oauth_session (id) on delete cascade
);
create index directory_session_user_idx on directory_session (user_id);
create index directory_session_session_idx on directory_session (session_id);
create index directory_session_expires_idx on directory_session (expires_at);
comment on table directory_session is 'sign-ins by another server (OpenID Connect): what it takes to sign out there';
alter table oauth_code add column directory_session uuid;
comment on column oauth_code.directory_session is 'the sign-in by another server that the code came of; null: none';
