-- Moments in sort keys (seconds since 1970 as eight bytes, the sign bit turned) by the year, month, week or day they are in.
create function search_period(key bytea, unit text) returns bigint
  language plpgsql immutable strict parallel safe as $$
declare
  seconds bigint := substring(key from 1 for 8)::bigint # (-9223372036854775808)::bigint;
  days bigint := seconds / 86400 - case when seconds % 86400 < 0 then 1 else 0 end;
  shifted bigint;
  era bigint;
  day_of_era bigint;
  year_of_era bigint;
  day_of_year bigint;
  month bigint;
begin
  if unit = 'day' then return days; end if;
  -- Weeks begin on Monday; the first of January 1970 was a Thursday.
  if unit = 'week' then return (days + 3) / 7 - case when (days + 3) % 7 < 0 then 1 else 0 end; end if;
  -- Years that begin in March, in eras of 400 years (proleptic Gregorian calendar).
  shifted := days + 719468;
  era := shifted / 146097 - case when shifted % 146097 < 0 then 1 else 0 end;
  day_of_era := shifted - era * 146097;
  year_of_era := (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  day_of_year := day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  month := (5 * day_of_year + 2) / 153 + 3;
  if unit = 'month' then return (year_of_era + era * 400) * 12 + month - 1; end if;
  return year_of_era + era * 400 + case when month > 12 then 1 else 0 end;
end $$;
comment on function search_period is 'The year (0 is 1 BC), the month (12 for each year), the week or the day (since 1970) of a moment in a sort key.';
