-- Versions that were uploaded: no recipe replaces them.
alter table file_version add column manual boolean not null default false;
