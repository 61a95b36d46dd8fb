-- Events are found by words, by who acted and by what they are about; the keys of `info` are words, its values are not.
create function event_words(type text, schema text, basetype text, objecttype text, displayname text, remote_addr text, info jsonb)
returns text[] language sql immutable parallel safe return
  record_words(type || ' ' || coalesce(schema, '') || ' ' || coalesce(basetype, '') || ' ' || coalesce(objecttype, '') || ' '
    || coalesce(displayname, '') || ' ' || coalesce(remote_addr, '') || ' '
    || coalesce((select string_agg(key, ' ')
         from jsonb_object_keys(case jsonb_typeof(info) when 'object' then info end) as key), ''));
comment on function event_words is 'The words of an event, for its index.';
-- With a list of what is still to be sorted in: events are written far more often than searched.
create index event_words_idx on event
  using gin (event_words(type, schema, basetype, objecttype, user_displayname, remote_addr, info));
create index event_user_idx on event (user_id) where user_id is not null;
create index event_record_idx on event (object_id) where object_id is not null;
