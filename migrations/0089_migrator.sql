drop table if exists migration_lock;
