import { type EventLog, janitorRun } from '../../events/service.ts'
import type { Tx } from '../../platform/postgres/db.ts'
import { holderOf, type PolicyHolders, policyByHolder } from './janitor-policies.ts'

/**
 * Files that former versions of objects, and objects in the trash, need not keep: they are given up like the files of purged
 * objects. The versions stay as they are; the file is then unused, unless other objects have it.
 */

/** The settings for the objects of a pool, or for those of an object type without pools. A null sets no limit. */
export interface LinkPolicy {
  readonly holder: string
  /** Days since a version became a former one. */
  readonly days: number | null
  /** This number of former versions, the latest ones, keep their files. */
  readonly count: number | null
  /** Days in the trash. */
  readonly trashed: number | null
}

interface Said extends PolicyHolders {
  readonly removal: {
    readonly allow_overwrite: boolean
    readonly file_link_delete: {
      readonly keep_count_history_versions: number | null
      readonly keep_days_history_versions: number | null
    }
  }
}

/** The policies that give up any files. */
export function linkPolicies({ removal, ...holders }: Said): LinkPolicy[] {
  const { keep_count_history_versions, keep_days_history_versions } = removal.file_link_delete
  const general = { days: keep_days_history_versions, count: keep_count_history_versions, trashed: null }
  return policyByHolder(holders, 'file_link_delete', removal.allow_overwrite)
    .map(({ holder, said }) =>
      said
        ? {
            holder,
            days: said.keep_days_history_versions,
            count: said.keep_count,
            trashed: said.min_object_deleted_days,
          }
        : { holder, ...general },
    )
    .filter(({ days, count, trashed }) => days !== null || count !== null || trashed !== null)
}

interface GivenUp {
  readonly file: number
  readonly object: number
  readonly column: number
}

/** Links that are given up with one statement. */
const batch = 200
const policy = `policy as materialized (
  select * from json_to_recordset($1::json) as x(holder text, days int, count int, trashed int)
)`

/**
 * The second part of the statement, after the files are found. Objects are locked, so that no save puts a file back meanwhile, and
 * files are locked, but without making a save wait for long; rows that another transaction has locked are left for another run. A
 * file that only these objects had belongs to its uploader again.
 */
const giveUp = `, gone as (
  delete from file_use u using found f
  where u.file_id = f.file and u.system_object_id = f.object and u.column_id = f.column
    and u.replaced_by is not distinct from f.replaced_by returning u.file_id
), unlinked as (
  update file set unlinked_at = $2 where id in (select file_id from gone) and not exists (
    select from file_use u where u.file_id = file.id
      and (u.file_id, u.system_object_id, u.column_id) not in (select file, object, "column" from found))
), queued as (
  insert into index_queue (system_object_id, bulk) select distinct object, true from found where replaced_by is null
)
select file, object, "column" from found order by object, file, "column"`

/** For former versions, starting at the object where the last batch ended. */
const former = `with ${policy}, found as materialized (
  select u.file_id as file, u.system_object_id as object, u.column_id as "column", u.replaced_by
  from file_use u join object o using (system_object_id) join file f on f.id = u.file_id
    join policy p on p.holder = ${holderOf}
    join object_version v on v.system_object_id = u.system_object_id and v.version = u.replaced_by
  where not u.latest and (u.system_object_id, u.file_id, u.column_id) > ($3, $4, $5)
    and (p.days is not null or p.count is not null)
    and (p.days is null or v.at < $2::timestamptz - p.days * interval '1 day')
    and (p.count is null or u.replaced_by <= o.version - p.count)
  order by u.system_object_id, u.file_id, u.column_id limit ${batch}
  for no key update of o skip locked for update of f skip locked
)${giveUp}`

/** For objects in the trash, all versions. */
const trashed = `with ${policy}, found as materialized (
  select u.file_id as file, u.system_object_id as object, u.column_id as "column", u.replaced_by
  from object o join policy p on p.holder = ${holderOf} join file_use u using (system_object_id)
    join file f on f.id = u.file_id
  where o.deleted_at < $2::timestamptz - p.trashed * interval '1 day'
    and (u.system_object_id, u.file_id, u.column_id) > ($3, $4, $5)
  order by u.system_object_id, u.file_id, u.column_id limit ${batch}
  for no key update of o skip locked for update of f skip locked
)${giveUp}`

export interface FormerFiles {
  readonly events: Pick<EventLog, 'append'>
  readonly policies: () => readonly LinkPolicy[]
  readonly wakeIndex: () => void
}

/**
 * A run through all links that may be given up, batch by batch: each call processes one batch in the given transaction, with its
 * report, and returns the number of links that it gave up; 0: the run is finished.
 */
export function createFormerFiles({ events, policies, wakeIndex }: FormerFiles) {
  return (now: Date): ((tx: Tx) => Promise<number>) => {
    const said = policies()
    const parts = [
      { sql: former, log: 'former versions', any: said.some(({ days, count }) => days !== null || count !== null) },
      { sql: trashed, log: 'objects in the trash', any: said.some(({ trashed }) => trashed !== null) },
    ].filter(({ any }) => any)
    let after = [0, 0, 0]
    return async (tx) => {
      for (;;) {
        const [part] = parts
        if (!part) return 0
        const report = janitorRun('file_link_delete', batch)
        const { rows } = await tx.query<GivenUp>(part.sql, [JSON.stringify(said), now, ...after])
        const last = rows.at(-1)
        if (!last) {
          parts.shift()
          after = [0, 0, 0]
          continue
        }
        after = [last.object, last.file, last.column]
        tx.afterCommit(wakeIndex)
        const log = rows.map(
          ({ file, object, column }) => `${part.log}: file ${file}, object ${object}, column ${column}`,
        )
        const objects = { system_object_ids: [...new Set(rows.map(({ object }) => object))] }
        await events.append(tx, [report.done(rows.length, log, objects)])
        return rows.length
      }
    }
  }
}
