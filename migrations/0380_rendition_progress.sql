-- How much of a rendition is made, while it is being made: 0 to 99.
alter table file_rendition add column percent smallint not null default 0;
