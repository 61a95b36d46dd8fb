-- Whether an object has children is asked a thousand times in one page of results. Each look-up walked through all
-- entries that waited to be sorted in: 329 ms for 619 objects after an import, 1.3 ms without.
alter index object_parents_idx set (fastupdate = off);
select gin_clean_pending_list('object_parents_idx');
