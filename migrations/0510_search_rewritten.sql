-- How much of the indexes of lexemes is empty places: they are built anew when it is too much.
alter table search_state add column rewritten bigint not null default 0;
comment on column search_state.rewritten is 'Documents that were replaced or removed since the indexes of lexemes were built, which keep their places.';
