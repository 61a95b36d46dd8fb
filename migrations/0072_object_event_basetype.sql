-- Events of objects have the basetype `object`; the type of the object stands in `objecttype`.
update event set basetype = 'object'
where type in ('OBJECT_INSERT', 'OBJECT_UPDATE', 'OBJECT_DELETE', 'OBJECT_UNDELETE', 'OBJECT_PURGE')
  and objecttype is not null and basetype = objecttype;
