-- Sort keys are as long as the texts now: indexes hold their beginnings, and are made anew when somebody asks for them.
do $$
declare
  old regclass;
begin
  for old in select indexrelid::regclass from pg_index i join pg_class c on c.oid = i.indexrelid
    where i.indrelid = 'search_document'::regclass and c.relname like 'search\_sort\_%'
  loop
    execute format('drop index %s', old);
  end loop;
end $$;
