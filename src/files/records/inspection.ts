import type { Queryable } from '../../platform/postgres/db.ts'

export const renditionStates = [
  'pending',
  'processing',
  'done',
  'failed',
  'not_produced',
  'too_small',
  'unmarked',
] as const

/** The conditions by which administrators search files; null restricts nothing. */
export interface InspectedFiles {
  readonly ids: readonly number[] | null
  /** Part of a filename. */
  readonly words: string | null
  /** Files with a rendition in this state. */
  readonly state: (typeof renditionStates)[number] | null
  readonly class: string | null
  readonly offset: number
  readonly limit: number
}

export interface InspectedFile {
  readonly id: number
  readonly filename: string
  readonly class: string
  readonly extension: string
  readonly size: number
  readonly location: string
  readonly fixity: string
  readonly uploaded_at: Date
  readonly upload_user: number
  readonly unlinked_at: Date | null
  readonly objects: number
  /** How many renditions are in each state. */
  readonly renditions: Readonly<Record<string, number>>
}

/** Files, newest first; one more than `limit` where there are more. */
export async function inspectFiles(from: Queryable, asked: InspectedFiles): Promise<InspectedFile[]> {
  const { rows } = await from.query<InspectedFile>(
    `with page as (
       select f.* from file f join file_version o on o.file_id = f.id and o.name = 'original'
       where ($1::bigint[] is null or f.id = any($1)) and ($2::text is null or position(lower($2) in lower(f.filepath)) > 0)
         and ($3::text is null or f.id in (select r.file_id from file_rendition r where r.status = $3))
         and ($4::text is null or o.class = $4)
       order by f.id desc offset $5 limit $6 + 1
     )
     select p.id, p.filepath as filename, o.class, o.extension, o.size, l.name as location, b.fixity, p.uploaded_at,
       p.upload_user, p.unlinked_at,
       (select count(distinct u.system_object_id)::int from file_use u where u.file_id = p.id and u.latest) as objects,
       coalesce((select jsonb_object_agg(status, n) from (select status, count(*) as n from file_rendition r
         where r.file_id = p.id group by 1) states), '{}') as renditions
     from page p join file_version o on o.file_id = p.id and o.name = 'original'
       join file_location l on l.id = o.location_id
       join file_blob b on b.location_id = o.location_id and b.sha256 = o.sha256
     order by p.id desc`,
    [asked.ids, asked.words, asked.state, asked.class, asked.offset, asked.limit],
  )
  return rows
}

export interface InspectedFileDetails {
  readonly versions: readonly {
    readonly name: string
    readonly extension: string
    readonly mime_type: string
    readonly size: number
    readonly status: string
    readonly location: string
    readonly sha256: string
    readonly fixity: string
    readonly verified_at: string
  }[]
  readonly renditions: readonly {
    readonly name: string
    readonly status: string
    readonly reason: string | null
    readonly attempts: number
    readonly status_at: string
    readonly percent: number
  }[]
  readonly objects: readonly {
    readonly system_object_id: number
    readonly column_id: number
    readonly latest: boolean
  }[]
}

/** Contents, renditions and objects of one file. `most` bounds each list. */
export async function inspectFileDetails(from: Queryable, id: number, most: number): Promise<InspectedFileDetails> {
  const { rows } = await from.query<InspectedFileDetails>(
    `select
       coalesce((select json_agg(v order by v.name) from (
         select v.name, v.extension, v.mime_type, v.size, v.status, l.name as location, encode(v.sha256, 'hex') as sha256,
           b.fixity, b.verified_at
         from file_version v join file_location l on l.id = v.location_id
           join file_blob b on b.location_id = v.location_id and b.sha256 = v.sha256
         where v.file_id = $1 order by v.name limit $2) v), '[]') as versions,
       coalesce((select json_agg(r order by r.name) from (
         select name, status, left(reason, 1000) as reason, attempts, status_at, percent from file_rendition
         where file_id = $1 order by name limit $2) r), '[]') as renditions,
       coalesce((select json_agg(u) from (
         select system_object_id, column_id, latest from file_use where file_id = $1
         order by latest desc, system_object_id limit $2) u), '[]') as objects`,
    [id, most],
  )
  return rows[0] ?? { versions: [], renditions: [], objects: [] }
}
