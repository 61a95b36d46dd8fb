-- Each part of the working copy counts its own saves: an editor who read the masks is not disturbed by one who saved
-- localised names.
alter table datamodel_head
  add column schema_revision bigint not null default 0,
  add column masks_revision bigint not null default 0,
  add column l10n_revision bigint not null default 0;
