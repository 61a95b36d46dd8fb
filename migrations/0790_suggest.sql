-- Words that begin alike, shorter ones first: each length is one stretch of the index, so that nothing else is read.
create index search_term_length_idx on search_term (field, char_length(term), term);
