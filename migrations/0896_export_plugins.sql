-- Plugins rework exports: they hide files, and make files when these are fetched.
alter table export_file add column hidden boolean not null default false;
alter table export_file add column action text;
comment on column export_file.hidden is 'Only plugins are told of it.';
comment on column export_file.action is 'What the plugin of the export is asked for, which makes the file when it is fetched.';
comment on column export_file.source is 'Which version of which file it is, and what is to be made of it.';
