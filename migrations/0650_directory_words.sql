-- When the directory of a user said last that it has them, so that passkeys, kept browsers and refresh tokens count no longer
-- than its word. Those who have signed in by one before keep the moment of that sign-in.
create table directory_word (
  user_id bigint not null,
  kind text not null,
  provider text not null,
  name text,
  said_at timestamptz not null,
  constraint directory_word_pkey primary key (user_id),
  constraint directory_word_user_id_fkey foreign key (user_id) references "user" (id) on delete cascade,
  constraint directory_word_kind_check check (kind in ('ldap', 'openid', 'saml'))
);
comment on table directory_word is 'what directories have said of their users last';
comment on column directory_word.provider is 'which server of its kind; empty: LDAP';
comment on column directory_word.name is 'the name by which LDAP finds the entry, as it was typed';

insert into directory_word (user_id, kind, provider, said_at)
  select distinct on (s.user_id) s.user_id, s.method, coalesce(d.provider, ''), s.authenticated_at
  from oauth_session s left join directory_session d on d.session_id = s.id
  where s.method in ('ldap', 'openid', 'saml') and (s.method = 'ldap' or d.provider is not null)
  order by s.user_id, s.authenticated_at desc;
