-- Objects share what says who may see them again and again: a number for each of these sets, so that the rights of a caller
-- are compared with the sets, not with every object.
create table search_access_set (
  id integer not null generated always as identity,
  key uuid not null,
  access tsvector not null,
  constraint search_access_set_pkey primary key (id),
  constraint search_access_set_key_key unique (key)
);
comment on table search_access_set is 'Different values of search_document.access. Never changed; numbers ascend in the order in which they are there for others.';
alter table search_document add column access_set integer not null default 0;
comment on column search_document.access_set is 'Number of access in search_access_set; 0: not known yet.';
create index search_document_access_set_idx on search_document (access_set);
