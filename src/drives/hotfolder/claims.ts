/**
 * Claims on files that are being imported. They are in the database, so that no file is imported twice, whichever process
 * ends at whatever time.
 */
import { createHash } from 'node:crypto'
import type { Queryable, Tx } from '../../platform/postgres/db.ts'
import { numbersText } from '../../platform/postgres/literals.ts'
import type { DroppedFile } from './model.ts'

/** A run, and the collection that it imports into. */
export interface Claimant {
  readonly collectionId: number
  readonly run: string
}

const placeOf = ({ folders, name }: Pick<DroppedFile, 'folders' | 'name'>): Buffer =>
  createHash('sha256')
    .update([...folders, name].join('/'))
    .digest()

/**
 * Claims files for a run; answers those that it got. For the others, an earlier run has already put the same content into
 * an object. Files of another run that has not ended are taken from it: that run can no longer mark them.
 */
export async function claim(
  q: Queryable,
  { collectionId, run }: Claimant,
  files: readonly DroppedFile[],
): Promise<ReadonlySet<DroppedFile>> {
  const places = files.map(placeOf)
  const { rows } = await q.query<{ place: Buffer }>(
    `insert into hotfolder_claim as c (collection_id, place, bytes, modified, run)
     select $1, f.place, f.bytes, f.modified, $2
     from unnest($3::bytea[], $4::bigint[], $5::bigint[]) as f (place, bytes, modified)
     on conflict (collection_id, place) do update set bytes = excluded.bytes, modified = excluded.modified, run = excluded.run,
       done_at = null, claimed_at = now()
     where c.done_at is null or (c.bytes, c.modified) <> (excluded.bytes, excluded.modified)
     returning place`,
    [
      collectionId,
      run,
      places,
      numbersText(files.map(({ bytes }) => bytes)),
      numbersText(files.map(({ modified }) => modified)),
    ],
    'hotfolder-claim',
  )
  const got = new Set(rows.map(({ place }) => place.toString('hex')))
  return new Set(files.filter((_, index) => got.has((places[index] as Buffer).toString('hex'))))
}

/**
 * Marks files whose objects the transaction writes. A file may come into several objects by several transactions of a
 * run.
 * @throws {Error} where another run has taken them over
 */
export async function markDone(tx: Tx, { collectionId, run }: Claimant, files: readonly DroppedFile[]): Promise<void> {
  const { rowCount } = await tx.query(
    `update hotfolder_claim set done_at = coalesce(done_at, now())
     where collection_id = $1 and run = $2 and place = any($3::bytea[])`,
    [collectionId, run, files.map(placeOf)],
    'hotfolder-done',
  )
  if (rowCount !== files.length) throw new Error('another process imports these files')
}

/** Ends a run: its files are removed, marked as failed, or given back to be tried again. */
export async function release(q: Queryable, run: string): Promise<void> {
  await q.query('delete from hotfolder_claim where run = $1', [run], 'hotfolder-release')
}

/** Forgets claims of files that are removed from the disk. */
export async function forget(q: Queryable, collectionId: number, files: readonly DroppedFile[]): Promise<void> {
  await q.query(
    'delete from hotfolder_claim where collection_id = $1 and place = any($2::bytea[])',
    [collectionId, files.map(placeOf)],
    'hotfolder-forget',
  )
}

/** Removes claims of runs that ended with their process, and whose files were removed by others since. */
export async function forgetOld(q: Queryable): Promise<void> {
  await q.query(`delete from hotfolder_claim where claimed_at < now() - interval '30 days'`, [], 'hotfolder-forget-old')
}
