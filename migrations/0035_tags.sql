-- Tags and the groups they stand in. Ids are never reused: object.tags holds them.
create sequence tag_group_id_seq as int;
create table tag_group (
  id int not null default nextval('tag_group_id_seq'),
  version int not null default 1,
  position int not null,
  displayname jsonb not null default '{}',
  reference text,
  shortname text,
  type text not null,
  constraint tag_group_pkey primary key (id),
  constraint tag_group_type_check check (type in ('checkbox', 'choice')),
  constraint tag_group_reference_key unique (reference) deferrable initially deferred,
  constraint tag_group_shortname_key unique (shortname) deferrable initially deferred
);

create sequence tag_id_seq as int;
create table tag (
  id int not null default nextval('tag_id_seq'),
  group_id int not null,
  version int not null default 1,
  position int not null,
  displayname jsonb not null default '{}',
  description jsonb not null default '{}',
  frontend_prefs jsonb not null default '{}',
  enabled boolean not null,
  is_default boolean not null,
  sticky boolean not null,
  type text not null,
  displaytype text not null,
  reference text,
  shortname text,
  constraint tag_pkey primary key (id),
  constraint tag_group_fkey foreign key (group_id) references tag_group (id),
  constraint tag_type_check check (type in ('individual', 'all_versions')),
  constraint tag_displaytype_check check (displaytype in ('facet', 'search', 'detail', 'editor', 'hidden')),
  constraint tag_reference_key unique (reference) deferrable initially deferred,
  constraint tag_shortname_key unique (shortname) deferrable initially deferred
);

-- Workflow transitions of the instance; pools and object types keep their own in their settings, with ids of the same
-- sequence. `settings` is TransitionSettings of transitions/model.ts.
create sequence transition_id_seq as int;
create table transition (
  id int not null default nextval('transition_id_seq'),
  version int not null default 1,
  position int not null,
  settings jsonb not null,
  constraint transition_pkey primary key (id)
);

-- The key that signs confirmations of transitions: the same for all processes, never shown.
create table transition_secret (
  singleton boolean primary key default true check (singleton),
  secret text not null default gen_random_uuid()::text || gen_random_uuid()::text
);
insert into transition_secret default values;
