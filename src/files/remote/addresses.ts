import type { Db, Queryable, Tx } from '../../platform/postgres/db.ts'
import type { Seal } from '../../platform/secrets/seal.ts'
import { scrubAddress } from '../../platform/secrets/secrets.ts'
import type { Sha256 } from '../blobs/blob-store.ts'

/** The web address of a content. `url` null: the address is sealed with a key that this instance does not have. */
export interface WebAddress {
  readonly url: string | null
  readonly etag: string | null
  readonly size: number
}

interface NewAddress {
  readonly sha256: Sha256
  readonly url: string
  readonly etag: string | null
}

type Sealing = Pick<Seal, 'seal' | 'open' | 'prefix'>

const about = 'address of a content'
/** Matches all addresses with a secret, and some without; other addresses are not read from the database. */
const perhapsSecret =
  '//[^/?#]*@|[?&;#][^=]*(token|pass|pwd|pin|secret|key|sig|credential|verifier|response|assertion|auth|cookie|code|%)[^=]*='
/** Rows that are sealed with one statement. */
const batch = 1000

/**
 * Stores the web addresses of contents. Addresses with a secret (a signature, a token) are stored sealed, beside a form
 * without it; a later address that differs only in its secret replaces the earlier one.
 */
export async function rememberAddresses(tx: Tx, seal: Sealing, places: readonly NewAddress[]): Promise<void> {
  if (places.length === 0) return
  const shown = places.map(({ url }) => scrubAddress(url))
  const sealed = await Promise.all(
    places.map(({ url }, index) => (shown[index] === url ? null : seal.seal(Buffer.from(url), about))),
  )
  await tx.query(
    `insert into file_remote (sha256, url, etag, sealed)
     select distinct on (h, u) decode(h, 'hex'), u, e, s
     from unnest($1::text[], $2::text[], $3::text[], $4::bytea[]) as x(h, u, e, s)
     on conflict (location_id, sha256, url) do update set etag = excluded.etag, sealed = excluded.sealed`,
    [places.map(({ sha256 }) => sha256), shown, places.map(({ etag }) => etag), sealed],
  )
}

export async function webAddressesOf(db: Queryable, seal: Sealing, sha256: Sha256): Promise<WebAddress[]> {
  const { rows } = await db.query<WebAddress & { url: string; sealed: Buffer | null }>(
    `select r.url, r.sealed, r.etag, b.size from file_remote r join file_blob b using (location_id, sha256)
     where r.sha256 = decode($1, 'hex') order by r.created_at`,
    [sha256],
    'remote-places',
  )
  return Promise.all(
    rows.map(async ({ url, sealed, etag, size }) => {
      const whole = sealed === null ? url : ((await seal.open(sealed, about))?.toString() ?? null)
      return { url: whole, etag, size }
    }),
  )
}

interface StoredAddress {
  readonly sha256: Buffer
  readonly url: string
  readonly sealed: Buffer | null
}

/**
 * Seals all unsealed addresses with the present key, some at a time. Answers how many addresses none of the keys here can
 * open.
 */
export async function resealAddresses(db: Db, seal: Sealing): Promise<number> {
  let [locked, after]: [number, StoredAddress | null] = [0, null]
  for (;;) {
    const rows = await db.transaction((tx) => resealSome(tx, seal, after))
    locked += rows.locked
    if (rows.last === null) return locked
    after = rows.last
  }
}

interface Renewed {
  readonly row: StoredAddress
  readonly shown: string
  readonly sealed: Buffer
}

const columnsOf = (renewed: readonly Renewed[]): unknown[][] => [
  renewed.map(({ row }) => row.sha256),
  renewed.map(({ row }) => row.url),
  renewed.map(({ sealed }) => sealed),
]

async function resealSome(tx: Tx, seal: Sealing, after: StoredAddress | null) {
  const prefix = await seal.prefix()
  const { rows } = await tx.query<StoredAddress>(
    `select sha256, url, sealed from file_remote
     where (sealed is null and url ~* $5
         or substring(sealed for octet_length($1::bytea)) <> $1)
       and ($2::bytea is null or (sha256, url) > ($2, $3))
     order by sha256, url limit $4 for update`,
    [prefix, after?.sha256 ?? null, after?.url ?? null, batch, perhapsSecret],
    'remote-places-otherwise-sealed',
  )
  let locked = 0
  const renewed: Renewed[] = []
  for (const row of rows) {
    const url = row.sealed === null ? row.url : (await seal.open(row.sealed, about))?.toString()
    if (url === undefined) locked++
    else if (scrubAddress(url) !== url) {
      renewed.push({ row, shown: scrubAddress(url), sealed: await seal.seal(Buffer.from(url), about) })
    }
  }
  if (renewed.length > 0) {
    await tx.query(
      `update file_remote r set sealed = n.sealed from unnest($1::bytea[], $2::text[], $3::bytea[]) as n (sha256, url, sealed)
       where r.sha256 = n.sha256 and r.url = n.url`,
      columnsOf(renewed.filter(({ row, shown }) => row.url === shown)),
    )
    const plain = renewed.filter(({ row, shown }) => row.url !== shown)
    // Of addresses that differ only in their secrets, one stays.
    await tx.query(
      `insert into file_remote (sha256, url, etag, created_at, sealed)
       select distinct on (r.sha256, n.shown) r.sha256, n.shown, r.etag, r.created_at, n.sealed
       from file_remote r join unnest($1::bytea[], $2::text[], $3::bytea[], $4::text[]) as n (sha256, url, sealed, shown)
         on n.sha256 = r.sha256 and n.url = r.url
       order by r.sha256, n.shown, r.created_at desc
       on conflict (location_id, sha256, url) do nothing`,
      [...columnsOf(plain), plain.map(({ shown }) => shown)],
    )
    await tx.query(
      `delete from file_remote r using unnest($1::bytea[], $2::text[]) as n (sha256, url)
       where r.sha256 = n.sha256 and r.url = n.url`,
      columnsOf(plain).slice(0, 2),
    )
  }
  return { locked, last: rows.length < batch ? null : (rows.at(-1) ?? null) }
}
