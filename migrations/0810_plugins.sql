-- Plugins: what is installed, and the archives that processes unpack into their own data folders.

-- An archive is kept in parts of a megabyte, so that nobody holds it in memory as a whole.
create table plugin_package (
  sha256 bytea primary key,
  size bigint not null
);
create table plugin_package_part (
  sha256 bytea not null references plugin_package (sha256) on delete cascade,
  number int not null,
  content bytea not null,
  primary key (sha256, number)
);
alter table plugin_package_part alter column content set storage external;

create table plugin (
  id bigint generated always as identity primary key,
  name text not null constraint plugin_name unique,
  type text not null constraint plugin_type check (type in ('disk', 'zip', 'url')),
  enabled boolean not null default false,
  -- The folder of one that was found on a disk.
  path text,
  url text,
  -- The file that the archive was uploaded as: only its number, the file may go.
  zip_file bigint,
  update_policy text not null default 'never'
    constraint plugin_update_policy check (update_policy in ('never', 'daily', 'always')),
  package bytea references plugin_package (sha256),
  etag text,
  -- As it was written, in its order, checked when it was installed.
  manifest json not null,
  build_info json not null,
  last_checked_at timestamptz,
  -- Why the last look for an update failed.
  last_failure text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index plugin_by_package on plugin (package);

-- Settings of plugins, by the section of the manifest that describes them; secrets in them are sealed.
create table plugin_config (
  plugin text not null,
  section text not null,
  value jsonb not null,
  updated_at timestamptz not null default now(),
  primary key (plugin, section)
);

comment on table plugin_package is 'Archives of plugins, once each by their contents.';
comment on table plugin_package_part is 'Contents of the archives, in pieces.';
comment on table plugin is 'Plugins that are installed, with their manifests.';
comment on table plugin_config is 'Settings of plugins; secrets are sealed.';
