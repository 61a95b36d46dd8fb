-- When an object became what searches see of it now, and who could see what it was before: for those who follow changes.
alter table search_document
  add column changed_at timestamptz not null default now(),
  add column place bigint not null default 0;
comment on column search_document.changed_at is 'When the document became what it is; ascending with every batch of the index.';
comment on column search_document.place is 'Hash of what says who may see the object: access, object type, trash.';
create index search_document_changed_idx on search_document (changed_at, id);

create table search_former (
  id bigint not null,
  place bigint not null,
  objecttype int not null,
  access tsvector not null,
  until timestamptz not null,
  constraint search_former_pkey primary key (id, place)
);
create index search_former_until_idx on search_former (until, id);
comment on table search_former is 'Who could see objects before they moved, were tagged otherwise or went: so that those who follow changes hear that they are gone.';
comment on column search_former.until is 'When that ended, as search_document.changed_at.';

alter table search_state add column changed_at timestamptz not null default now();
comment on column search_state.changed_at is 'Moment of the last batch; later than that of any batch before, whatever the clock says.';
