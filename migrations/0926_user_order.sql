-- Orders in which people list users: a page of the first ones without putting all of them in order.
set constraints all immediate;

create index user_displayname_order_idx on "user" (generated_displayname collate "und-x-icu", id)
  where archived_at is null and type <> all ('{anonymous,collection}'::text[]);
create index user_login_order_idx on "user" (login collate "und-x-icu", id)
  where archived_at is null and type <> all ('{anonymous,collection}'::text[]);
create index user_last_name_order_idx on "user" ((profile ->> 'last_name') collate "und-x-icu", id)
  where archived_at is null and type <> all ('{anonymous,collection}'::text[]);

set constraints all deferred;
