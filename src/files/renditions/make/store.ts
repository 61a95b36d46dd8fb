import type { Queryable, Tx } from '../../../platform/postgres/db.ts'
import type { Sha256 } from '../../blobs/blob-store.ts'
import type { RenditionStatus } from '../../records/rendition.ts'
import type { NewBlob } from '../../records/store.ts'
import type { OriginalType } from '../model.ts'
import type { Tag } from '../workshop/technical.ts'

export interface OriginalRow extends OriginalType {
  readonly fileId: number
  /** Uploaded versions: no recipe makes these. */
  readonly manual: readonly string[]
}

export async function readOriginals(from: Queryable, fileIds: readonly number[]): Promise<OriginalRow[]> {
  const { rows } = await from.query<OriginalRow>(
    `select file_id as "fileId", class, extension,
       array(select m.name from file_version m where m.file_id = v.file_id and m.manual) as manual
     from file_version v where file_id = any($1::bigint[]) and name = 'original' order by file_id`,
    [fileIds],
    'file-originals',
  )
  return rows
}

export interface Planned {
  readonly fileId: number
  readonly name: string
}

/** Plans renditions, also those that were made before. */
export async function planRenditions(tx: Tx, planned: readonly Planned[]): Promise<void> {
  if (planned.length === 0) return
  await tx.query(
    `insert into file_rendition (file_id, name, status)
     select f, n, 'pending' from unnest($1::bigint[], $2::text[]) as x(f, n)
     on conflict (file_id, name) do update
       set status = 'pending', reason = null, needs = null, attempts = 0, percent = 0, status_at = now()`,
    [planned.map(({ fileId }) => fileId), planned.map(({ name }) => name)],
    'plan-renditions',
  )
}

/**
 * The same for new originals. `plain` are those that are not to be made as long as the files have no watermark. No name
 * of a file may be in both lists.
 */
export async function planNewRenditions(tx: Tx, planned: readonly Planned[], plain: readonly Planned[]): Promise<void> {
  if (planned.length + plain.length === 0) return
  const all = [...planned, ...plain]
  await tx.query(
    `insert into file_rendition (file_id, name, status)
     select f, n, s from unnest($1::bigint[], $2::text[], $3::text[]) as x(f, n, s)
     on conflict (file_id, name) do update
       set status = 'pending', reason = null, needs = null, attempts = 0, percent = 0, status_at = now()
       where excluded.status = 'pending'`,
    [
      all.map(({ fileId }) => fileId),
      all.map(({ name }) => name),
      all.map((_, index) => (index < planned.length ? 'pending' : 'unmarked')),
    ],
    'plan-new-renditions',
  )
}

/** Names of the renditions of files that no process has begun to make. */
export async function readPending(from: Queryable, ids: readonly number[]): Promise<Map<number, ReadonlySet<string>>> {
  const { rows } = await from.query<{ fileId: number; names: string[] }>(
    `select file_id as "fileId", array_agg(name) as names from file_rendition
     where file_id = any($1::bigint[]) and status = 'pending' group by 1`,
    [ids],
    'read-pending-renditions',
  )
  return new Map(rows.map(({ fileId, names }) => [fileId, new Set(names)]))
}

/**
 * Begins those of the renditions that are waiting. Answers how often each was begun, by name. A caller that tries `again`
 * also gets those that it had begun itself before it was interrupted. It does not wait for the disk: after a crash of the
 * server they may be begun once more.
 */
export async function beginRenditions(
  from: Queryable,
  fileId: number,
  { names, again }: { readonly names: readonly string[]; readonly again: boolean },
): Promise<ReadonlyMap<string, number>> {
  const { rows } = await from.query<{ name: string; attempts: number }>(
    `with quick as materialized (select set_config('synchronous_commit', 'off', true))
     update file_rendition set status = 'processing', status_at = now(), percent = 0, attempts = attempts + 1 from quick
     where file_id = $1 and name = any($2::text[]) and (status = 'pending' or $3 and status = 'processing')
     returning name, attempts`,
    [fileId, names, again],
    'begin-renditions',
  )
  return new Map(rows.map(({ name, attempts }) => [name, attempts]))
}

/** Notes the progress of renditions, by name, while they are being made. */
export async function noteProgress(
  from: Queryable,
  fileId: number,
  percents: ReadonlyMap<string, number>,
): Promise<void> {
  await from.query(
    `update file_rendition r set percent = x.percent from unnest($2::text[], $3::int[]) as x(name, percent)
     where r.file_id = $1 and r.name = x.name and r.status = 'processing' and r.percent <> x.percent`,
    [fileId, [...percents.keys()], [...percents.values()]],
    'note-rendition-progress',
  )
}

export interface Ended {
  readonly name: string
  readonly status: RenditionStatus
  readonly reason: string | null
  readonly needs: string | null
  readonly recipeHash: string
  readonly madeOf: Sha256
}

/**
 * Notes how renditions ended; with `pending` only those that no process has begun to make. An earlier version stays until
 * there is a new one.
 */
export async function endRenditions(
  tx: Tx,
  fileId: number,
  ended: readonly Ended[],
  { pending = false }: { readonly pending?: boolean } = {},
): Promise<void> {
  if (ended.length === 0) return
  await tx.query(
    `update file_rendition r set status = x.status, reason = x.reason, needs = x.needs, recipe_hash = x."recipeHash",
       made_of = decode(x."madeOf", 'hex'), attempts = 0, percent = 0, status_at = now()
     from json_to_recordset($2::json) as x(name text, status text, reason text, needs text, "recipeHash" text, "madeOf" text)
     where r.file_id = $1 and r.name = x.name and (r.status = 'pending' or not $3)`,
    [fileId, JSON.stringify(ended), pending],
    'end-renditions',
  )
}

export interface NewVersion extends NewBlob {
  readonly name: string
  readonly extension: string
  readonly class: string
  readonly mimeType: string
  readonly metadata: Readonly<Record<string, unknown>>
}

/** Keeps the original unchanged until the end of the transaction; false when the file is deleted, or has another original. */
export async function lockOriginal(tx: Tx, fileId: number, madeOf: Sha256): Promise<boolean> {
  const { rows } = await tx.query(
    `select from file f join file_version v on v.file_id = f.id and v.name = 'original'
     where f.id = $1 and v.sha256 = decode($2, 'hex') for key share of f for no key update of v`,
    [fileId, madeOf],
    'lock-original',
  )
  return rows.length > 0
}

/** Stores versions with announced contents. */
export async function putVersions(tx: Tx, fileId: number, versions: readonly NewVersion[]): Promise<void> {
  if (versions.length === 0) return
  await tx.query(
    `with input as materialized (
       select name, "locationId", decode(sha256, 'hex') as sha256, size, extension, class, "mimeType", metadata
       from json_to_recordset($2::json) as x(name text, "locationId" bigint, sha256 text, size bigint, extension text,
         class text, "mimeType" text, metadata jsonb)
     ), unused as (
       update file_blob b set touched_at = now() from file_version v join input i using (name)
       where v.file_id = $1 and b.location_id = v.location_id and b.sha256 = v.sha256
         and (b.location_id, b.sha256) not in (select "locationId", sha256 from input)
     )
     insert into file_version (file_id, name, location_id, sha256, size, extension, class, mime_type, status, metadata)
     select $1, name, "locationId", sha256, size, extension, class, "mimeType", 'done', metadata from input
     on conflict (file_id, name) do update set location_id = excluded.location_id, sha256 = excluded.sha256,
       size = excluded.size, extension = excluded.extension, class = excluded.class, mime_type = excluded.mime_type,
       status = excluded.status, status_at = now(), created_at = now(), metadata = excluded.metadata`,
    [fileId, JSON.stringify(versions)],
    'put-versions',
  )
}

/** Removes versions; their renditions keep the reason. */
export async function dropVersions(tx: Tx, fileId: number, names: readonly string[]): Promise<void> {
  if (names.length === 0) return
  await tx.query(
    `with versions as (
       delete from file_version where file_id = $1 and name = any($2::text[]) and not manual
       returning location_id, sha256
     )
     update file_blob b set touched_at = now() from versions v
     where b.location_id = v.location_id and b.sha256 = v.sha256`,
    [fileId, names],
    'drop-versions',
  )
}

/** Adds metadata found by reading the original to the known metadata. */
export async function addMetadata(tx: Tx, fileId: number, metadata: Readonly<Record<string, unknown>>): Promise<void> {
  await tx.query(
    `update file_version set metadata = metadata || $2::jsonb where file_id = $1 and name = 'original'`,
    [fileId, JSON.stringify(metadata)],
    'add-file-metadata',
  )
}

/** Removes unwanted renditions, with their contents. */
export async function dropRenditions(tx: Tx, dropped: readonly Planned[]): Promise<void> {
  if (dropped.length === 0) return
  await tx.query(
    `with gone as materialized (
       select f as file_id, n as name from unnest($1::bigint[], $2::text[]) as x(f, n)
     ), versions as (
       delete from file_version v using gone g where v.file_id = g.file_id and v.name = g.name
       returning v.location_id, v.sha256
     ), unused as (
       update file_blob b set touched_at = now() from versions v
       where b.location_id = v.location_id and b.sha256 = v.sha256
     )
     delete from file_rendition r using gone g where r.file_id = g.file_id and r.name = g.name`,
    [dropped.map(({ fileId }) => fileId), dropped.map(({ name }) => name)],
  )
}

/** The known metadata of the original; no other transaction changes it until the end of this one. */
export async function lockMetadata(tx: Tx, fileId: number): Promise<Readonly<Record<string, unknown>>> {
  const { rows } = await tx.query<{ metadata: Record<string, unknown> }>(
    `select metadata from file_version where file_id = $1 and name = 'original' for update`,
    [fileId],
    'lock-file-metadata',
  )
  return rows[0]?.metadata ?? {}
}

export async function putTags(tx: Tx, fileId: number, tags: readonly Tag[]): Promise<void> {
  await tx.query(
    `insert into file_metadata (file_id, tags) values ($1, $2)
     on conflict (file_id) do update set tags = excluded.tags, read_at = now()`,
    [fileId, JSON.stringify(tags)],
    'put-file-tags',
  )
}

/** Stores the text of a file, up to a limit. */
export async function putText(
  tx: Tx,
  fileId: number,
  { text, cut }: { readonly text: string; readonly cut: boolean },
): Promise<void> {
  await tx.query(
    `insert into file_text (file_id, text, cut) values ($1, $2, $3)
     on conflict (file_id) do update set text = excluded.text, cut = excluded.cut, read_at = now()`,
    [fileId, text, cut],
    'put-file-text',
  )
}

export async function dropText(tx: Tx, fileId: number): Promise<void> {
  await tx.query('delete from file_text where file_id = $1', [fileId], 'drop-file-text')
}

/** Stores the perceptual hash of a picture; null: the picture shows too little for one. */
export async function putPerceptualHash(
  tx: Tx,
  fileId: number,
  madeOf: string,
  perceptualHash: bigint | null,
): Promise<void> {
  await tx.query(
    `insert into file_likeness (file_id, made_of, hash) values ($1, decode($2, 'hex'), $3)
     on conflict (file_id) do update set made_of = excluded.made_of, hash = excluded.hash`,
    [fileId, madeOf, perceptualHash?.toString() ?? null],
    'put-perceptual-hash',
  )
}

/** The tags of files, by file. */
export async function readTags(from: Queryable, fileIds: readonly number[]): Promise<Map<number, readonly Tag[]>> {
  const { rows } = await from.query<{ fileId: number; tags: Tag[] }>(
    'select file_id as "fileId", tags from file_metadata where file_id = any($1::bigint[])',
    [fileIds],
    'read-file-tags',
  )
  return new Map(rows.map(({ fileId, tags }) => [fileId, tags]))
}
