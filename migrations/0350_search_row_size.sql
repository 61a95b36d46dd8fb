-- Half of all documents had their sort keys compressed, to come to the 512 bytes that a row was to have: a search took the
-- keys of each match out of that again, which was most of what sorting cost. Rows are a tenth larger without. Documents that
-- are there are stored so when they are written next.
alter table search_document set (toast_tuple_target = 1200);
