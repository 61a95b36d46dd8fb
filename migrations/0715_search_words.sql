-- What a search reads of the past has the names of the field: tombstones of objects that have left a place, and the documents that
-- others have taken the place of.
alter table search_former rename to search_tombstone;
alter table search_tombstone rename constraint search_former_pkey to search_tombstone_pkey;
alter index search_former_until_idx rename to search_tombstone_until_idx;
alter table search_replaced rename to search_previous_document;
alter table search_previous_document rename column replaced_at to changed_until;
alter index search_replaced_at_idx rename to search_previous_document_changed_until_idx;
alter table search_state rename column replaced_since to previous_since;
comment on column search_state.followed_since is 'What search_tombstone had until this moment is forgotten: who follows changes since an earlier one begins anew. Null: nothing is.';
comment on column search_state.previous_since is 'Of batches up to this moment search_previous_document is not complete; null: of none.';
