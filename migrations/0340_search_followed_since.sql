-- Who could see objects where they are no longer is forgotten after a while.
alter table search_state add column followed_since timestamptz;
comment on column search_state.followed_since is 'What search_former had until this moment is forgotten: who follows changes since an earlier one begins anew; null: nothing.';
