/** Write locks (RFC 4918, 6), in the database, so that every process sees them. */
import { randomUUID } from 'node:crypto'
import { AppError } from '../platform/errors.ts'
import type { Db, Queryable, Tx } from '../platform/postgres/db.ts'
import { numbersText } from '../platform/postgres/literals.ts'
import { nameKey } from './names.ts'

/** The target of a lock: a name in a folder, or (null) the folder itself. */
export interface Lockable {
  readonly collectionId: number
  readonly name: string | null
  /** Ids from the root of all collections to the folder, inclusive. */
  readonly path: readonly number[]
}

export interface Lock {
  readonly token: string
  readonly deep: boolean
  readonly owner: string
  /** Seconds until it expires. */
  readonly seconds: number
}

export interface WantedLock {
  readonly deep: boolean
  readonly owner: string
  readonly seconds: number
}

/** Most locks of all collections, and of one; most seconds of a lock (decision 59). */
const [mostLocks, mostOfCollection] = [10_000, 100]
export const longestLock = 3600

const columns = `token::text, deep, owner, greatest(0, extract(epoch from expires_at - now()))::int as seconds`

/** Locks that apply to a place: the lock of the name, and deep ones above it. */
const covers = `expires_at > now() and ((collection_id = $1 and name_key is not distinct from $2)
  or (name_key is null and deep and collection_id = any($3::bigint[]))
  or ($2 is not null and name_key is null and collection_id = $1))`

export function createLocks(db: Db) {
  const parameters = ({ collectionId, name, path }: Lockable) => [
    collectionId,
    name === null ? null : nameKey(name),
    numbersText(path),
  ]

  async function at(q: Queryable, place: Lockable): Promise<Lock[]> {
    const { rows } = await q.query<Lock>(
      `select ${columns} from drive_lock where ${covers} order by token`,
      parameters(place),
      'drives-locks',
    )
    return rows
  }

  async function assertRoom(tx: Tx, collectionId: number): Promise<void> {
    await tx.query('delete from drive_lock where expires_at <= now()', [], 'drives-locks-end')
    const { rows } = await tx.query<{ all: number; own: number }>(
      `select count(*)::int as all, count(*) filter (where collection_id = $1)::int as own from drive_lock`,
      [collectionId],
      'drives-locks-count',
    )
    const { all = 0, own = 0 } = rows[0] ?? {}
    if (all < mostLocks && own < mostOfCollection) return
    throw new AppError(
      'ResourceLocked',
      { most: own < mostOfCollection ? mostLocks : mostOfCollection },
      { message: full },
    )
  }

  return {
    at: (place: Lockable) => at(db, place),

    /** @throws {AppError} `ResourceLocked` where another lock exists, or there are too many */
    async take(place: Lockable, { deep, owner, seconds }: WantedLock): Promise<Lock> {
      return db.transaction(async (tx) => {
        await tx.query('select pg_advisory_xact_lock(hashtext($1))', ['drive_lock'], 'drives-lock-turn')
        const below = deep && place.name === null
        const { rowCount } = await tx.query(
          `select from drive_lock l where ${covers}
           or ($4 and l.expires_at > now() and exists (select from collection c
             where c.id = l.collection_id and c.path @> array[$1::bigint])) limit 1`,
          [...parameters(place), below],
          'drives-lock-taken',
        )
        if (rowCount !== 0) throw new AppError('ResourceLocked')
        await assertRoom(tx, place.collectionId)
        const token = randomUUID()
        await tx.query(
          `insert into drive_lock (token, collection_id, name_key, deep, owner, expires_at)
           values ($1, $2, $3, $4, $5, now() + make_interval(secs => $6))`,
          [token, place.collectionId, place.name === null ? null : nameKey(place.name), deep, owner, seconds],
          'drives-lock-take',
        )
        return { token, deep, owner, seconds }
      })
    },

    /** Renews a lock; null: the place has no such lock. */
    async refresh(place: Lockable, tokens: readonly string[], seconds: number): Promise<Lock | null> {
      const { rows } = await db.query<Lock>(
        `update drive_lock set expires_at = now() + make_interval(secs => $5)
         where ${covers} and token::text = any($4::text[]) returning ${columns}`,
        [...parameters(place), tokens, seconds],
        'drives-lock-refresh',
      )
      return rows[0] ?? null
    },

    /** False: the place has no lock with this token. */
    async release(place: Lockable, token: string): Promise<boolean> {
      const { rowCount } = await db.query(
        `delete from drive_lock where ${covers} and token::text = $4`,
        [...parameters(place), token],
        'drives-lock-release',
      )
      return rowCount !== 0
    },
  }
}

const full = 'There are as many locks as there may be.'
