-- Events about the end of tasks have the status that clients of the log know (DONE, ERROR, CANCELED), and a canceled run is one of
-- TASK_ERROR.
update event set
  type = case info ->> 'status' when 'canceled' then 'TASK_ERROR' else type end,
  info = info || jsonb_build_object('status', upper(info ->> 'status'))
    || case info ->> 'status' when 'canceled' then jsonb_build_object('error', info -> 'status_msg') else '{}'::jsonb end
where type in ('TASK', 'TASK_ERROR') and info ->> 'status' in ('done', 'error', 'canceled');
