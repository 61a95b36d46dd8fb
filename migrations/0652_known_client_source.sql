-- From where the secret of a client was right lately: guesses from many other networks keep it from there out no more.
create table known_client_source (
  client_id text not null,
  hash bytea not null,
  seen_at timestamptz not null default now(),
  constraint known_client_source_pkey primary key (client_id, hash)
);
comment on table known_client_source is 'networks, by their sha256, from which the secret of a client was right';
