-- Private permissions of single objects: the grants of their pools and their object type do not reach them.
alter table object add column private_acl boolean not null default false;
alter table object_version add column private_acl boolean not null default false;
comment on column object.private_acl is 'Of the grants of its pools and its object type only sticky ones reach the object.';
