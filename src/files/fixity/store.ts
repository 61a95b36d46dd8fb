import type { Queryable } from '../../platform/postgres/db.ts'
import type { Sha256 } from '../blobs/blob-store.ts'
import { remoteLocation } from '../remote/remote-store.ts'
import type { Fixity, Verifiable } from './verify.ts'

export interface KeptBlob extends Verifiable {
  readonly locationId: number
}

const blob = `b.location_id as "locationId", encode(b.sha256, 'hex') as sha256, b.size`

/** The contents to be checked next: those not read for the longest time, and those that were damaged a day ago. */
export async function dueBlobs(from: Queryable, round: { readonly hours: number; readonly now: Date }) {
  const { rows } = await from.query<KeptBlob>(
    `with share as (
       select greatest(1, ceil(count(*) / $1::float8))::int as most from file_blob where location_id <> ${remoteLocation}
     )
     (select ${blob} from file_blob b
      where fixity <> 'ok' and verified_at < $2::timestamptz - interval '1 day' order by verified_at limit 100)
     union
     (select ${blob} from file_blob b where location_id <> ${remoteLocation}
        and verified_at < $2::timestamptz - interval '1 hour' * $1 / 2
      order by verified_at limit (select most from share))`,
    [round.hours, round.now],
  )
  return rows
}

/** The next contents of a location, or of all locations of the service, after the last one read. */
export async function blobsBehind(
  from: Queryable,
  last: KeptBlob | null,
  most: number,
  locationId: number | null,
): Promise<KeptBlob[]> {
  const { rows } = await from.query<KeptBlob>(
    `select ${blob} from file_blob b
     where location_id <> ${remoteLocation} and ($1::bigint is null or location_id = $1)
       and (location_id, sha256) > ($2::bigint, decode($3, 'hex'))
     order by b.location_id, b.sha256 limit $4`,
    [locationId, last?.locationId ?? -1, last?.sha256 ?? '', most],
  )
  return rows
}

/** The contents of one file that are stored here. */
export async function blobsOfFile(from: Queryable, fileId: number): Promise<KeptBlob[]> {
  const { rows } = await from.query<KeptBlob>(
    `select ${blob} from file_blob b where location_id <> ${remoteLocation} and (location_id, sha256) in (
       select v.location_id, v.sha256 from file_version v where v.file_id = $1)
     order by b.location_id, b.sha256 limit 100`,
    [fileId],
  )
  return rows
}

/** Other locations of the same content, as far as they are known to be unharmed. */
export async function otherPlaces(from: Queryable, { locationId, sha256 }: KeptBlob): Promise<number[]> {
  const { rows } = await from.query<{ id: number }>(
    `select b.location_id as id from file_location l join file_blob b on b.location_id = l.id and b.sha256 = decode($2, 'hex')
     where l.id <> $1 and b.fixity = 'ok' order by l.kind = 'remote', l.id`,
    [locationId, sha256],
  )
  return rows.map(({ id }) => id)
}

export async function noteResults(
  from: Queryable,
  results: readonly { readonly blob: KeptBlob; readonly fixity: Fixity }[],
): Promise<void> {
  await from.query(
    `update file_blob b set verified_at = now(), fixity = f
     from unnest($1::bigint[], $2::text[], $3::text[]) as x(l, h, f)
     where b.location_id = x.l and b.sha256 = decode(x.h, 'hex')`,
    [
      results.map((one) => one.blob.locationId),
      results.map((one) => one.blob.sha256),
      results.map(({ fixity }) => fixity),
    ],
  )
}

export interface LocationFixity {
  readonly location_id: number
  readonly location_key: string
  readonly count: number
  readonly size: number
  readonly damaged: number
  readonly missing: number
  readonly oldest: Date | null
}

export async function readFixity(from: Queryable): Promise<LocationFixity[]> {
  const { rows } = await from.query<LocationFixity>(
    `select l.id as location_id, l.name as location_key, count(b.sha256)::int as count,
       coalesce(sum(b.size), 0)::bigint as size, count(*) filter (where fixity = 'damaged')::int as damaged,
       count(*) filter (where fixity = 'missing')::int as missing, min(verified_at) as oldest
     from file_location l left join file_blob b on b.location_id = l.id
     where l.kind <> 'remote' group by l.id order by l.id`,
  )
  return rows
}

/** The number of damaged contents, by location. This is asked often, so the query reads only damaged ones. */
export async function countHarmed(from: Queryable): Promise<Record<string, number>> {
  const { rows } = await from.query<{ name: string; count: number }>(
    `select l.name, coalesce(h.count, 0)::int as count from file_location l left join (
       select location_id, count(*) as count from file_blob where fixity <> 'ok' group by 1
     ) h on h.location_id = l.id where l.kind <> 'remote' order by l.id`,
    [],
    'harmed-contents',
  )
  return Object.fromEntries(rows.map(({ name, count }) => [name, count]))
}

export interface Harmed {
  readonly location_id: number
  readonly hash: Sha256
  readonly size: number
  readonly fixity: Fixity
  readonly verified_at: Date
  readonly file_ids: number[]
}

/** Contents that were damaged when they were last read, with the files that have them. */
export async function readHarmed(from: Queryable, most: number): Promise<Harmed[]> {
  const { rows } = await from.query<Harmed>(
    `select b.location_id, encode(b.sha256, 'hex') as hash, b.size, b.fixity, b.verified_at, array(
       select distinct v.file_id from file_version v where v.location_id = b.location_id and v.sha256 = b.sha256
       order by v.file_id limit 100) as file_ids
     from file_blob b where fixity <> 'ok' order by b.location_id, b.sha256 limit $1`,
    [most],
  )
  return rows.map((row) => ({ ...row, file_ids: row.file_ids.map(Number) }))
}
