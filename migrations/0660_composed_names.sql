-- Names are kept and compared in one form of Unicode (NFC): two that look alike are not two. What is there is brought into that
-- form, unless another one has the name already; both stay as they are then, and the start says which.
do $$
declare
  place record;
  clash record;
begin
  for place in select * from (values
      ('group', 'name'), ('group', 'reference'), ('user', 'reference'), ('pool', 'reference'), ('tag', 'reference'), ('tag', 'shortname'),
      ('tag_group', 'reference'), ('tag_group', 'shortname'), ('file', 'reference'), ('message', 'reference')) as t (tab, col)
  loop
    execute format(
      'update %1$I t set %2$I = normalize(%2$I, nfc) where %2$I is not nfc normalized and not exists (
         select from %1$I o where o.id <> t.id and normalize(o.%2$I, nfc) = normalize(t.%2$I, nfc)
           and (o.%2$I is nfc normalized or o.id < t.id))', place.tab, place.col);
    for clash in execute format(
      'select t.id, o.id as other, o.%2$I as name from %1$I t join %1$I o on o.%2$I = normalize(t.%2$I, nfc)
       where t.%2$I is not nfc normalized order by t.id', place.tab, place.col)
    loop
      raise warning 'the % of % % is that of %, written otherwise (%): give it another one',
        place.col, place.tab, clash.id, clash.other, clash.name;
    end loop;
  end loop;
end $$;

-- Objects whose unique values were made before: the start makes them anew.
create table object_unique_due (
  system_object_id bigint not null,
  constraint object_unique_due_pkey primary key (system_object_id)
);
comment on table object_unique_due is 'Objects whose values in object_unique are to be made anew at the next start.';
insert into object_unique_due
select u.system_object_id from object_unique u where u.value is not nfc normalized
union
-- A hash does not say what it was made of.
select u.system_object_id from object_unique u
join object o on o.system_object_id = u.system_object_id
join object_version v on v.system_object_id = o.system_object_id and v.version = o.version
where u.value like 'sha256:%' and v.content::text is not nfc normalized;
