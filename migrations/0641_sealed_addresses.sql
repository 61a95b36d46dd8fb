alter table file_remote add column sealed bytea;
comment on column file_remote.url is 'As it is shown: without secrets.';
comment on column file_remote.sealed is 'The whole address, sealed with the secret key, where url is not all of it.';
