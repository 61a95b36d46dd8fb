-- An upload in pieces has an end to them: each is a row and a content of its own. Those of one user that are open are counted.
alter table file_upload add column pieces int not null default 0;
comment on column file_upload.pieces is 'How many pieces have come.';
create index file_upload_user_idx on file_upload (user_id) where file_id is null;
