-- Groups that a directory has put a user into, at its last sign-in by it. Those it was put into by hand stay.
alter table user_group add column automatic text;
alter table user_group add column automatic_at timestamptz;
comment on column user_group.automatic is 'Kind of the directory that put the user there (ldap, sso); null: somebody did by hand.';
