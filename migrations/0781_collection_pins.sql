-- The PIN of a collection as an argon2id hash. Each new one has another id, which makes what was remembered void.
alter table collection add column pin_hash text, add column pin_id uuid;
comment on column collection.pin_hash is 'argon2id of the PIN without which only bag_read of grants counts; null: there is none.';
comment on column collection.pin_id is 'Another one for each PIN that is set.';

create table collection_pin (
  collection_id bigint not null,
  user_id bigint not null,
  visitor bytea not null,
  pin_id uuid not null,
  entered_at timestamptz not null default now(),
  constraint collection_pin_pkey primary key (collection_id, user_id, visitor),
  constraint collection_pin_collection_fkey foreign key (collection_id) references collection on delete cascade,
  constraint collection_pin_user_fkey foreign key (user_id) references "user" on delete cascade
);
create index collection_pin_user_idx on collection_pin (user_id, visitor);
comment on table collection_pin is 'Who has entered the PIN of a collection.';
comment on column collection_pin.visitor is 'sha256 of the browser or session, of users whom many act as (guests, links); empty for all others.';
