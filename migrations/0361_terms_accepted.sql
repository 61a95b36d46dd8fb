-- What people have agreed to when they made an account for themselves: which terms, and when.
alter table "user" add column terms_version text;
alter table "user" add column terms_accepted_at timestamptz;
