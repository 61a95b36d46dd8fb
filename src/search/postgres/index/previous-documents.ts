/**
 * Recent previous versions of documents. From the difference, cached results are brought up to date (query/results/difference.ts).
 * Large batches are not recorded: after them results are computed anew.
 */
import type { Queryable } from '../../../platform/postgres/db.ts'
import { documentColumns } from './encode.ts'

/** Seconds for which previous versions are kept. */
export const previousKeptFor = 60
/** The largest batch of documents whose previous versions are recorded. */
const mostNoted = 200

/** Removes documents, in a transaction that has called `nextGeneration`. */
export async function replaceDocuments(db: Queryable, ids: readonly number[]): Promise<void> {
  if (ids.length > mostNoted) {
    await db.query('delete from search_document where id = any($1::bigint[])', [ids], 'search-documents-remove')
    await db.query('update search_state set previous_since = changed_at', [], 'search-replaced-unknown')
    return
  }
  await db.query(
    `with forgotten as (
       delete from search_previous_document
       where changed_until < (select changed_at from search_state) - interval '${previousKeptFor} seconds'
     ), gone as (delete from search_document where id = any($1::bigint[]) returning *)
     insert into search_previous_document (${documentColumns}, changed_until)
     select ${documentColumns.replaceAll(/(\w+)/g, 'gone.$1')}, state.changed_at from gone cross join search_state state`,
    [ids],
    'search-documents-replace',
  )
}
