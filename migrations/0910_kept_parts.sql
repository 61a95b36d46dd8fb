-- Results of work may lie together in one content: a set of small ones is written, synchronised and fetched as one.
alter table kept_content add column start bigint not null default 0;
alter table kept_content add column digest bytea;
comment on column kept_content.sha256 is 'Of the content that lies in the location; of a part that of the whole.';
comment on column kept_content.start is 'Where it begins in that content.';
comment on column kept_content.digest is 'SHA-256 of a part; null: it is the whole.';
