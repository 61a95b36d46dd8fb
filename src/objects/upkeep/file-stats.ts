import type { Queryable } from '../../platform/db.ts'

export interface FileCount {
  size: number
  count: number
}

export interface FileCounts extends FileCount {
  by_extension: Record<string, FileCount>
  by_class: Record<string, FileCount>
}

type Age = 'latest' | 'history' | 'deleted'
type FilesByAge = Record<Age, FileCounts>

export interface FileFigures extends FileCount {
  originals: FilesByAge
  versions: FilesByAge
}

interface Row extends FileCount {
  readonly age: Age
  readonly original: boolean
  readonly extension: string
  readonly class: string
}

/** The objects whose files are counted. */
export type FileScope = { readonly objecttype: number } | { readonly pools: readonly number[] }

/**
 * How many files objects have and how large they are, each file once: where the latest version of an object has it, where
 * only former ones do, where only objects in the trash do.
 */
export async function fileFigures(from: Queryable, scope: FileScope): Promise<FileFigures> {
  const [condition, value] =
    'pools' in scope ? ['o.pool_id = any($1::bigint[])', scope.pools] : ['o.objecttype = $1', scope.objecttype]
  const { rows } = await from.query<Row>(
    `with used as (
       select u.file_id, min(case when o.deleted_at is not null then 3 when u.latest then 1 else 2 end) as age
       from object o join file_use u using (system_object_id) where ${condition} group by u.file_id
     )
     select (array['latest', 'history', 'deleted'])[used.age] as age, v.name = 'original' as original, v.extension, v.class,
       count(*)::int as count, sum(v.size)::bigint as size
     from used join file_version v using (file_id) group by 1, 2, 3, 4 order by 1, 2, 3, 4`,
    [value],
  )
  const figures: FileFigures = { count: 0, size: 0, originals: byAge(), versions: byAge() }
  for (const row of rows) {
    const bucket = figures[row.original ? 'originals' : 'versions'][row.age]
    bucket.by_extension[row.extension] ??= { size: 0, count: 0 }
    bucket.by_class[row.class] ??= { size: 0, count: 0 }
    for (const one of [figures, bucket, bucket.by_extension[row.extension], bucket.by_class[row.class]]) add(one, row)
  }
  return figures
}

function byAge(): FilesByAge {
  const none = (): FileCounts => ({ size: 0, count: 0, by_extension: {}, by_class: {} })
  return { latest: none(), history: none(), deleted: none() }
}

function add(to: FileCount | undefined, { count, size }: FileCount): void {
  if (!to) return
  to.count += count
  to.size += size
}
