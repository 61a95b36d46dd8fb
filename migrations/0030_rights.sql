-- Ids of grants: unique in the instance, whatever they stand on, and stable while a grant is changed.
create sequence grant_id_seq as bigint;
