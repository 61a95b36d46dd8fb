-- Pools: containers of objects, as a tree. Ids start at 1 and are never reused.
create sequence pool_id_seq as bigint;

create table pool (
  id bigint not null default nextval('pool_id_seq'),
  version int not null default 1,
  -- Null only for the root pool.
  parent_id bigint,
  reference text,
  is_system boolean not null default false,
  owner_user bigint,
  owner_group bigint,
  contact_user bigint,
  contact_group bigint,
  name jsonb not null default '{}',
  shortname jsonb not null default '{}',
  description jsonb not null default '{}',
  comment text not null default '',
  -- watermark, caption, janitor_policy, custom_data, mapping_* (pools/settings.ts); absent is not set.
  settings jsonb not null default '{}',
  -- rights/model.ts, StoredGrant[]
  acl jsonb not null default '[]',
  private_acl boolean not null default false,
  -- [{ id, enabled?, isDefault? }]
  tags jsonb not null default '[]',
  private_tags boolean not null default false,
  transitions jsonb not null default '[]',
  private_transitions boolean not null default false,
  -- { object type id: [mask ids] }
  standard_masks jsonb not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint pool_pkey primary key (id),
  -- Deferrable: checked after a statement, not after each of its rows, so pools may swap references.
  constraint pool_reference_key unique (reference) deferrable,
  constraint pool_parent_fkey foreign key (parent_id) references pool (id) deferrable initially deferred,
  constraint pool_root_check check (parent_id is not null or reference = 'system:root'),
  constraint pool_parent_check check (parent_id <> id)
);
alter sequence pool_id_seq owned by pool.id;
create index pool_parent_idx on pool (parent_id);

-- Every instance has the root, which carries what holds for all pools, and one pool to begin with.
insert into pool (parent_id, reference, is_system, name) values
  (null, 'system:root', true, '{"de-DE": "Alle Pools", "en-US": "All pools"}'),
  (1, 'system:standard', true, '{"de-DE": "Standardpool", "en-US": "Standard pool"}');
