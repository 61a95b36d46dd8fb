/** Compares stored documents with documents that are built of the objects now, column by column. The stored hash is not trusted. */
import type pg from 'pg'
import { onConnection, type Queryable } from '../../../platform/postgres/db.ts'
import { inIndexTransaction } from '../../queue/transaction.ts'
import { documentColumns, type EncodedDocument, nestedColumns, stamp } from './encode.ts'
import { copy } from './store.ts'

/** Columns that earlier releases did not write, with their default values. The moment of writing is not compared. */
const unknownAs: Readonly<Record<string, string>> = { access_set: '0', people_set: '0', parents_hash: 'null' }
const compared = documentColumns.split(', ').filter((column) => column !== 'id' && column !== 'changed_at')

const differs = compared
  .map((column) => {
    const other = `d.${column} is distinct from c.${column}`
    const unknown = unknownAs[column]
    return unknown === undefined ? other : `(d.${column} is distinct from ${unknown} and ${other})`
  })
  .join(' or ')

/** Grants that have begun or ended are handled elsewhere, so such documents are not compared. */
const isCurrent = '(d.valid_until is null or d.valid_until > clock_timestamp())'

export async function compareDocuments(
  client: pg.PoolClient,
  documents: readonly EncodedDocument[],
): Promise<{ readonly missing: readonly number[]; readonly different: readonly number[] }> {
  if (documents.length === 0) return { missing: [], different: [] }
  const db = onConnection(client)
  for (const document of documents) stamp(document, 0)
  return inIndexTransaction(db, async () => {
    for (const table of ['document', 'nested']) {
      await db.query(
        `create temporary table if not exists search_check_${table} (like search_${table}) on commit delete rows`,
      )
    }
    const rows = documents.map(({ row }) => row)
    await copy(client, `search_check_document (${documentColumns})`, rows)
    const nested = documents.flatMap((document) => document.nested)
    if (nested.length > 0) await copy(client, `search_check_nested (${nestedColumns})`, nested)
    const ids = documents.map(({ id }) => id)
    const { rows: found } = await db.query<{ id: number; missing: boolean }>(
      `with rows_differ as (
         (select ${nestedColumns} from search_nested where id = any($1::bigint[]) except all
          select ${nestedColumns} from search_check_nested)
         union all
         (select ${nestedColumns} from search_check_nested except all
          select ${nestedColumns} from search_nested where id = any($1::bigint[])))
       select c.id, d.id is null as missing from search_check_document c left join search_document d on d.id = c.id
       where d.id is null or ${isCurrent} and (${differs} or c.id in (select id from rows_differ))`,
      [ids],
    )
    return {
      missing: found.filter(({ missing }) => missing).map(({ id }) => id),
      different: found.filter(({ missing }) => !missing).map(({ id }) => id),
    }
  })
}

export async function readSurplus(
  db: Queryable,
  after: number,
  upto: number | null,
  limit: number,
): Promise<readonly number[]> {
  const { rows } = await db.query<{ id: number }>(
    `select d.id from search_document d where d.id > $1 and d.id <= coalesce($2, 9223372036854775807)
       and not exists (select from object where system_object_id = d.id) order by d.id limit $3`,
    [after, upto, limit],
    'index-check-surplus',
  )
  return rows.map(({ id }) => id)
}

/** Makes the indexer write the documents again, by changing their digest. */
export async function distrust(db: Queryable, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return
  await db.query(
    `update search_document set digest = '00000000-0000-0000-0000-000000000000' where id = any($1::bigint[])`,
    [ids],
    'index-check-distrust',
  )
}
