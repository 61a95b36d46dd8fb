-- Those of the lexemes that say where an object is, whose it is, how it is tagged and who may read it, at hand with each
-- match: which values of an object a search may use depends on them. Documents that were built before have none, so
-- nothing is shown by them until the index has been built anew, which the service does by itself.
alter table search_document add column access tsvector not null default '';
alter table search_document alter column access set storage main;
