-- The picture of a user: a file, which stays as long as a user has it.
alter table "user" add column picture_id bigint;
alter table "user" add constraint user_picture_fkey foreign key (picture_id) references file (id);
create index user_picture_idx on "user" (picture_id) where picture_id is not null;
