/**
 * Documents as they were until a moment ago: by what changed, those who keep results bring them up to date
 * (query/results/difference.ts). Large batches are not noted: after them results are found anew.
 */
import type { Queryable } from '../../../platform/postgres/db.ts'
import { documentColumns } from './encode.ts'

/** Seconds for which it is known what a document was. */
export const previousKeptFor = 60
/** Documents of a batch of which it is noted. */
const mostNoted = 200

/** Takes documents away, in a transaction that has called `nextGeneration`. */
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
