import type { Actor } from '../../platform/actor.ts'
import { AppError } from '../../platform/errors.ts'
import type { Tx } from '../../platform/postgres/db.ts'
import type { StoredUser } from '../model.ts'
import type { UserOutput } from '../schema.ts'

/** The functions for files that this capability needs. */
export interface PictureFiles {
  /** The given files that are images and were uploaded by the user. */
  uploaded(tx: Tx, userId: number, ids: readonly number[]): Promise<ReadonlySet<number>>
  taken(tx: Tx, ids: readonly number[]): Promise<void>
  givenUp(tx: Tx, ids: readonly number[]): Promise<void>
}

/** A picture before and after a change of its user. */
export interface PictureChange {
  readonly path: string
  readonly stored: Pick<StoredUser, 'pictureId'> | null
  readonly after: number | null
}

const introduced = ({ stored, after }: PictureChange): boolean =>
  after !== null && after !== (stored?.pictureId ?? null)

/**
 * A new picture must be an image that the actor has uploaded. An id that does not exist gives the same error, so that callers
 * cannot find out which ids are files.
 * @throws {AppError} `UserPictureNoRights`
 */
export async function assertPictures(
  tx: Tx,
  actor: Actor,
  files: PictureFiles,
  changes: readonly PictureChange[],
): Promise<void> {
  const fresh = changes.filter(introduced)
  if (fresh.length === 0) return
  const ids = [...new Set(fresh.flatMap(({ after }) => after ?? []))]
  const usable = await files.uploaded(tx, actor.userId, ids)
  const wrong = fresh.find(({ after }) => after !== null && !usable.has(after))
  if (wrong) throw new AppError('UserPictureNoRights', { path: `${wrong.path}.user.picture`, _id: wrong.after })
}

/** Marks new pictures as used and replaced ones as unused, after the users are written. */
export async function keepPictures(tx: Tx, files: PictureFiles, changes: readonly PictureChange[]): Promise<void> {
  await files.taken(
    tx,
    changes.filter(introduced).flatMap(({ after }) => after ?? []),
  )
  await files.givenUp(
    tx,
    changes.flatMap(({ stored, after }) => (stored?.pictureId && stored.pictureId !== after ? [stored.pictureId] : [])),
  )
}

/** Files by id, as readers of the users may see them. */
export type ReadPictures = (actor: Actor, ids: readonly number[]) => Promise<ReadonlyMap<number, object>>

/** Fills in the pictures of users, with addresses that can be opened. */
export async function withPictures(
  look: ReadPictures,
  actor: Actor,
  users: readonly UserOutput[],
): Promise<UserOutput[]> {
  const ids = users.flatMap(({ user }) => user.picture?.map(({ _id }) => _id) ?? [])
  if (ids.length === 0) return [...users]
  const files = await look(actor, [...new Set(ids)])
  return users.map((one) => {
    const { picture } = one.user
    if (!picture) return one
    return { ...one, user: { ...one.user, picture: picture.map((link) => ({ ...files.get(link._id), ...link })) } }
  })
}
