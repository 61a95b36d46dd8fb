-- The words of all texts of a user that searches know: what kind of user it is and its languages were missing, so a search for them
-- found nobody. As the index has exactly these words, callers who see all texts need no further look at the records.
set constraints all immediate;

drop index user_words_idx;
drop function user_words(text, text, text, text, jsonb);

create function user_words(type text, login text, email text, reference text, displayname text, languages text[], profile jsonb)
returns text[] language sql immutable parallel safe return
  record_words(type || ' ' || coalesce(login, '') || ' ' || coalesce(email, '') || ' ' || coalesce(reference, '') || ' '
    || coalesce(displayname, '') || ' ' || coalesce((select string_agg(each, ' ') from unnest(languages) as each), '') || ' '
    || coalesce((select string_agg(value, ' ') from jsonb_each_text(profile)
         where key <> all ('{frontend_prefs,custom_data,mail_schedule}')), ''));
comment on function user_words is 'The words of a user, for its index.';
create index user_words_idx on "user"
  using gin (user_words(type, login, email, reference, generated_displayname, database_languages, profile)) with (fastupdate = off);

-- Users that are listed and searched, by id: their number and their pages without a look at each record.
create index user_listed_idx on "user" (id) where archived_at is null and type <> all ('{anonymous,collection}'::text[]);

set constraints all deferred;
