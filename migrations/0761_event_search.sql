-- Events are found by words, by who acted and by what they are about; the keys of `info` are words, its values are not.
-- Most texts are short and plain, and every change writes an event: with `record_words` for all of them 50,000 events took 2.7 s
-- in place of 0.2 s. The words are the same, as long ones are cut at 600 letters.
create function event_words(type text, schema text, basetype text, objecttype text, displayname text, remote_addr text, info jsonb)
returns text[] language plpgsql immutable parallel safe as $$
declare
  texts text := type || ' ' || coalesce(schema, '') || ' ' || coalesce(basetype, '') || ' ' || coalesce(objecttype, '') || ' '
    || coalesce(displayname, '') || ' ' || coalesce(remote_addr, '');
  keys text := coalesce(jsonb_path_query_array(info, '$.keyvalue().key', '{}', true)::text, '');
begin
  if length(texts) + length(keys) <= 600 and octet_length(texts) = length(texts) and octet_length(keys) = length(keys)
    and strpos(keys, '\') = 0 and texts !~ '[\x01-\x1f\x7f]' then
    return string_to_array(
      translate(lower(texts || ' ' || keys), '!"#''()*+,-./:;<=>?@[\]^_`{|}~', repeat(' ', 29)), ' ', '');
  end if;
  return record_words(texts || ' ' || coalesce((select string_agg(key, ' ')
    from jsonb_object_keys(case jsonb_typeof(info) when 'object' then info end) as key), ''));
end $$;
comment on function event_words is 'The words of an event, for its index.';
-- With a list of what is still to be sorted in: events are written far more often than searched.
create index event_words_idx on event
  using gin (event_words(type, schema, basetype, objecttype, user_displayname, remote_addr, info));
create index event_user_idx on event (user_id) where user_id is not null;
create index event_record_idx on event (object_id) where object_id is not null;
