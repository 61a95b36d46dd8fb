-- What callers have used of quotas that count for an hour. It may be lost by a crash: counting then begins anew.
create unlogged table quota_use (
  quota text not null,
  caller text not null,
  until timestamptz not null,
  count bigint not null,
  bytes bigint not null,
  primary key (quota, caller)
);
comment on table quota_use is 'What callers have used of quotas that count for an hour.';
comment on column quota_use.caller is 'A user (user 1), or the network of somebody without one (network 192.0.2.1).';
comment on column quota_use.until is 'From then on counting begins anew, and the row may go.';
create index quota_use_until_idx on quota_use (until);
