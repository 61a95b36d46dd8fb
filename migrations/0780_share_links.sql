-- Short addresses that lead to others of this service. Each goes by itself when its end has passed.
create table share_link (
  id text not null,
  alias text,
  path text not null,
  user_id bigint,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  constraint share_link_pkey primary key (id),
  constraint share_link_alias_key unique (alias),
  constraint share_link_user_fkey foreign key (user_id) references "user" on delete set null
);
create index share_link_user_idx on share_link (user_id);
create index share_link_expires_at_idx on share_link (expires_at);
comment on table share_link is 'Short addresses of addresses of this service.';
comment on column share_link.user_id is 'Who has made it; null: somebody who is gone.';
