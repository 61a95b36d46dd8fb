-- What users of type email sign in with in place of a password; sealed with the key of the instance. They get it by mail,
-- each time the same one. Accounts of earlier releases get theirs when they are next saved.
alter table "user" add column account_uuid bytea;
