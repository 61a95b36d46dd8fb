-- Logins and addresses are one name space: each, in the form of login_key and email_key, is of one user. Whoever writes users,
-- these triggers enter their names here, so of two who want the same name one is refused (user_name_pkey).
create table user_name (
  key text not null,
  user_id bigint not null,
  constraint user_name_pkey primary key (key),
  constraint user_name_user_id_fkey foreign key (user_id) references "user" (id) on delete cascade
);
create index user_name_user_idx on user_name (user_id);
comment on table user_name is 'Logins and addresses: whose each of them is. Written by triggers of "user".';

-- To whom a name was ever given, so that the sub of somebody is never that of another, also when the first one has gone. A hash:
-- names of people who have left do not stay.
create table user_subject (
  hash bytea not null,
  user_id bigint not null,
  constraint user_subject_pkey primary key (hash)
);
create index user_subject_user_idx on user_subject (user_id);
comment on table user_subject is 'Who was the first to have a login, address or id as a name, for good. Written by triggers of "user".';
comment on column user_subject.hash is 'sha256 of the name in the form of login_key';

create function user_subject_hash(name text) returns bytea language sql immutable as $$
  select sha256(convert_to(name, 'UTF8'))
$$;

-- The login, else the address, else the id (OAUTH-026), as far as it was never that of another. Names that begin with a colon are
-- left to the last case, where even the id was the login of another.
create function user_subject_of(id bigint, login text, login_key text, email text, email_key text) returns text
language sql stable as $$
  select case
    when login <> '' and login not like ':%' and exists
      (select from user_subject s where s.hash = user_subject_hash(login_key) and s.user_id = id) then login
    when email <> '' and exists
      (select from user_subject s where s.hash = user_subject_hash(email_key) and s.user_id = id) then email
    when not exists
      (select from user_subject s where s.hash = user_subject_hash(id::text) and s.user_id <> id) then id::text
    else ':' || id end
$$;

-- Users who are called by their id alone keep it.
create function user_subject_of_ids(ids bigint[]) returns void language sql as $$
  insert into user_subject (hash, user_id)
  select user_subject_hash(u.id::text), u.id from "user" u
  where u.id = any(ids) and not exists (select from user_subject s where s.user_id = u.id
    and s.hash in (user_subject_hash(u.login_key), user_subject_hash(u.email_key)))
  order by 1
  on conflict do nothing
$$;

create function user_names_added() returns trigger language plpgsql as $$
begin
  -- In one order for all, so that two batches do not wait for each other.
  insert into user_name (key, user_id)
  select distinct k.key, n.id from new_rows n cross join lateral (values (n.login_key), (n.email_key)) as k (key)
  where k.key is not null order by 1;
  insert into user_subject (hash, user_id)
  select distinct user_subject_hash(k.key), n.id
  from new_rows n cross join lateral (values (n.login_key), (n.email_key)) as k (key)
  where k.key is not null order by 1
  on conflict do nothing;
  perform user_subject_of_ids(array(select id from new_rows));
  return null;
end $$;

create function user_names_changed() returns trigger language plpgsql as $$
declare
  moved bigint[];
  free text[];
begin
  moved := array(select n.id from new_rows n join old_rows o using (id)
    where (n.login_key, n.email_key) is distinct from (o.login_key, o.email_key) order by n.id);
  if moved = '{}' then
    return null;
  end if;
  with gone as (
    delete from user_name k using new_rows n
    where n.id = any(moved) and k.user_id = n.id
      and k.key is distinct from n.login_key and k.key is distinct from n.email_key
    returning k.key)
  select coalesce(array_agg(key), '{}') into free from gone;
  -- What stays is not claimed anew: of two who have had the same name from before, neither is kept from other changes.
  insert into user_name (key, user_id)
  select distinct k.key, n.id from new_rows n join old_rows o using (id)
    cross join lateral (values (n.login_key), (n.email_key)) as k (key)
  where n.id = any(moved) and k.key is distinct from o.login_key and k.key is distinct from o.email_key
    and k.key is not null order by 1;
  perform user_names_inherit(free);
  insert into user_subject (hash, user_id)
  select distinct user_subject_hash(k.key), n.id from new_rows n
    cross join lateral (values (n.login_key), (n.email_key)) as k (key)
  where n.id = any(moved) and k.key is not null order by 1
  on conflict do nothing;
  perform user_subject_of_ids(moved);
  return null;
end $$;

create function user_names_gone() returns trigger language plpgsql as $$
declare
  free text[];
begin
  with gone as (delete from user_name k using old_rows o where k.user_id = o.id returning k.key)
  select coalesce(array_agg(key), '{}') into free from gone;
  perform user_names_inherit(free || array(select k.key from old_rows o
    cross join lateral (values (o.login_key), (o.email_key)) as k (key) where k.key is not null));
  return null;
end $$;

-- A name that two had from before is that of the other one when the first one gives it up.
create function user_names_inherit(keys text[]) returns void language sql as $$
  insert into user_name (key, user_id)
  select distinct on (k.key) k.key, u.id
  from unnest(keys) as k (key) join "user" u on u.login_key = k.key or u.email_key = k.key
  order by k.key, (u.login_key = k.key) desc nulls last, u.id
  on conflict do nothing
$$;

-- Those who are there: where the login of one is the address of another, it names who has it as login, as it did before.
insert into user_name (key, user_id)
select distinct on (key) key, id from (
  select login_key as key, id, 1 as place from "user" where login_key is not null
  union all select email_key, id, 2 from "user" where email_key is not null) as n
order by key, place, id;
insert into user_subject (hash, user_id) select user_subject_hash(key), user_id from user_name;
select user_subject_of_ids(array(select id from "user"));

create trigger user_names_added after insert on "user"
  referencing new table as new_rows for each statement execute function user_names_added();
create trigger user_names_changed after update on "user"
  referencing old table as old_rows new table as new_rows for each statement execute function user_names_changed();
create trigger user_names_gone after delete on "user"
  referencing old table as old_rows for each statement execute function user_names_gone();
