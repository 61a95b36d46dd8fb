-- Whom an object belongs to and who may see it by grants on it are no part of search_access_set any more: thousands of owners made
-- thousands of sets, each with the same pool and tags. Documents from before keep the sets that they have, which say more than is
-- asked of them, until they are built anew: the next start queues that.
create table search_people_set (
  id integer not null generated always as identity,
  key uuid not null,
  access tsvector not null,
  constraint search_people_set_pkey primary key (id),
  constraint search_people_set_key_key unique (key)
);
comment on table search_people_set is 'What search_document.access says of people: owner, grants on the object, uploaders of its files. Never changed; numbers ascend in the order in which they are there for others.';
create index search_people_set_access_idx on search_people_set using gin (access);
comment on table search_access_set is 'What search_document.access says of no people: object type, pool, tags, private permissions, kinds of files. Never changed; numbers ascend in the order in which they are there for others.';

alter table search_document add column people_set integer not null default 0;
comment on column search_document.people_set is 'Number of what access says of people in search_people_set; 0: not known yet.';
comment on column search_document.access_set is 'Number of what access says besides in search_access_set; 0: not known yet.';
create index search_document_people_set_idx on search_document (people_set);
alter table search_replaced add column people_set integer not null default 0;
