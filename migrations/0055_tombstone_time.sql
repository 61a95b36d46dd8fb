-- When and by whom objects are purged, from now on; unknown (null) for those that were purged before.
alter table object_tombstone add column purged_at timestamptz, add column purged_by bigint;
