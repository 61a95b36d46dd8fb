-- Texts that repeat in most events. A search for words in one of these columns looks at its different values, of which there are few,
-- and finds the events that have one of them. Without the id the indexes are a tenth as large.
create index event_type_idx on event (type);
create index event_basetype_idx on event (basetype) where basetype is not null;
create index event_objecttype_idx on event (objecttype) where objecttype is not null;
