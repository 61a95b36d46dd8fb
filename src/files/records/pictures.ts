import type { Tx } from '../../platform/postgres/db.ts'
import { original } from '../model.ts'

/** Pictures of users, for the service that keeps users. */
export const userPictures = {
  /** Finds those files that are images and that the user has uploaded; locks them until the transaction ends. */
  async uploaded(tx: Tx, userId: number, ids: readonly number[]): Promise<ReadonlySet<number>> {
    const { rows } = await tx.query<{ id: number }>(
      `select id from file f where id = any($1::bigint[]) and upload_user = $2 and exists (
         select from file_version v where v.file_id = f.id and v.name = $3 and v.class = 'image')
       order by id for key share`,
      [ids, userId, original],
      'user-pictures-uploaded',
    )
    return new Set(rows.map(({ id }) => id))
  },

  /** Marks the files as used by users. */
  async taken(tx: Tx, ids: readonly number[]): Promise<void> {
    if (ids.length === 0) return
    await tx.query(
      'update file set unlinked_at = null where id = any($1::bigint[]) and unlinked_at is not null',
      [ids],
      'user-pictures-taken',
    )
  },

  /**
   * Users no longer have these files. A file that no object and no other user has belongs to its uploader again, until it
   * expires.
   */
  async givenUp(tx: Tx, ids: readonly number[]): Promise<void> {
    if (ids.length === 0) return
    await tx.query(
      `update file f set unlinked_at = now() where id = any($1::bigint[])
         and not exists (select from file_use u where u.file_id = f.id)
         and not exists (select from "user" u where u.picture_id = f.id)`,
      [ids],
      'user-pictures-given-up',
    )
  },
}
