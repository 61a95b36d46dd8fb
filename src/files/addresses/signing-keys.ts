import { randomBytes } from 'node:crypto'
import type { Db, Tx } from '../../platform/postgres/db.ts'
import type { Seal } from '../../platform/secrets/seal.ts'

/** A key of signatures. No signature made with it is valid after `until`, in milliseconds since 1970. */
export interface SigningKey {
  readonly key: Buffer
  readonly until: number
}

/** The first key signs; all keys are accepted. */
export type SigningKeys = readonly [SigningKey, ...SigningKey[]]

export interface SigningKeyOptions {
  readonly db: Db
  readonly seal: Pick<Seal, 'seal' | 'open' | 'prefix'>
  /** The longest lifetime of an address, in days. */
  readonly mostDays: () => number
}

interface StoredKey {
  readonly id: number
  readonly key: Buffer
  readonly until: Date | null
}

/** Bytes of a key, and of a key that an earlier release has stored in plain text. */
const length = 32
const about = 'addresses of files'

/**
 * The keys of signed addresses. Other persons may know a key that was stored in plain text, or sealed with a secret key
 * that is now given up. Such a key no longer signs; its signatures stay valid until the longest lifetime of addresses is
 * over. A key that none of the secret keys here can open is left unchanged, in case its secret key comes back.
 */
export function openSigningKeys({ db, seal, mostDays }: SigningKeyOptions): Promise<SigningKeys> {
  return db.transaction(async (tx) => {
    // Of processes that start at the same time, only one makes the key.
    await tx.query('lock table file_key in share row exclusive mode')
    await tx.query('delete from file_key where until < now()')
    const { rows } = await tx.query<StoredKey>(
      'select id, key, until from file_key order by until is not null, created_at desc, id desc',
    )
    const prefix = await seal.prefix()
    const known: SigningKey[] = []
    for (const row of rows) {
      const key = row.key.length === length ? row.key : await seal.open(row.key, about)
      if (key === null) continue
      const present = row.key.subarray(0, prefix.length).equals(prefix) && row.key.length !== length
      const until = present ? row.until : await giveUp(tx, row.id, await seal.seal(key, about), mostDays())
      known.push({ key, until: until === null ? Number.POSITIVE_INFINITY : until.getTime() })
    }
    const signing = known.find(({ until }) => until === Number.POSITIVE_INFINITY) ?? (await makeKey(tx, seal))
    return [signing, ...known.filter((one) => one !== signing)]
  })
}

async function makeKey(tx: Tx, seal: SigningKeyOptions['seal']): Promise<SigningKey> {
  const key = randomBytes(length)
  await tx.query('insert into file_key (key) values ($1)', [await seal.seal(key, about)])
  return { key, until: Number.POSITIVE_INFINITY }
}

async function giveUp(tx: Tx, id: number, sealed: Buffer, days: number): Promise<Date> {
  const { rows } = await tx.query<{ until: Date }>(
    `update file_key set key = $2, until = least(until, date_trunc('hour', now()) + make_interval(days => $3, hours => 1))
     where id = $1 returning until`,
    [id, sealed, days],
  )
  const [row] = rows
  if (!row) throw new Error(`there is no key ${id} of addresses`)
  return row.until
}
