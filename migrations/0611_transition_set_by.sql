-- Transitions know who has set them, and do no more than that person may do. Those that there are go on as before: as root,
-- who runs this service. Each is logged, so that an administrator finds them and can look through them.
create temporary table root_transition on commit drop as
  select (t->>'id')::int as id, (t->>'version')::int as version, t as settings
    from pool, jsonb_array_elements(transitions) as t
  union all
  select (t->>'id')::int, (t->>'version')::int, t
    from objecttype, jsonb_array_elements(coalesce(settings->'transitions', '[]')) as t
  union all
  select id, version, settings from transition;

update transition set settings = settings || '{"setBy": 1}';
update pool set transitions = (
    select jsonb_agg(t || '{"setBy": 1}' order by place) from jsonb_array_elements(transitions) with ordinality as x (t, place))
  where transitions <> '[]';
update objecttype set settings = jsonb_set(settings, '{transitions}', (
    select jsonb_agg(t || '{"setBy": 1}' order by place)
      from jsonb_array_elements(settings->'transitions') with ordinality as x (t, place)))
  where jsonb_array_length(coalesce(settings->'transitions', '[]')) > 0;

insert into event (type, pollable, at, schema, basetype, object_id, object_version, info)
select 'TRANSITION_UPDATE', true, now(), 'BASE', 'transition', id, version, jsonb_build_object(
    'type', settings->>'type',
    'operation_insert', coalesce(settings->'operations' ? 'INSERT', false),
    'operation_update', coalesce(settings->'operations' ? 'UPDATE', false),
    'operation_delete', coalesce(settings->'operations' ? 'DELETE', false),
    'comment', coalesce(settings->>'comment', ''))
  from root_transition order by id;
