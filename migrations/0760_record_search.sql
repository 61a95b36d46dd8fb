-- Texts of records as searches compare them: case, accents and what stands between words do not count.
create function record_text(text) returns text language sql immutable strict parallel safe return
  ' ' || btrim(regexp_replace(
    normalize(
      replace(replace(replace(replace(
        translate(
          regexp_replace(
            lower(normalize($1, NFKD) collate pg_unicode_fast),
            '[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+',
            '', 'g'),
          'øłđðħŧıĸŋſς', 'olddhtiknsσ'),
        'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'), 'þ', 'th'),
      NFC) collate pg_unicode_fast,
    '[^[:alnum:]&%§$€]+', ' ', 'g'), ' ') || ' ';
comment on function record_text is 'The words of a text with one space around each: a phrase is a part of it.';

-- Longer words are cut, as an index takes no long ones.
create function record_words(text) returns text[] language sql immutable strict parallel safe return
  array(select distinct left(word, 600) from string_to_table(record_text($1), ' ') as word where word <> '');
comment on function record_words is 'The different words of a text.';

-- A text by language, or a list, as one text.
create function jsonb_texts(jsonb) returns text language sql immutable strict parallel safe return
  (select string_agg(value, ' ') from jsonb_each_text($1));
comment on function jsonb_texts is 'The texts of all languages together.';

create function pool_path(bigint) returns bigint[] language sql stable strict parallel safe
begin atomic
  with recursive up (id, parent_id, step) as (
    select id, parent_id, 0 from pool where id = $1
    union all
    select p.id, p.parent_id, up.step + 1 from up join pool p on p.id = up.parent_id
  )
  select array_agg(id order by step desc) from up;
end;
comment on function pool_path is 'Ids of pools from the root down to and including one.';

-- No index is made of a table with rows that are still to be checked, as all migrations of a new instance are one transaction.
set constraints all immediate;

-- Null counts as nothing; concat_ws is not immutable, as it takes values of any type.
create function collection_words(reference text, shortname text, uuid text, type text, displayname jsonb, description jsonb)
returns text[] language sql immutable parallel safe return
  record_words(coalesce(reference, '') || ' ' || coalesce(shortname, '') || ' ' || coalesce(uuid, '') || ' '
    || coalesce(type, '') || ' ' || coalesce(jsonb_texts(displayname), '') || ' ' || coalesce(jsonb_texts(description), ''));
comment on function collection_words is 'The words of a collection, for its index.';
create index collection_words_idx on collection
  using gin (collection_words(reference, shortname, uuid, type, displayname, description)) with (fastupdate = off);

create function user_words(login text, email text, reference text, displayname text, profile jsonb)
returns text[] language sql immutable parallel safe return
  record_words(coalesce(login, '') || ' ' || coalesce(email, '') || ' ' || coalesce(reference, '') || ' '
    || coalesce(displayname, '') || ' '
    || coalesce((select string_agg(value, ' ') from jsonb_each_text(profile)
         where key <> all ('{frontend_prefs,custom_data,mail_schedule}')), ''));
comment on function user_words is 'The words of a user, for its index.';
create index user_words_idx on "user" using gin (user_words(login, email, reference, generated_displayname, profile))
  with (fastupdate = off);

set constraints all deferred;
