-- Texts that repeat in most events. A search for words in one of these columns looks at its different values, of which there are few,
-- and finds the events that have one of them. Without the id the indexes are a tenth as large. Other statements, which compare in the
-- collation of the database, do not use them: without statistics PostgreSQL would believe that a type is as rare as a record.
create index event_type_idx on event (type collate "C");
create index event_basetype_idx on event (basetype collate "C") where basetype is not null;
create index event_objecttype_idx on event (objecttype collate "C") where objecttype is not null;

-- The order of events by time, for a page of the latest ones: the ranges that there were have no order.
drop index event_at_idx;
create index event_at_idx on event (at);
