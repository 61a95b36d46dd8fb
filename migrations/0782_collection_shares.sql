-- Users of type `collection`: each belongs to the one grant of one collection that names it, and is whoever has the link.
create table collection_share (
  user_id bigint not null,
  collection_id bigint not null,
  secret_hash bytea not null,
  secret bytea not null,
  constraint collection_share_pkey primary key (user_id),
  constraint collection_share_secret_key unique (secret_hash),
  constraint collection_share_user_fkey foreign key (user_id) references "user" on delete cascade,
  constraint collection_share_collection_fkey foreign key (collection_id) references collection on delete cascade
);
create index collection_share_collection_idx on collection_share (collection_id);
comment on table collection_share is 'Anonymous links to collections.';
comment on column collection_share.secret_hash is 'sha256 of the secret, to find it by.';
comment on column collection_share.secret is 'The secret, sealed: who may change the grants copies the link from there.';

-- Whether somebody with the link may be here now: its grant stands, is in force, and the owner is not archived.
create function collection_share_open(share_user bigint) returns boolean language sql stable as $$
  select exists (
    select from collection_share s
    join collection c on c.id = s.collection_id
    join "user" o on o.id = c.owner_user
    where s.user_id = share_user and o.archived_at is null and exists (
      select from jsonb_array_elements(c.acl) g
      where g->>'who' = 'u' || share_user and coalesce(g->>'active', 'true') = 'true'
        and (g->>'from' is null or (g->>'from')::timestamptz <= now())
        and (g->>'to' is null or (g->>'to')::timestamptz > now())))
$$;

-- With the link goes its user, whatever takes it away: nobody signs in as it again.
create function collection_share_gone() returns trigger language plpgsql as $$
begin
  update "user" set archived_at = now() where archived_at is null and id in (select user_id from old_rows);
  return null;
end $$;
create trigger collection_share_gone after delete on collection_share
  referencing old table as old_rows for each statement execute function collection_share_gone();
