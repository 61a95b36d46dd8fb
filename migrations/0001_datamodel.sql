-- Committed datamodel versions are immutable: schema, masks and localisation of one commit in one row.
create table datamodel_version (
  version int primary key,
  committed_at timestamptz not null,
  committed_by bigint,
  schema jsonb not null,
  masks jsonb not null,
  l10n jsonb not null
);

-- The working copy. `revision` counts its saves, so that two editors do not overwrite each other unseen.
create table datamodel_head (
  singleton boolean primary key default true check (singleton),
  revision bigint not null default 0,
  schema jsonb not null,
  masks jsonb not null,
  l10n jsonb not null
);

-- Settings of object types; `id` is the table id of the datamodel.
create table objecttype (
  id int primary key,
  name text not null,
  version int not null default 1,
  settings jsonb not null default '{}'
);
