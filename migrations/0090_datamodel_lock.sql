-- Keeps commits of the datamodel out until the transaction ends, and gives the version that is current until then. One
-- statement would read the version before it has the lock; each statement of a function reads anew.
create function datamodel_lock_shared(key bigint) returns int language plpgsql volatile as $$
begin
  perform pg_advisory_xact_lock_shared(key);
  return (select coalesce(max(version), 0) from datamodel_version);
end
$$;
