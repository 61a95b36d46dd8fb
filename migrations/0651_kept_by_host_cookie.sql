-- A browser that was kept over https has a cookie whose name begins with __Host-, which no neighbouring host can put there. Those
-- from before are taken by the old name once more, and get the new one.
alter table keep_login add column host_cookie boolean not null default false;
comment on column keep_login.host_cookie is 'counts only in a cookie whose name begins with __Host-';
