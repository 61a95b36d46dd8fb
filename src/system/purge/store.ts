import type { Tx } from '../../platform/postgres/db.ts'
import { quoteIdentifier } from '../../platform/postgres/literals.ts'
import { insertFirstRows } from './first-rows.ts'

/**
 * Tables that are kept, or handled separately. Keys of addresses and the name of the instance are known outside of the database;
 * locations are the stores of contents; the state of the index keeps counting.
 */
const spared: readonly string[] = [
  'migration',
  'instance',
  'secret_key_check',
  'file_key',
  'file_location',
  'file_blob',
  'search_check',
  'search_state',
  'search_slot',
  'datamodel_version',
  'datamodel_head',
  'begun_job',
]

/** Whether a session is open: a caller whose session was purged meanwhile may not purge. */
export async function isOpen(tx: Tx, sessionId: string | null): Promise<boolean> {
  const { rows } = await tx.query('select from oauth_session where id = $1 and revoked_at is null', [sessionId])
  return rows.length === 1
}

/**
 * Deletes all stored data, and adds the rows of a new database. Sequences keep counting, so that no id is reused, in case anybody
 * still has it. `newHash` is the hash of a new password of root; null: root keeps the current one. In locations that allow it, the
 * contents stay listed as unused when `contentsGo` is set, so that the janitor removes them; all other contents stay in their
 * location without any record of them.
 */
export async function emptyTables(
  tx: Tx,
  { newHash, contentsGo }: { readonly newHash: string | null; readonly contentsGo: boolean },
): Promise<void> {
  const { rows: hashes } = await tx.query<{ hash: string | null }>(
    `select password_hash as hash from "user" where reference = 'system:root'`,
  )
  const { rows: tables } = await tx.query<{ name: string }>(
    `select relname as name from pg_class
     where relnamespace = current_schema()::regnamespace and relkind = 'r' and not relispartition
       and relname <> all($1::text[]) order by relname`,
    [spared],
  )
  await tx.query(`truncate ${tables.map(({ name }) => quoteIdentifier(name)).join()}`)
  await insertFirstRows(tx, newHash ?? hashes[0]?.hash ?? null)
  await tx.query(
    `delete from file_blob where not $1 or location_id not in (
       select id from file_location where allow_purge and not read_only)`,
    [contentsGo],
  )
  // Slots that are shared by all object types are known to the code of searches.
  await tx.query('delete from search_slot where objecttype <> 0')
  await tx.query(
    `update search_check set position = 0, began_at = now(), ended_at = null, stepped_at = '-infinity', checked = 0,
       missing = 0, surplus = 0, different = 0, last = null`,
  )
  await tx.query(
    `update search_state s set generation = generation + 1, set_removals = set_removals + 1, changed_at = n.at,
       followed_since = n.at, previous_since = n.at, blocked_until = null, sets_pruned_at = null, rewritten = 0
     from (select greatest(clock_timestamp(), changed_at + interval '1 microsecond') as at from search_state) n`,
  )
}
