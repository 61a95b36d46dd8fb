import type { Logger } from 'pino'
import type { Db, Tx } from '../../platform/postgres/db.ts'
import { numbersText } from '../../platform/postgres/literals.ts'
import { createPeriodic, type Periodic } from '../../platform/process/periodic.ts'

/**
 * Keeps the sums of files (migration 0391): triggers list the files to be counted again. In one transaction, these files are
 * subtracted from the sums as they were counted, and added as they are. A reader of sums does the same for the files that are still
 * listed (file-stats.ts), so no result depends on when this runs, or where it ends.
 */
export interface FileCountOptions {
  readonly db: Db
  readonly log: Pick<Logger, 'warn'>
  /** While true, nothing is changed. */
  readonly paused: () => boolean
}

/** Milliseconds between two looks. */
const often = 15_000
/** Number of entries whose files are counted in one transaction. */
const batch = 20_000
/** Advisory lock for this work: `strg` in ASCII, followed by a number. */
const lock = 0x73747267_000an

export function createFileCounts({ db, log, paused }: FileCountOptions): Periodic {
  return createPeriodic({
    every: often,
    paused,
    async work(stopped) {
      for (let taken = batch; taken >= batch && !stopped(); ) taken = await db.transaction(recount)
    },
    onFailure: (error) => log.warn({ err: error }, 'files could not be counted'),
  })
}

/** The objects of each file: once for each object type and pool. */
const parts = `select u.file_id, o.objecttype, o.pool_id,
    min(case when o.deleted_at is not null then 3 when u.latest then 1 else 2 end)::smallint as age
  from file_use u join object o using (system_object_id) where u.file_id = any($1::bigint[]) group by 1, 2, 3`

/** The uses of files in the form in which sums count them. */
const uses = `select file_id, sha256(convert_to(string_agg(objecttype || ' ' || coalesce(pool_id::text, '-') || ' ' || age, ','
    order by objecttype, pool_id, age), 'UTF8')) as hash
  from parts group by 1`

/** The number of processed entries; 0 while another process does this work. */
async function recount(tx: Tx): Promise<number> {
  const { rows } = await tx.query<{ mine: boolean }>('select pg_try_advisory_xact_lock($1) as mine', [lock])
  if (!rows[0]?.mine) return 0
  // Transactions that commit from here on add new entries, which stay. All entries of a file are removed at once: an upload adds
  // several for each file (its versions, its objects), and each would count the file again.
  const { rows: due } = await tx.query<{ ids: number[] | null; entries: number }>(
    `with next as materialized (
       select distinct file_id from (select file_id from file_count_due order by id limit ${batch}) x
     ), gone as (
       delete from file_count_due where file_id in (select file_id from next) returning 1
     )
     select (select array_agg(file_id order by file_id) from next) as ids, (select count(*) from gone) as entries`,
  )
  const { ids = null, entries = 0 } = due[0] ?? {}
  if (!ids) return 0
  const files = numbersText(ids)
  await tx.query(
    `with parts as materialized (${parts}), uses as materialized (${uses}),
     example as (select distinct on (hash) hash, file_id from uses where hash not in (select hash from file_count_use) order by 1, 2),
     added as (insert into file_count_use (hash) select hash from example returning id, hash),
     added_parts as (
       insert into file_count_use_part (usage_id, objecttype, pool_id, age)
       select a.id, p.objecttype, p.pool_id, p.age from added a join example e using (hash) join parts p using (file_id)
     ),
     usages as materialized (
       select s.file_id, u.id as usage_id
       from uses s join (select id, hash from file_count_use union all select id, hash from added) u using (hash)
     ),
     versions as materialized (
       select file_id, name, name = 'original' as original, extension, class, size
       from file_version where file_id = any($1::bigint[])
     ),
     added_kinds as (
       insert into file_count_kind (original, extension, class)
       select distinct original, extension, class from versions
       except select original, extension, class from file_count_kind returning *
     ),
     counted as materialized (
       select s.file_id, s.usage_id, array_agg(k.id order by v.name) as kinds, array_agg(v.size order by v.name) as sizes
       from usages s join versions v using (file_id)
         join (select * from file_count_kind union all select * from added_kinds) k using (original, extension, class)
       group by 1, 2
     ), before as materialized (
       select * from file_counted where file_id = any($1::bigint[])
     ), gone as (
       delete from file_counted where file_id = any($1::bigint[]) and file_id not in (select file_id from counted)
     ), put as (
       insert into file_counted (file_id, usage_id, kinds, sizes) select * from counted
       on conflict (file_id) do update set usage_id = excluded.usage_id, kinds = excluded.kinds, sizes = excluded.sizes
     ), changes as (
       select usage_id, kind_id, sum(n) as count, sum(n * size) as size from (
         select usage_id, k.id as kind_id, k.size, 1 as n from counted cross join unnest(kinds, sizes) as k(id, size)
         union all
         select usage_id, k.id, k.size, -1 from before cross join unnest(kinds, sizes) as k(id, size)
       ) x group by 1, 2 having sum(n) <> 0 or sum(n * size) <> 0
     )
     insert into file_count_sum as s (usage_id, kind_id, count, size) select * from changes
     on conflict (usage_id, kind_id) do update set count = s.count + excluded.count, size = s.size + excluded.size`,
    [files],
  )
  return entries
}
