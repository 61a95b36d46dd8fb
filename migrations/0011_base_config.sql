-- The base configuration: one row per section that differs from its defaults. `value` holds only what was set, in wire
-- form, so that defaults of a later release take effect.
create table base_config (
  section text not null,
  value jsonb not null,
  changed_at timestamptz not null default now(),
  changed_by bigint,
  constraint base_config_pkey primary key (section)
);
