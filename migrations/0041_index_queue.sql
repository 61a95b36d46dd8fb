-- Entries are only added and removed, never changed, so that nobody who saves waits for the indexer or the indexer for
-- a save: with one row per object, both wrote to the same rows. An object may stand here several times.
alter table index_queue drop constraint index_queue_pkey;
alter table index_queue add constraint index_queue_pkey primary key (system_object_id, seq);
