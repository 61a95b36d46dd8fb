-- Points in time: the ids of the hits of a search in their order, as they were when it was opened. Pages are read from here, by any
-- process, while others write.
create table search_point (
  id uuid not null,
  user_id bigint not null,
  caller text not null,
  search text not null,
  hits integer,
  keep_alive integer not null,
  ends_at timestamptz not null,
  constraint search_point_pkey primary key (id)
);
comment on table search_point is 'Searches whose pages do not shift. Each ends by itself.';
comment on column search_point.user_id is 'No foreign key: a backup has users and no points, and a point goes by itself within an hour.';
comment on column search_point.caller is 'Whose share it is a part of: the user, or the network of a guest.';
comment on column search_point.search is 'Digest of the part of the request that says which objects, and in which order.';
comment on column search_point.hits is 'Number of hits; null: they are being collected.';
comment on column search_point.keep_alive is 'Seconds that it lives after each use.';
create index search_point_ends_at_idx on search_point (ends_at);

create table search_point_part (
  point_id uuid not null references search_point on delete cascade,
  part integer not null,
  ids bigint[] not null,
  constraint search_point_part_pkey primary key (point_id, part)
);
comment on table search_point_part is 'Hits of a point in time: a thousand system object ids in each part.';
