-- Grants on a tag: who sees it as a choice, who applies it, who takes it off; none: everybody who may write the object.
alter table tag add column acl jsonb not null default '[]';
comment on column tag.acl is 'Grants on the tag; none: it is open to everybody who may write the object.';
