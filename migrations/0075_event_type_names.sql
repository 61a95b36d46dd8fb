-- Event types have the names that clients of this interface know. Rows of the log keep their content and get the new name,
-- and so do the types that event transitions wait for.
create function pg_temp.event_type_name(old text) returns text language sql immutable as $$
  select case old
    when 'LOGIN' then 'USER_LOGIN'
    when 'LOGIN_FAILED' then 'USER_LOGIN_FAILED'
    when 'LOGOUT' then 'USER_LOGOUT'
    when 'TASK_DONE' then 'TASK'
    when 'UPLOAD_FILE' then 'FILE_UPLOAD'
    when 'UPLOAD_FILE_REMOTE' then 'FILE_UPLOAD_REMOTE'
    when 'UPLOAD_FILE_ERROR' then 'FILE_UPLOAD_ERROR'
    when 'DOWNLOAD_FILE' then 'FILE_DOWNLOAD'
    when 'DOWNLOAD_FILE_ERROR' then 'FILE_DOWNLOAD_ERROR'
    when 'DOWNLOAD_OBJECT' then 'OBJECT_DOWNLOAD'
    when 'DOWNLOAD_EXPORT' then 'EXPORT_DOWNLOAD'
    when 'DOWNLOAD_EXPORT_ERROR' then 'EXPORT_DOWNLOAD_ERROR'
    else old
  end
$$;

update event set type = pg_temp.event_type_name(type)
where type in ('LOGIN', 'LOGIN_FAILED', 'LOGOUT', 'TASK_DONE', 'UPLOAD_FILE', 'UPLOAD_FILE_REMOTE', 'UPLOAD_FILE_ERROR',
  'DOWNLOAD_FILE', 'DOWNLOAD_FILE_ERROR', 'DOWNLOAD_OBJECT', 'DOWNLOAD_EXPORT', 'DOWNLOAD_EXPORT_ERROR');

update transition set settings = jsonb_set(settings, '{eventTypes}', (
  select coalesce(jsonb_agg(distinct pg_temp.event_type_name(type)), '[]')
  from jsonb_array_elements_text(settings -> 'eventTypes') type
))
where jsonb_typeof(settings -> 'eventTypes') = 'array' and settings -> 'eventTypes' ?|
  array['LOGIN', 'LOGIN_FAILED', 'LOGOUT', 'TASK_DONE', 'UPLOAD_FILE', 'UPLOAD_FILE_REMOTE', 'UPLOAD_FILE_ERROR',
    'DOWNLOAD_FILE', 'DOWNLOAD_FILE_ERROR', 'DOWNLOAD_OBJECT', 'DOWNLOAD_EXPORT', 'DOWNLOAD_EXPORT_ERROR'];
