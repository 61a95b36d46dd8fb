-- The tables of the service as they are after all migrations, for reading: the migrations make them.
-- Written by scripts/schema.ts; a test compares it. The tables of the job queue (graphile_worker) are not listed.

-- Links that were sent by mail and not used yet: to set a password, to confirm an address.
create table account_token (
  hash bytea not null,
  user_id bigint not null,
  purpose text not null,
  -- sha256 of what it depends on: another address, or for a password another password, makes it void.
  state bytea not null,
  created_at timestamp with time zone not null default now(),
  expires_at timestamp with time zone not null,
  constraint account_token_pkey PRIMARY KEY (hash),
  constraint account_token_purpose_check CHECK ((purpose = ANY (ARRAY['password'::text, 'email'::text]))),
  constraint account_token_user_id_fkey FOREIGN KEY (user_id) REFERENCES "user"(id) ON DELETE CASCADE
);
CREATE INDEX account_token_expires_idx ON public.account_token USING btree (expires_at);
CREATE INDEX account_token_user_idx ON public.account_token USING btree (user_id, purpose);

-- The base configuration: one row per section that differs from its defaults.
create table base_config (
  section text not null,
  -- Only what was set, in wire form, so that defaults of a later release take effect.
  value jsonb not null,
  changed_at timestamp with time zone not null default now(),
  changed_by bigint,
  constraint base_config_pkey PRIMARY KEY (section)
);

-- Jobs that were begun by the process which added them; those of a process that has ended are put into the queue.
create table begun_job (
  id bigint not null generated always as identity,
  -- Name of the job that takes over.
  name text not null,
  payload json not null,
  priority integer not null,
  max_attempts integer not null,
  -- Whose: the process holds an advisory lock of that name as long as it lives.
  begun_by text not null,
  begun_at timestamp with time zone not null default now(),
  constraint begun_job_pkey PRIMARY KEY (id)
);

-- Messages between the processes of the last minutes, by number, so that each process notices those that it has not got.
create table bus_message (
  id bigint not null generated always as identity,
  -- Who has seen all transactions before some moment looks at the later ones only.
  transaction xid8 not null default pg_current_xact_id(),
  sent_at timestamp with time zone not null default clock_timestamp(),
  constraint bus_message_pkey PRIMARY KEY (id)
);

-- The working copy of the datamodel.
create table datamodel_head (
  singleton boolean not null default true,
  -- Counts its saves, so that two editors do not overwrite each other unseen; the other revisions do so for each part.
  revision bigint not null default 0,
  schema jsonb not null,
  masks jsonb not null,
  l10n jsonb not null,
  schema_revision bigint not null default 0,
  masks_revision bigint not null default 0,
  l10n_revision bigint not null default 0,
  constraint datamodel_head_pkey PRIMARY KEY (singleton),
  constraint datamodel_head_singleton_check CHECK (singleton)
);

-- Committed versions of the datamodel: schema, masks and localisation of one commit in one row. Never changed.
create table datamodel_version (
  version integer not null,
  committed_at timestamp with time zone not null,
  committed_by bigint,
  schema jsonb not null,
  masks jsonb not null,
  l10n jsonb not null,
  constraint datamodel_version_pkey PRIMARY KEY (version)
);

-- sign-ins by another server (OpenID Connect): what it takes to sign out there
create table directory_session (
  id uuid not null,
  kind text not null,
  provider text not null,
  user_id bigint not null,
  subject text not null,
  details jsonb not null,
  session_id uuid,
  expires_at timestamp with time zone not null,
  constraint directory_session_pkey PRIMARY KEY (id),
  constraint directory_session_session_id_fkey FOREIGN KEY (session_id) REFERENCES oauth_session(id) ON DELETE CASCADE,
  constraint directory_session_user_id_fkey FOREIGN KEY (user_id) REFERENCES "user"(id) ON DELETE CASCADE
);
CREATE INDEX directory_session_expires_idx ON public.directory_session USING btree (expires_at);
CREATE INDEX directory_session_session_idx ON public.directory_session USING btree (session_id);
CREATE INDEX directory_session_user_idx ON public.directory_session USING btree (user_id);

-- what directories have said of their users last
create table directory_word (
  user_id bigint not null,
  kind text not null,
  -- which server of its kind; empty: LDAP
  provider text not null,
  -- the name by which LDAP finds the entry, as it was typed
  name text,
  said_at timestamp with time zone not null,
  constraint directory_word_pkey PRIMARY KEY (user_id),
  constraint directory_word_kind_check CHECK ((kind = ANY (ARRAY['ldap'::text, 'openid'::text, 'saml'::text]))),
  constraint directory_word_user_id_fkey FOREIGN KEY (user_id) REFERENCES "user"(id) ON DELETE CASCADE
);

-- The event log. Rows are never changed; they go by DELETE /event and by the janitor.
create table event (
  id bigint not null default nextval('event_id_seq'::regclass),
  type text not null,
  -- Whether GET /event/poll tells it.
  pollable boolean not null,
  at timestamp with time zone not null,
  -- Who acted; null where the type or the base configuration says that no user is kept.
  user_id bigint,
  -- As it was at that moment.
  user_displayname text,
  user_reference text,
  remote_addr text,
  schema text,
  basetype text,
  objecttype text,
  object_id bigint,
  object_version bigint,
  system_object_id bigint,
  global_object_id text,
  info jsonb,
  -- The transitions that have led to it, first one first: [{kind, id}]; null: somebody has asked for it.
  cause jsonb,
  -- Posted by somebody who may not see what it is about: it is kept, and starts no transition.
  inert boolean not null default false,
  constraint event_pkey PRIMARY KEY (id)
);
CREATE INDEX event_at_idx ON public.event USING brin (at) WITH (pages_per_range='32');
CREATE INDEX event_object_idx ON public.event USING btree (system_object_id) WHERE (system_object_id IS NOT NULL);
CREATE INDEX event_pollable_idx ON public.event USING btree (id) WHERE pollable;

-- codes of second factors that were sent by mail, as keyed hashes
create table factor_mail_code (
  id bigint not null generated always as identity,
  flow_hash bytea not null,
  user_id bigint not null,
  hash bytea not null,
  sent_at timestamp with time zone not null default now(),
  expires_at timestamp with time zone not null,
  constraint factor_mail_code_pkey PRIMARY KEY (id),
  constraint factor_mail_code_user_id_fkey FOREIGN KEY (user_id) REFERENCES "user"(id) ON DELETE CASCADE
);
CREATE INDEX factor_mail_code_flow_idx ON public.factor_mail_code USING btree (flow_hash);
CREATE INDEX factor_mail_code_sent_idx ON public.factor_mail_code USING btree (sent_at);
CREATE INDEX factor_mail_code_user_idx ON public.factor_mail_code USING btree (user_id, sent_at);

-- a file as somebody uploaded it; its contents are versions
create table file (
  id bigint not null default nextval('file_id_seq'::regclass),
  parent_id bigint,
  reference text,
  upload_user bigint not null,
  uploaded_at timestamp with time zone not null default now(),
  filepath text not null,
  unlinked_at timestamp with time zone default now(),
  constraint file_pkey PRIMARY KEY (id),
  constraint file_parent_fkey FOREIGN KEY (parent_id) REFERENCES file(id) ON DELETE SET NULL,
  constraint file_reference_key UNIQUE (reference)
);
CREATE INDEX file_parent_idx ON public.file USING btree (parent_id) WHERE (parent_id IS NOT NULL);
CREATE INDEX file_unlinked_idx ON public.file USING btree (unlinked_at) WHERE (unlinked_at IS NOT NULL);

-- a content in a location, once under its hash; counted uses
create table file_blob (
  location_id bigint not null,
  sha256 bytea not null,
  size bigint not null,
  touched_at timestamp with time zone not null default now(),
  verified_at timestamp with time zone not null default now(),
  fixity text not null default 'ok'::text,
  constraint file_blob_pkey PRIMARY KEY (location_id, sha256),
  constraint file_blob_fixity_check CHECK ((fixity = ANY (ARRAY['ok'::text, 'damaged'::text, 'missing'::text]))),
  constraint file_blob_location_fkey FOREIGN KEY (location_id) REFERENCES file_location(id)
);
CREATE INDEX file_blob_damaged_idx ON public.file_blob USING btree (location_id, verified_at) WHERE (fixity <> 'ok'::text);
CREATE INDEX file_blob_touched_idx ON public.file_blob USING btree (touched_at);
CREATE INDEX file_blob_verified_idx ON public.file_blob USING btree (verified_at);

-- Files that are to be counted anew; entries are added and removed, never changed.
create table file_count_due (
  id bigint not null default nextval('file_count_due_id_seq'::regclass),
  file_id bigint not null,
  constraint file_count_due_pkey PRIMARY KEY (id)
);

-- Kinds of versions of files that are counted together.
create table file_count_kind (
  id integer not null default nextval('file_count_kind_id_seq'::regclass),
  original boolean not null,
  extension text not null,
  class text not null,
  constraint file_count_kind_pkey PRIMARY KEY (id),
  constraint file_count_kind_key UNIQUE (original, extension, class)
);

-- How many versions of files there are, and how large, by use and kind.
create table file_count_sum (
  usage_id integer not null,
  kind_id integer not null,
  count bigint not null,
  size bigint not null,
  constraint file_count_sum_pkey PRIMARY KEY (usage_id, kind_id)
);

-- Kinds of use: the object types and pools of the objects that have a file.
create table file_count_use (
  id integer not null default nextval('file_count_use_id_seq'::regclass),
  hash bytea not null,
  constraint file_count_use_pkey PRIMARY KEY (id),
  constraint file_count_use_hash_key UNIQUE (hash)
);

-- Object types and pools of a kind of use.
create table file_count_use_part (
  usage_id integer not null,
  objecttype integer not null,
  pool_id bigint,
  age smallint not null,
  constraint file_count_use_part_usage_fkey FOREIGN KEY (usage_id) REFERENCES file_count_use(id) ON DELETE CASCADE
);
CREATE INDEX file_count_use_part_objecttype_idx ON public.file_count_use_part USING btree (objecttype);
CREATE INDEX file_count_use_part_pool_idx ON public.file_count_use_part USING btree (pool_id);
CREATE INDEX file_count_use_part_usage_idx ON public.file_count_use_part USING btree (usage_id);

-- What stands in the sums of each file.
create table file_counted (
  file_id bigint not null,
  usage_id integer not null,
  kinds integer[] not null,
  sizes bigint[] not null,
  constraint file_counted_pkey PRIMARY KEY (file_id)
);

-- Files that pools, object types and the base configuration name (watermarks, profiles): they are kept.
create table file_holder (
  file_id bigint not null,
  pool_id bigint,
  objecttype integer,
  section text,
  constraint file_holder_file_fkey FOREIGN KEY (file_id) REFERENCES file(id),
  constraint file_holder_key UNIQUE NULLS NOT DISTINCT (file_id, pool_id, objecttype, section),
  constraint file_holder_objecttype_fkey FOREIGN KEY (objecttype) REFERENCES objecttype(id) ON DELETE CASCADE,
  constraint file_holder_one_check CHECK ((num_nonnulls(pool_id, objecttype, section) = 1)),
  constraint file_holder_pool_fkey FOREIGN KEY (pool_id) REFERENCES pool(id) ON DELETE CASCADE
);
CREATE INDEX file_holder_pool_idx ON public.file_holder USING btree (pool_id) WHERE (pool_id IS NOT NULL);

-- Keys of the signatures in addresses of files, sealed with the secret key.
create table file_key (
  id integer not null generated by default as identity,
  -- Sealed; 32 bytes: one of an earlier release, as it is, until the next start.
  key bytea not null,
  created_at timestamp with time zone not null default now(),
  -- Signs no more; what it has signed holds until then at most. Null: signs.
  until timestamp with time zone,
  constraint file_key_pkey PRIMARY KEY (id)
);

-- Hashes of what pictures look like, by which others that look alike are found.
create table file_likeness (
  file_id bigint not null,
  made_of bytea not null,
  hash bigint,
  bands integer[] generated always as (
CASE
    WHEN (hash IS NOT NULL) THEN ARRAY[(((hash >> 48) & (65535)::bigint))::integer, (65536 + (((hash >> 32) & (65535)::bigint))::integer), (131072 + (((hash >> 16) & (65535)::bigint))::integer), (196608 + ((hash & (65535)::bigint))::integer)]
    ELSE NULL::integer[]
END) stored,
  constraint file_likeness_pkey PRIMARY KEY (file_id),
  constraint file_likeness_file_fkey FOREIGN KEY (file_id) REFERENCES file(id) ON DELETE CASCADE
);
CREATE INDEX file_likeness_bands_idx ON public.file_likeness USING gin (bands);

-- where contents lie: a folder or a bucket
create table file_location (
  id bigint not null default nextval('file_location_id_seq'::regclass),
  created_at timestamp with time zone not null default now(),
  name text not null,
  kind text not null,
  prefix text not null default ''::text,
  config jsonb not null,
  allow_purge boolean not null default false,
  read_only boolean not null default false,
  constraint file_location_pkey PRIMARY KEY (id),
  constraint file_location_kind_check CHECK ((kind = ANY (ARRAY['file'::text, 's3'::text, 'remote'::text]))),
  constraint file_location_name_key UNIQUE (name)
);

-- EXIF, IPTC, XMP and other tags of files.
create table file_metadata (
  file_id bigint not null,
  tags jsonb not null,
  read_at timestamp with time zone not null default now(),
  constraint file_metadata_pkey PRIMARY KEY (file_id),
  constraint file_metadata_file_fkey FOREIGN KEY (file_id) REFERENCES file(id) ON DELETE CASCADE
);

-- Runs that bring contents of files from one location to another, with their progress.
create table file_move (
  id bigint not null default nextval('file_move_id_seq'::regclass),
  started_at timestamp with time zone not null default now(),
  finished_at timestamp with time zone,
  user_id bigint not null,
  from_id bigint not null,
  to_id bigint not null,
  contents text not null,
  status text not null default 'running'::text,
  error text,
  up_to bytea not null default '\x'::bytea,
  pass_moved bigint not null default 0,
  total bigint not null,
  total_size bigint not null,
  moved bigint not null default 0,
  moved_size bigint not null default 0,
  failed bigint not null default 0,
  constraint file_move_pkey PRIMARY KEY (id),
  constraint file_move_contents_check CHECK ((contents = ANY (ARRAY['all'::text, 'originals'::text, 'versions'::text]))),
  constraint file_move_status_check CHECK ((status = ANY (ARRAY['running'::text, 'done'::text, 'stopped'::text, 'failed'::text])))
);
CREATE UNIQUE INDEX file_move_running_idx ON public.file_move USING btree (status) WHERE (status = 'running'::text);

-- Where on the web contents lie that were not copied, each under its hash.
create table file_remote (
  location_id bigint not null default 0,
  sha256 bytea not null,
  -- As it is shown: without secrets.
  url text not null,
  etag text,
  created_at timestamp with time zone not null default now(),
  -- The whole address, sealed with the secret key, where url is not all of it.
  sealed bytea,
  constraint file_remote_pkey PRIMARY KEY (location_id, sha256, url),
  constraint file_remote_blob_fkey FOREIGN KEY (location_id, sha256) REFERENCES file_blob(location_id, sha256) ON DELETE CASCADE
);

-- Renditions of files: which there are to be, and how far that is.
create table file_rendition (
  file_id bigint not null,
  name text not null,
  status text not null,
  reason text,
  needs text,
  recipe_hash text,
  made_of bytea,
  attempts integer not null default 0,
  status_at timestamp with time zone not null default now(),
  percent smallint not null default 0,
  constraint file_rendition_pkey PRIMARY KEY (file_id, name),
  constraint file_rendition_file_fkey FOREIGN KEY (file_id) REFERENCES file(id) ON DELETE CASCADE,
  constraint file_rendition_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'processing'::text, 'done'::text, 'failed'::text, 'not_produced'::text, 'too_small'::text, 'unmarked'::text])))
);
CREATE INDEX file_rendition_needs_idx ON public.file_rendition USING btree (needs) WHERE (needs IS NOT NULL);

-- Runs through all files that renew renditions, with their progress.
create table file_resync (
  id bigint not null default nextval('file_resync_id_seq'::regclass),
  started_at timestamp with time zone not null default now(),
  finished_at timestamp with time zone,
  user_id bigint,
  up_to bigint not null default 0,
  total bigint not null,
  checked bigint not null default 0,
  queued bigint not null default 0,
  removed bigint not null default 0,
  marks boolean not null default false,
  constraint file_resync_pkey PRIMARY KEY (id)
);

-- Texts of documents, for the search.
create table file_text (
  file_id bigint not null,
  text text not null,
  cut boolean not null default false,
  read_at timestamp with time zone not null default now(),
  constraint file_text_pkey PRIMARY KEY (file_id),
  constraint file_text_file_fkey FOREIGN KEY (file_id) REFERENCES file(id) ON DELETE CASCADE
);

-- Uploads in pieces, until a day after something last came.
create table file_upload (
  id uuid not null default gen_random_uuid(),
  user_id bigint not null,
  location_id bigint not null,
  filename text not null,
  size bigint not null,
  received bigint not null default 0,
  reference text,
  parent_id bigint,
  file_id bigint,
  created_at timestamp with time zone not null default now(),
  touched_at timestamp with time zone not null default now(),
  -- How many pieces have come.
  pieces integer not null default 0,
  constraint file_upload_pkey PRIMARY KEY (id),
  constraint file_upload_location_fkey FOREIGN KEY (location_id) REFERENCES file_location(id) ON DELETE CASCADE
);
CREATE INDEX file_upload_touched_idx ON public.file_upload USING btree (touched_at);
CREATE INDEX file_upload_user_idx ON public.file_upload USING btree (user_id) WHERE (file_id IS NULL);

-- Pieces of uploads, each a content under its own hash.
create table file_upload_part (
  upload_id uuid not null,
  start bigint not null,
  location_id bigint not null,
  sha256 bytea not null,
  constraint file_upload_part_pkey PRIMARY KEY (upload_id, start),
  constraint file_upload_part_blob_fkey FOREIGN KEY (location_id, sha256) REFERENCES file_blob(location_id, sha256),
  constraint file_upload_part_upload_fkey FOREIGN KEY (upload_id) REFERENCES file_upload(id) ON DELETE CASCADE
);
CREATE INDEX file_upload_part_blob_idx ON public.file_upload_part USING btree (location_id, sha256);

-- objects that have a file, by column: who may see it, and whether it may go
create table file_use (
  file_id bigint not null,
  system_object_id bigint not null,
  column_id integer not null,
  latest boolean not null,
  -- The version of the object that does not have the file any more; null while the latest one has it.
  replaced_by integer,
  constraint file_use_pkey PRIMARY KEY (file_id, system_object_id, column_id),
  constraint file_use_file_fkey FOREIGN KEY (file_id) REFERENCES file(id),
  constraint file_use_replaced_check CHECK ((latest = (replaced_by IS NULL)))
);
CREATE INDEX file_use_former_idx ON public.file_use USING btree (system_object_id, file_id, column_id) WHERE (NOT latest);
CREATE INDEX file_use_object_idx ON public.file_use USING btree (system_object_id);

-- what a file can be had as: the original, later renditions; each has a content
create table file_version (
  file_id bigint not null,
  name text not null,
  location_id bigint not null,
  sha256 bytea not null,
  size bigint not null,
  extension text not null,
  class text not null,
  mime_type text not null,
  status text not null,
  status_at timestamp with time zone not null default now(),
  created_at timestamp with time zone not null default now(),
  metadata jsonb not null default '{}'::jsonb,
  manual boolean not null default false,
  constraint file_version_pkey PRIMARY KEY (file_id, name),
  constraint file_version_blob_fkey FOREIGN KEY (location_id, sha256) REFERENCES file_blob(location_id, sha256),
  constraint file_version_file_fkey FOREIGN KEY (file_id) REFERENCES file(id) ON DELETE CASCADE
);
CREATE INDEX file_version_blob_idx ON public.file_version USING btree (location_id, sha256);

-- Groups of users.
create table "group" (
  id bigint not null generated by default as identity,
  version integer not null default 1,
  type text not null,
  name text,
  reference text,
  displayname jsonb not null default '{}'::jsonb,
  profile jsonb not null default '{}'::jsonb,
  -- Types of users that are in the group without being put there: what makes system groups.
  member_types text[] not null default '{}'::text[],
  system_rights jsonb not null default '{}'::jsonb,
  acl jsonb not null default '[]'::jsonb,
  pseudonymization jsonb not null default '{}'::jsonb,
  auth_method_group_maps jsonb not null default '{}'::jsonb,
  -- Networks (CIDR) in which the membership counts; none: everywhere.
  ip_subnet_filter text[] not null default '{}'::text[],
  -- Turns ip_subnet_filter round.
  ip_subnet_filter_exclude boolean not null default false,
  two_fa_required boolean not null default false,
  owner_user bigint,
  owner_group bigint,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint group_pkey PRIMARY KEY (id),
  constraint group_name_key UNIQUE (name),
  constraint group_reference_key UNIQUE (reference)
);

-- Objects whose search document is out of date, perhaps several times. Rows are added and removed, never changed.
create table index_queue (
  system_object_id bigint not null,
  -- Tells a later change from the one that is being indexed.
  seq bigint not null default nextval('index_queue_seq'::regclass),
  -- 0 saves, 1 objects that link to a changed one, 2 a reindex.
  priority smallint not null default 0,
  moved boolean not null default false,
  -- Queued with many others: entries of few come first.
  bulk boolean not null default false,
  constraint index_queue_pkey PRIMARY KEY (system_object_id, seq)
);
CREATE INDEX index_queue_moved_idx ON public.index_queue USING btree (system_object_id) WHERE moved;
CREATE INDEX index_queue_order_idx ON public.index_queue USING btree (priority, bulk, seq);

-- Changed objects whose dependents still have to be queued for the index, a part at a time.
create table index_spread (
  -- l: those that link to it; c: those right below it in a hierarchy.
  kind "char" not null,
  id bigint not null,
  seq bigint not null default nextval('index_queue_seq'::regclass),
  -- Dependents up to here are queued: the column of the link, and the object.
  after_column integer not null default 0,
  after_id bigint not null default 0,
  -- How far it stands below the object that was moved.
  depth integer not null default 0,
  constraint index_spread_pkey PRIMARY KEY (kind, id)
);
CREATE INDEX index_spread_order_idx ON public.index_spread USING btree (kind, seq);

-- Who this database is; the data folder has the same name written down.
create table instance (
  id uuid not null default gen_random_uuid(),
  one boolean not null default true,
  constraint instance_pkey PRIMARY KEY (id),
  constraint instance_one_check CHECK (one),
  constraint instance_one_key UNIQUE (one)
);

-- browsers that stay signed in, by the hash of their cookie
create table keep_login (
  hash bytea not null,
  browser_hash bytea not null,
  user_id bigint not null,
  created_at timestamp with time zone not null default now(),
  expires_at timestamp with time zone not null,
  -- counts only in a cookie whose name begins with __Host-
  host_cookie boolean not null default false,
  constraint keep_login_pkey PRIMARY KEY (hash),
  constraint keep_login_user_id_fkey FOREIGN KEY (user_id) REFERENCES "user"(id) ON DELETE CASCADE
);
CREATE INDEX keep_login_expires_idx ON public.keep_login USING btree (expires_at);
CREATE INDEX keep_login_user_idx ON public.keep_login USING btree (user_id);

-- networks, by their sha256, from which the secret of a client was right
create table known_client_source (
  client_id text not null,
  hash bytea not null,
  seen_at timestamp with time zone not null default now(),
  constraint known_client_source_pkey PRIMARY KEY (client_id, hash)
);

-- Browsers and networks from which a user has signed in, as sha256.
create table known_source (
  user_id bigint not null,
  hash bytea not null,
  seen_at timestamp with time zone not null,
  constraint known_source_pkey PRIMARY KEY (user_id, hash),
  constraint known_source_user_id_fkey FOREIGN KEY (user_id) REFERENCES "user"(id) ON DELETE CASCADE
);

-- sign-ins on the pages that are not finished, for a quarter of an hour
create table login_flow (
  id_hash bytea not null,
  browser_hash bytea not null,
  client_id text not null,
  redirect_uri text not null,
  redirect_uri_given boolean not null,
  state text not null,
  scopes text[] not null,
  code_challenge text,
  keep_login boolean not null default false,
  bound_browser_hash bytea,
  user_id bigint,
  method text,
  login text,
  remote_addr text not null default ''::text,
  user_agent text,
  steps_done text[] not null default '{}'::text[],
  notes jsonb not null default '{}'::jsonb,
  failures integer not null default 0,
  action_code_hash bytea,
  action_secret_hash bytea,
  action_expires_at timestamp with time zone,
  created_at timestamp with time zone not null default now(),
  expires_at timestamp with time zone not null,
  constraint login_flow_pkey PRIMARY KEY (id_hash),
  constraint login_flow_action_key UNIQUE (action_code_hash),
  constraint login_flow_user_id_fkey FOREIGN KEY (user_id) REFERENCES "user"(id) ON DELETE CASCADE
);
CREATE INDEX login_flow_expires_idx ON public.login_flow USING btree (expires_at);
CREATE INDEX login_flow_user_idx ON public.login_flow USING btree (user_id);

-- Mails that wait for the hour that their reader has chosen (`mail_schedule`), and go out together.
create table mail_batch (
  id bigint not null generated always as identity,
  user_id bigint not null,
  -- Names the mail: queued twice, it is sent once.
  key text not null,
  mail jsonb not null,
  queued_at timestamp with time zone not null default now(),
  constraint mail_batch_pkey PRIMARY KEY (id),
  constraint mail_batch_key UNIQUE (key)
);
CREATE INDEX mail_batch_user_idx ON public.mail_batch USING btree (user_id, id);

-- Messages that administrators have written for the members of groups.
create table message (
  id bigint not null generated by default as identity,
  version integer not null default 1,
  reference text,
  title jsonb not null,
  message jsonb not null,
  confirmation jsonb not null default '{}'::jsonb,
  -- Where a front end shows it; null: it is shown at sign-in.
  webfrontend_type text,
  webfrontend_props jsonb not null default '{}'::jsonb,
  confirm_every_version boolean not null default false,
  show_always boolean not null default false,
  client_ids text[] not null default '{}'::text[],
  start_time timestamp with time zone,
  end_time timestamp with time zone,
  -- Addressed to no group in particular.
  for_everybody boolean not null default true,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint message_pkey PRIMARY KEY (id),
  constraint message_reference_key UNIQUE (reference),
  constraint message_window_check CHECK (((start_time IS NULL) OR (end_time IS NULL) OR (start_time <= end_time)))
);

-- Which version of a message somebody has confirmed, or, where it asks for nothing, has seen.
create table message_confirmation (
  user_id bigint not null,
  message_id bigint not null,
  version integer not null,
  confirmed_at timestamp with time zone not null default now(),
  constraint message_confirmation_pkey PRIMARY KEY (user_id, message_id, version),
  constraint message_confirmation_message_id_fkey FOREIGN KEY (message_id) REFERENCES message(id) ON DELETE CASCADE,
  constraint message_confirmation_user_id_fkey FOREIGN KEY (user_id) REFERENCES "user"(id) ON DELETE CASCADE
);
CREATE INDEX message_confirmation_message_idx ON public.message_confirmation USING btree (message_id);

-- Groups that a message is addressed to.
create table message_group (
  message_id bigint not null,
  group_id bigint not null,
  constraint message_group_pkey PRIMARY KEY (message_id, group_id),
  constraint message_group_group_id_fkey FOREIGN KEY (group_id) REFERENCES "group"(id) ON DELETE CASCADE,
  constraint message_group_message_id_fkey FOREIGN KEY (message_id) REFERENCES message(id) ON DELETE CASCADE
);
CREATE INDEX message_group_group_idx ON public.message_group USING btree (group_id);

-- authorization codes, hashed; a used one is kept for a while to notice its second use
create table oauth_code (
  hash bytea not null,
  client_id text not null,
  redirect_uri text not null,
  redirect_uri_given boolean not null,
  scopes text[] not null,
  code_challenge text,
  browser_hash bytea,
  user_id bigint not null,
  method text not null,
  login text,
  remote_addr text not null,
  user_agent text,
  issued_at timestamp with time zone not null default now(),
  expires_at timestamp with time zone not null,
  used_at timestamp with time zone,
  session_id uuid,
  two_factor text,
  -- the sign-in by another server that the code came of; null: none
  directory_session uuid,
  constraint oauth_code_pkey PRIMARY KEY (hash),
  constraint oauth_code_session_id_fkey FOREIGN KEY (session_id) REFERENCES oauth_session(id) ON DELETE CASCADE,
  constraint oauth_code_user_id_fkey FOREIGN KEY (user_id) REFERENCES "user"(id) ON DELETE CASCADE
);
CREATE INDEX oauth_code_expires_idx ON public.oauth_code USING btree (expires_at);
CREATE INDEX oauth_code_session_idx ON public.oauth_code USING btree (session_id);
CREATE INDEX oauth_code_user_idx ON public.oauth_code USING btree (user_id);

-- One sign-in: what its tokens have in common. Revoking it ends all of them.
create table oauth_session (
  id uuid not null,
  user_id bigint not null,
  client_id text not null,
  scopes text[] not null,
  method text not null,
  -- sha256 of the browser id that must come with its tokens; null: any.
  browser_hash bytea,
  authenticated_at timestamp with time zone not null default now(),
  expires_at timestamp with time zone not null,
  revoked_at timestamp with time zone,
  remote_addr text not null default ''::text,
  user_agent text,
  last_used_at timestamp with time zone not null default now(),
  two_factor text,
  constraint oauth_session_pkey PRIMARY KEY (id),
  constraint oauth_session_user_id_fkey FOREIGN KEY (user_id) REFERENCES "user"(id) ON DELETE CASCADE
);
CREATE INDEX oauth_session_browser_idx ON public.oauth_session USING btree (browser_hash) WHERE (browser_hash IS NOT NULL);
CREATE INDEX oauth_session_expires_idx ON public.oauth_session USING btree (expires_at);
CREATE INDEX oauth_session_user_idx ON public.oauth_session USING btree (user_id);

-- Tokens as sha256 only. A refresh token that was used stays until it expires: presenting it again gives a theft away.
create table oauth_token (
  hash bytea not null,
  -- a(ccess) or r(efresh).
  kind "char" not null,
  session_id uuid not null,
  scopes text[] not null,
  issued_at timestamp with time zone not null default now(),
  expires_at timestamp with time zone not null,
  used_at timestamp with time zone,
  successor_seed bytea,
  constraint oauth_token_pkey PRIMARY KEY (hash),
  constraint oauth_token_session_id_fkey FOREIGN KEY (session_id) REFERENCES oauth_session(id) ON DELETE CASCADE
);
CREATE INDEX oauth_token_session_idx ON public.oauth_token USING btree (session_id);

-- One row for each object that is not purged, the trash included: what every access looks at first. The content is in object_version.
create table object (
  system_object_id bigint not null,
  -- Table id of the object type.
  objecttype integer not null,
  -- _id on the wire: unique within the object type.
  id bigint not null,
  -- The latest version; its content is the current one.
  version integer not null,
  uuid text not null,
  pool_id bigint,
  owner_user bigint,
  owner_group bigint,
  -- Ids of tag.
  tags integer[] not null default '{}'::integer[],
  -- Grants on this object; null: none.
  acl jsonb,
  -- System object ids: none or one in a hierarchy, any number in a polyhierarchy.
  parents bigint[] not null default '{}'::bigint[],
  -- Position among the children of a parent; null comes last, then by system_object_id.
  child_idx integer,
  -- _standard as last computed: what a link to this object shows.
  standard jsonb not null default '{}'::jsonb,
  created_at timestamp with time zone not null,
  created_by bigint,
  modified_at timestamp with time zone not null,
  -- Since when it is in the trash.
  deleted_at timestamp with time zone,
  -- Of the grants of its pools and its object type only sticky ones reach the object.
  private_acl boolean not null default false,
  constraint object_pkey PRIMARY KEY (system_object_id),
  constraint object_id_key UNIQUE (objecttype, id),
  constraint object_uuid_key UNIQUE (uuid)
);
CREATE INDEX object_acl_idx ON public.object USING gin (acl jsonb_path_ops) WHERE (acl IS NOT NULL);
CREATE INDEX object_deleted_idx ON public.object USING btree (deleted_at) WHERE (deleted_at IS NOT NULL);
CREATE INDEX object_parents_idx ON public.object USING gin (parents) WITH (fastupdate=off) WHERE (parents <> '{}'::bigint[]);
CREATE INDEX object_pool_idx ON public.object USING btree (pool_id) WHERE (pool_id IS NOT NULL);

-- Links of the latest versions: which object points where through which column. One row for each distinct triple.
create table object_link (
  to_id bigint not null,
  column_id integer not null,
  from_id bigint not null,
  constraint object_link_pkey PRIMARY KEY (to_id, column_id, from_id)
);

-- Ids of purged objects, so that no id is ever used twice.
create table object_tombstone (
  system_object_id bigint not null,
  objecttype integer not null,
  id bigint not null,
  uuid text not null,
  -- Null: purged by a release that did not keep it.
  purged_at timestamp with time zone,
  purged_by bigint,
  constraint object_tombstone_pkey PRIMARY KEY (system_object_id),
  constraint object_tombstone_id_key UNIQUE (objecttype, id)
);
CREATE INDEX object_tombstone_uuid_idx ON public.object_tombstone USING btree (uuid);

-- Values of unique keys of objects that are not in the trash: the primary key refuses the second one.
create table object_unique (
  key text not null,
  -- The values of the key as JSON, or sha256: and their hash where they are long.
  value text not null,
  system_object_id bigint not null,
  constraint object_unique_pkey PRIMARY KEY (key, value)
);

-- Objects whose values in object_unique are to be made anew at the next start.
create table object_unique_due (
  system_object_id bigint not null,
  constraint object_unique_due_pkey PRIMARY KEY (system_object_id)
);

-- Every version ever written. Rows go only when the object is purged; a commit of the datamodel may convert their values.
create table object_version (
  system_object_id bigint not null,
  version integer not null,
  -- i(nsert), u(pdate), d(elete), r(estore).
  operation "char" not null,
  at timestamp with time zone not null,
  by_user bigint,
  comment text,
  datamodel_version integer not null,
  pool_id bigint,
  owner_user bigint,
  owner_group bigint,
  tags integer[] not null default '{}'::integer[],
  acl jsonb,
  parents bigint[] not null default '{}'::bigint[],
  -- Values by column id, rows of nested tables by table id, so that old versions stay readable under later names.
  content jsonb not null,
  private_acl boolean not null default false,
  constraint object_version_pkey PRIMARY KEY (system_object_id, version)
);

-- Settings of object types.
create table objecttype (
  -- The table id of the datamodel.
  id integer not null,
  name text not null,
  version integer not null default 1,
  settings jsonb not null default '{}'::jsonb,
  constraint objecttype_pkey PRIMARY KEY (id)
);

-- passkeys of users: what a device has told of its key
create table passkey (
  id uuid not null default gen_random_uuid(),
  user_id bigint not null,
  credential_id bytea not null,
  public_key bytea not null,
  sign_count bigint not null,
  transports text[] not null default '{}'::text[],
  name text not null,
  backed_up boolean not null default false,
  created_at timestamp with time zone not null default now(),
  last_used_at timestamp with time zone,
  constraint passkey_pkey PRIMARY KEY (id),
  constraint passkey_credential_id_key UNIQUE (credential_id),
  constraint passkey_user_id_fkey FOREIGN KEY (user_id) REFERENCES "user"(id) ON DELETE CASCADE
);
CREATE INDEX passkey_user_idx ON public.passkey USING btree (user_id);

-- questions that passkeys have to sign, for five minutes
create table passkey_challenge (
  hash bytea not null,
  browser_hash bytea not null,
  user_id bigint,
  purpose text not null,
  expires_at timestamp with time zone not null,
  constraint passkey_challenge_pkey PRIMARY KEY (hash),
  constraint passkey_challenge_purpose_check CHECK ((purpose = ANY (ARRAY['setup'::text, 'proof'::text]))),
  constraint passkey_challenge_user_id_fkey FOREIGN KEY (user_id) REFERENCES "user"(id) ON DELETE CASCADE
);
CREATE INDEX passkey_challenge_expires_idx ON public.passkey_challenge USING btree (expires_at);
CREATE INDEX passkey_challenge_user_idx ON public.passkey_challenge USING btree (user_id);

-- Pools: containers of objects, as a tree.
create table pool (
  id bigint not null default nextval('pool_id_seq'::regclass),
  version integer not null default 1,
  -- Null only for the root pool.
  parent_id bigint,
  reference text,
  is_system boolean not null default false,
  owner_user bigint,
  owner_group bigint,
  contact_user bigint,
  contact_group bigint,
  name jsonb not null default '{}'::jsonb,
  shortname jsonb not null default '{}'::jsonb,
  description jsonb not null default '{}'::jsonb,
  comment text not null default ''::text,
  -- watermark, caption, janitor_policy, custom_data, mapping_*; absent is not set.
  settings jsonb not null default '{}'::jsonb,
  -- Grants on the pool and what is in it.
  acl jsonb not null default '[]'::jsonb,
  -- Grants of the pools above do not come down to it; the other private_ columns likewise.
  private_acl boolean not null default false,
  -- Which tags are used in it: [{id, enabled?, isDefault?}].
  tags jsonb not null default '[]'::jsonb,
  private_tags boolean not null default false,
  transitions jsonb not null default '[]'::jsonb,
  private_transitions boolean not null default false,
  -- Mask ids, best first, by table id of the object type.
  standard_masks jsonb not null default '{}'::jsonb,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint pool_pkey PRIMARY KEY (id),
  constraint pool_parent_check CHECK ((parent_id <> id)),
  constraint pool_parent_fkey FOREIGN KEY (parent_id) REFERENCES pool(id) DEFERRABLE INITIALLY DEFERRED,
  constraint pool_reference_key UNIQUE (reference) DEFERRABLE,
  constraint pool_root_check CHECK (((parent_id IS NOT NULL) OR (reference = 'system:root'::text)))
);
CREATE INDEX pool_parent_idx ON public.pool USING btree (parent_id);

-- What callers have used of quotas that count for an hour.
create table quota_use (
  quota text not null,
  -- A user (user 1), or the network of somebody without one (network 192.0.2.1).
  caller text not null,
  -- From then on counting begins anew, and the row may go.
  until timestamp with time zone not null,
  count bigint not null,
  bytes bigint not null,
  constraint quota_use_pkey PRIMARY KEY (quota, caller)
);
CREATE INDEX quota_use_until_idx ON public.quota_use USING btree (until);

-- orders to index objects anew that are not carried out; the log is told when they are
create table reindex_run (
  id bigint not null generated always as identity,
  -- done when no entry of a reindex up to this one waits in index_queue
  until_seq bigint not null,
  block boolean not null,
  -- version of the datamodel when it was ordered
  datamodel integer not null,
  began_at timestamp with time zone not null default now(),
  constraint reindex_run_pkey PRIMARY KEY (id)
);

-- Rights that administrators have put together; a change reaches the grants made from them.
create table right_preset (
  id bigint not null generated by default as identity,
  version integer not null default 1,
  context text not null,
  "position" integer not null default 0,
  displayname jsonb not null default '{}'::jsonb,
  description jsonb not null default '{}'::jsonb,
  -- What a grant takes over: rights, tagfilter, default_expiration_hours, share_url.
  terms jsonb not null,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint right_preset_pkey PRIMARY KEY (id),
  constraint right_preset_context_check CHECK ((context = ANY (ARRAY['object'::text, 'collection'::text])))
);

-- SAML assertions that were used, until they expire
create table saml_used_assertion (
  hash bytea not null,
  expires_at timestamp with time zone not null,
  constraint saml_used_assertion_pkey PRIMARY KEY (hash)
);
CREATE INDEX saml_used_assertion_expires_idx ON public.saml_used_assertion USING btree (expires_at);

-- What search_document.access says of no people: object type, pool, tags, private permissions, kinds of files. Never changed; numbers ascend in the order in which they are there for others.
create table search_access_set (
  id integer not null generated always as identity,
  key uuid not null,
  access tsvector not null,
  constraint search_access_set_pkey PRIMARY KEY (id),
  constraint search_access_set_key_key UNIQUE (key)
);

-- The search index: one row for each object that is not purged. What is read for every match stands first, the rest out of line.
create table search_document (
  id bigint not null,
  objecttype integer not null,
  deleted boolean not null,
  created_at timestamp with time zone not null,
  modified_at timestamp with time zone not null,
  -- When a grant on the object begins or ends: then its lexemes are out of date.
  valid_until timestamp with time zone,
  -- Ids of search_facet_set, by place (search_slot).
  facets integer[] not null storage main,
  -- Binary sort keys by place, of columns that results list; far_keys has those of the others.
  sort_keys bytea[] not null storage main,
  -- Words of the title (weight A) and the subtitle (B), for the score.
  names tsvector not null storage main,
  -- Hash of the whole document: what did not change is not written again.
  digest uuid not null,
  -- Hash of what objects that link to this one take over from it.
  shown bigint not null,
  far_keys bytea[] not null storage external,
  lexemes tsvector not null storage external,
  -- Those of the lexemes that say where the object is, whose, how tagged and who may read it.
  access tsvector not null default ''::tsvector storage main,
  -- When the document became what it is; ascending with every batch of the index.
  changed_at timestamp with time zone not null default now(),
  -- Hash of what says who may see the object: access, object type, trash.
  place bigint not null default 0,
  -- Number of what access says besides in search_access_set; 0: not known yet.
  access_set integer not null default 0,
  -- Number of what access says of people in search_people_set; 0: not known yet.
  people_set integer not null default 0,
  -- Hash of the objects that it stands right below; null: not known.
  parents_hash bigint,
  constraint search_document_pkey PRIMARY KEY (id)
) with (autovacuum_vacuum_insert_scale_factor=0.05, toast_tuple_target=1200);
CREATE INDEX search_document_access_set_idx ON public.search_document USING btree (access_set);
CREATE INDEX search_document_changed_idx ON public.search_document USING btree (changed_at, id);
CREATE INDEX search_document_created_idx ON public.search_document USING btree (created_at);
CREATE INDEX search_document_lexemes_idx ON public.search_document USING gin (lexemes) WITH (gin_pending_list_limit='2048');
CREATE INDEX search_document_modified_idx ON public.search_document USING btree (modified_at);
CREATE INDEX search_document_people_set_idx ON public.search_document USING btree (people_set);
CREATE INDEX search_document_valid_until_idx ON public.search_document USING btree (valid_until) WHERE (valid_until IS NOT NULL);

-- Sets of facet values that objects have: link targets with their ancestors, or labels. Never changed.
create table search_facet_set (
  id integer not null generated always as identity,
  field text not null,
  key uuid not null,
  ids bigint[],
  labels text[],
  constraint search_facet_set_pkey PRIMARY KEY (id),
  constraint search_facet_set_key_key UNIQUE (key)
);

-- Objects that could not be indexed; they are tried again when they change or are indexed anew.
create table search_failure (
  id bigint not null,
  error text not null,
  at timestamp with time zone not null default now(),
  -- How often indexing has failed since it last succeeded.
  attempts integer not null default 1,
  -- When it is tried again, unless the object changes before.
  retry_at timestamp with time zone not null default now(),
  constraint search_failure_pkey PRIMARY KEY (id)
);

-- Rows of nested tables, for conditions that must hold in one row.
create table search_nested (
  id bigint not null,
  -- Number of the row within its object; parent is the row that it stands in, 0 the object itself.
  "row" integer not null,
  parent integer not null,
  lexemes tsvector not null
);
CREATE INDEX search_nested_id_idx ON public.search_nested USING btree (id);
CREATE INDEX search_nested_lexemes_idx ON public.search_nested USING gin (lexemes) WITH (gin_pending_list_limit='1024');

-- What search_document.access says of people: owner, grants on the object, uploaders of its files. Never changed; numbers ascend in the order in which they are there for others.
create table search_people_set (
  id integer not null generated always as identity,
  key uuid not null,
  access tsvector not null,
  constraint search_people_set_pkey PRIMARY KEY (id),
  constraint search_people_set_key_key UNIQUE (key)
);
CREATE INDEX search_people_set_access_idx ON public.search_people_set USING gin (access);

-- Searches whose pages do not shift. Each ends by itself.
create table search_point (
  id uuid not null,
  -- No foreign key: a backup has users and no points, and a point goes by itself within an hour.
  user_id bigint not null,
  -- Whose share it is a part of: the user, or the network of a guest.
  caller text not null,
  -- Digest of the part of the request that says which objects, and in which order.
  search text not null,
  -- Number of hits; null: they are being collected.
  hits integer,
  -- Seconds that it lives after each use.
  keep_alive integer not null,
  ends_at timestamp with time zone not null,
  constraint search_point_pkey PRIMARY KEY (id)
);
CREATE INDEX search_point_ends_at_idx ON public.search_point USING btree (ends_at);

-- Hits of a point in time: a thousand system object ids in each part.
create table search_point_part (
  point_id uuid not null,
  part integer not null,
  ids bigint[] not null,
  constraint search_point_part_pkey PRIMARY KEY (point_id, part),
  constraint search_point_part_point_id_fkey FOREIGN KEY (point_id) REFERENCES search_point(id) ON DELETE CASCADE
);

-- Documents as they were until a moment ago, by which kept results are brought up to date.
create table search_previous_document (
  id bigint not null,
  objecttype integer not null,
  deleted boolean not null,
  created_at timestamp with time zone not null,
  modified_at timestamp with time zone not null,
  valid_until timestamp with time zone,
  facets integer[] not null storage main,
  sort_keys bytea[] not null storage main,
  names tsvector not null storage main,
  digest uuid not null,
  shown bigint not null,
  far_keys bytea[] not null storage external,
  lexemes tsvector not null storage external,
  access tsvector not null storage main,
  changed_at timestamp with time zone not null,
  place bigint not null,
  access_set integer not null,
  -- When the document changed or went, as search_document.changed_at of what came in its place.
  changed_until timestamp with time zone not null,
  people_set integer not null default 0,
  parents_hash bigint
) with (toast_tuple_target=1200, autovacuum_vacuum_scale_factor=0.5, autovacuum_vacuum_threshold=2000);
CREATE INDEX search_previous_document_changed_until_idx ON public.search_previous_document USING btree (changed_until);

-- Places of facets and sort keys in the arrays of search_document, by object type (0: all).
create table search_slot (
  objecttype integer not null,
  kind "char" not null,
  field text not null,
  slot integer not null,
  constraint search_slot_pkey PRIMARY KEY (objecttype, kind, field),
  constraint search_slot_slot_key UNIQUE (objecttype, kind, slot)
);

-- One row about the whole index.
create table search_state (
  singleton boolean not null default true,
  -- Counts the changes of the index, so that a kept result is known to be current.
  generation bigint not null default 0,
  -- While entries of index_queue up to this seq wait, only root may search.
  blocked_until bigint,
  -- How documents are built; when that changes, all are built anew.
  analysis text,
  -- Moment of the last batch; later than that of any batch before, whatever the clock says.
  changed_at timestamp with time zone not null default now(),
  -- What search_tombstone had until this moment is forgotten: who follows changes since an earlier one begins anew. Null: nothing is.
  followed_since timestamp with time zone,
  -- How often sets were removed: what was looked up before the last time may be gone.
  set_removals bigint not null default 0,
  -- When all sets that no document had any more were removed last.
  sets_pruned_at timestamp with time zone,
  -- Of batches up to this moment search_previous_document is not complete; null: of none.
  previous_since timestamp with time zone,
  -- Documents that were replaced or removed since the indexes of lexemes were built, which keep their places.
  rewritten bigint not null default 0,
  constraint search_state_pkey PRIMARY KEY (singleton),
  constraint search_state_singleton_check CHECK (singleton)
);

-- Words for wildcards. Words stay when the last object that has them is gone; they then find nothing.
create table search_term (
  -- 0: words of all texts; otherwise the id of a string column, with whole values.
  field integer not null,
  term text not null,
  constraint search_term_pkey PRIMARY KEY (field, term)
);
CREATE INDEX search_term_trigram_idx ON public.search_term USING gin (term gin_trgm_ops) WHERE (field = 0);

-- Who could see objects before they moved, were tagged otherwise or went: so that those who follow changes hear that they are gone.
create table search_tombstone (
  id bigint not null,
  place bigint not null,
  objecttype integer not null,
  access tsvector not null,
  -- When that ended, as search_document.changed_at.
  until timestamp with time zone not null,
  constraint search_tombstone_pkey PRIMARY KEY (id, place)
);
CREATE INDEX search_tombstone_until_idx ON public.search_tombstone USING btree (until, id);

-- A text sealed with the secret key that was used last, by which a start sees whether it has another one.
create table secret_key_check (
  one boolean not null default true,
  sealed bytea not null,
  constraint secret_key_check_pkey PRIMARY KEY (one),
  constraint secret_key_check_one_check CHECK (one)
);

-- Failures that block further attempts for some minutes.
create table sign_in_failure (
  -- HMAC-SHA256 of what is counted, with a key that follows from the secret key.
  counter bytea not null,
  failures integer not null,
  -- The user whose sign-ins (user:1) or second factors (factor:1) it blocks; null: of a network or client, or of a name that nobody has.
  about text,
  blocked_until timestamp with time zone,
  forget_at timestamp with time zone not null,
  constraint sign_in_failure_pkey PRIMARY KEY (counter)
);
CREATE INDEX sign_in_failure_about_idx ON public.sign_in_failure USING btree (about) WHERE (about IS NOT NULL);
CREATE INDEX sign_in_failure_forget_idx ON public.sign_in_failure USING btree (forget_at);

-- Tags of objects. Ids are never used again.
create table tag (
  id integer not null default nextval('tag_id_seq'::regclass),
  group_id integer not null,
  version integer not null default 1,
  "position" integer not null,
  displayname jsonb not null default '{}'::jsonb,
  description jsonb not null default '{}'::jsonb,
  frontend_prefs jsonb not null default '{}'::jsonb,
  enabled boolean not null,
  is_default boolean not null,
  -- A tag that a private pool takes over from above.
  sticky boolean not null,
  type text not null,
  displaytype text not null,
  reference text,
  shortname text,
  -- Grants on the tag; none: it is open to everybody who may write the object.
  acl jsonb not null default '[]'::jsonb,
  constraint tag_pkey PRIMARY KEY (id),
  constraint tag_displaytype_check CHECK ((displaytype = ANY (ARRAY['facet'::text, 'search'::text, 'detail'::text, 'editor'::text, 'hidden'::text]))),
  constraint tag_group_fkey FOREIGN KEY (group_id) REFERENCES tag_group(id),
  constraint tag_reference_key UNIQUE (reference) DEFERRABLE INITIALLY DEFERRED,
  constraint tag_shortname_key UNIQUE (shortname) DEFERRABLE INITIALLY DEFERRED,
  constraint tag_type_check CHECK ((type = ANY (ARRAY['individual'::text, 'all_versions'::text])))
);

-- Groups of tags.
create table tag_group (
  id integer not null default nextval('tag_group_id_seq'::regclass),
  version integer not null default 1,
  "position" integer not null,
  displayname jsonb not null default '{}'::jsonb,
  reference text,
  shortname text,
  -- choice: an object has at most one tag of the group.
  type text not null,
  constraint tag_group_pkey PRIMARY KEY (id),
  constraint tag_group_reference_key UNIQUE (reference) DEFERRABLE INITIALLY DEFERRED,
  constraint tag_group_shortname_key UNIQUE (shortname) DEFERRABLE INITIALLY DEFERRED,
  constraint tag_group_type_check CHECK ((type = ANY (ARRAY['checkbox'::text, 'choice'::text])))
);

-- Transitions of the workflow of the whole instance; pools and object types keep theirs in their settings.
create table transition (
  id integer not null default nextval('transition_id_seq'::regclass),
  version integer not null default 1,
  "position" integer not null,
  settings jsonb not null,
  constraint transition_pkey PRIMARY KEY (id)
);

-- How far transitions that wait for events have been run along the event log.
create table transition_event_cursor (
  singleton boolean not null default true,
  active boolean not null default false,
  last_id bigint not null default 0,
  constraint transition_event_cursor_pkey PRIMARY KEY (singleton),
  constraint transition_event_cursor_singleton_check CHECK (singleton)
);

-- Users. Columns are what rules and joins look at; the other fields of the record are in profile by their wire names.
create table "user" (
  id bigint not null generated by default as identity,
  version integer not null default 1,
  type text not null,
  login text,
  -- The login in the form in which two count as the same (NFKC, lower case); email_key likewise.
  login_key text,
  email text,
  email_key text,
  reference text,
  generated_displayname text not null,
  profile jsonb not null default '{}'::jsonb,
  database_languages text[] not null default '{}'::text[],
  login_disabled boolean not null default false,
  -- Whole days in UTC, both included.
  login_valid_from date,
  login_valid_to date,
  require_password_change boolean not null default false,
  -- PHC string of argon2id; null: cannot sign in with a password.
  password_hash text,
  system_rights jsonb not null default '{}'::jsonb,
  -- Grants on the user record.
  acl jsonb not null default '[]'::jsonb,
  owner_user bigint,
  owner_group bigint,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  archived_at timestamp with time zone,
  last_seen_at timestamp with time zone,
  -- Whether the address has to be confirmed; before that nobody can sign in.
  confirm_email boolean not null default false,
  confirm_email_sent_at timestamp with time zone,
  email_confirmed_at timestamp with time zone,
  welcome_email boolean not null default false,
  welcome_email_sent_at timestamp with time zone,
  account_uuid bytea,
  terms_version text,
  terms_accepted_at timestamp with time zone,
  picture_id bigint,
  constraint user_pkey PRIMARY KEY (id),
  constraint user_email_key UNIQUE (email_key),
  constraint user_login_key UNIQUE (login_key),
  constraint user_picture_fkey FOREIGN KEY (picture_id) REFERENCES file(id),
  constraint user_reference_key UNIQUE (reference)
);
CREATE INDEX user_picture_idx ON public."user" USING btree (picture_id) WHERE (picture_id IS NOT NULL);
CREATE INDEX user_updated_at_idx ON public."user" USING btree (updated_at);

-- second factors of users: apps for codes, recovery codes
create table user_factor (
  user_id bigint not null,
  -- sealed with the key of the instance (20 bytes: one of before, as it is, until the next start)
  totp_secret bytea,
  totp_enrolled_at timestamp with time zone,
  totp_last_step bigint not null default 0,
  recovery_hashes bytea[] not null default '{}'::bytea[],
  last_method text,
  passkey_handle bytea,
  constraint user_factor_pkey PRIMARY KEY (user_id),
  constraint user_factor_user_id_fkey FOREIGN KEY (user_id) REFERENCES "user"(id) ON DELETE CASCADE
);

-- Who was put into which group.
create table user_group (
  user_id bigint not null,
  group_id bigint not null,
  -- Kind of the directory that put the user there (ldap, sso); null: somebody did by hand.
  automatic text,
  automatic_at timestamp with time zone,
  constraint user_group_pkey PRIMARY KEY (user_id, group_id),
  constraint user_group_group_id_fkey FOREIGN KEY (group_id) REFERENCES "group"(id) ON DELETE CASCADE,
  constraint user_group_user_id_fkey FOREIGN KEY (user_id) REFERENCES "user"(id) ON DELETE CASCADE
);
CREATE INDEX user_group_group_idx ON public.user_group USING btree (group_id);

-- Logins and addresses: whose each of them is. Written by triggers of "user".
create table user_name (
  key text not null,
  user_id bigint not null,
  constraint user_name_pkey PRIMARY KEY (key),
  constraint user_name_user_id_fkey FOREIGN KEY (user_id) REFERENCES "user"(id) ON DELETE CASCADE
);
CREATE INDEX user_name_user_idx ON public.user_name USING btree (user_id);

-- Who was the first to have a login, address or id as a name, for good. Written by triggers of "user".
create table user_subject (
  -- sha256 of the name in the form of login_key
  hash bytea not null,
  user_id bigint not null,
  constraint user_subject_pkey PRIMARY KEY (hash)
);
CREATE INDEX user_subject_user_idx ON public.user_subject USING btree (user_id);
