-- Wildcards find their words through trigrams.
create extension if not exists pg_trgm;

-- The search index: one row per object that is not purged, built by src/search/indexing. What is read for every match
-- stands first. The lexemes, which only their index needs, and the sort keys of columns that results do not list go out
-- of line when the row is large: the narrower the rows, the faster the walk through many matches.
create table search_document (
  id bigint not null,
  objecttype int not null,
  deleted boolean not null,
  created_at timestamptz not null,
  modified_at timestamptz not null,
  -- When a grant on the object begins or ends: then its lexemes are out of date.
  valid_until timestamptz,
  -- Set ids (search_facet_set) by place (search_slot).
  facets int[] not null,
  -- Binary sort keys by place, of columns that results list; those of others are in far_keys.
  sort_keys bytea[] not null,
  -- Words of title (weight A) and subtitle (B), for the score. The lexemes are out of line, too far for each match.
  names tsvector not null,
  -- Hash of the whole document: what did not change is not written again.
  digest uuid not null,
  -- Hash of what objects that link to this one take over from it.
  shown bigint not null,
  far_keys bytea[] not null,
  lexemes tsvector not null,
  constraint search_document_pkey primary key (id)
);
alter table search_document alter column lexemes set storage external;
alter table search_document alter column far_keys set storage external;
alter table search_document alter column facets set storage main;
alter table search_document alter column sort_keys set storage main;
alter table search_document alter column names set storage main;
-- Also built by src/search/indexing/bulk.ts. New entries wait in a list of at most 2 MB, which searches read through; sorting them in costs less in bulk.
create index search_document_lexemes_idx on search_document using gin (lexemes) with (gin_pending_list_limit = 2048);
create index search_document_created_idx on search_document (created_at);
create index search_document_modified_idx on search_document (modified_at);
create index search_document_valid_until_idx on search_document (valid_until) where valid_until is not null;
alter table search_document set (toast_tuple_target = 512, autovacuum_vacuum_insert_scale_factor = 0.05);

-- Rows of nested tables, for conditions that must hold in one row.
create table search_nested (
  id bigint not null,
  -- Number of the row within its object, and of the row that it stands in (0: the object itself).
  row int not null,
  parent int not null,
  lexemes tsvector not null
);
create index search_nested_id_idx on search_nested (id);
create index search_nested_lexemes_idx on search_nested using gin (lexemes) with (gin_pending_list_limit = 1024);

-- Words for wildcards: field 0 holds the words of all texts, others (column ids) whole tokens of `string` columns.
-- Words stay when the last object that has them is gone; they then find nothing.
create table search_term (
  field int not null,
  term text collate "C" not null,
  constraint search_term_pkey primary key (field, term)
);
create index search_term_trigram_idx on search_term using gin (term gin_trgm_ops) where field = 0;

-- Sets of facet values that objects have: link targets with their ancestors, or labels. Immutable, so that they can be
-- kept in memory without asking again. `key` is a hash of the field and its members.
create table search_facet_set (
  id int generated always as identity,
  field text not null,
  key uuid not null,
  ids bigint[],
  labels text[],
  constraint search_facet_set_pkey primary key (id),
  constraint search_facet_set_key_key unique (key)
);

-- Places of facets and sort keys in the arrays of search_document, by object type (0: all).
create table search_slot (
  objecttype int not null,
  kind "char" not null,
  field text not null,
  slot int not null,
  constraint search_slot_pkey primary key (objecttype, kind, field),
  constraint search_slot_slot_key unique (objecttype, kind, slot)
);

-- `generation` counts the changes of the index, so that a kept result is known to be current. While entries of a reindex
-- up to `blocked_until` (index_queue.seq) wait, searches of others than root are refused.
create table search_state (
  singleton boolean not null default true check (singleton),
  generation bigint not null default 0,
  blocked_until bigint,
  -- How documents are built (version, languages); when that changes, all are built anew.
  analysis text,
  constraint search_state_pkey primary key (singleton)
);
insert into search_state default values;

-- Objects that could not be indexed; they are tried again when they change or are indexed anew.
create table search_failure (
  id bigint not null,
  error text not null,
  at timestamptz not null default now(),
  constraint search_failure_pkey primary key (id)
);
