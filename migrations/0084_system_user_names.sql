-- Names of system users belong to their record: without that, a user list that is sent back as it was read renames them
-- to their logins.
update "user"
   set profile = profile || jsonb_build_object('displayname', generated_displayname)
 where type = 'system' and generated_displayname <> login and not profile ? 'displayname';
