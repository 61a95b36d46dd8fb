import type { Queryable } from '../../platform/postgres/db.ts'

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
 * From the stored sums (file-counts.ts): number and size of files, each file counted once, in one of three classes: in the latest
 * version of an object, only in former versions, or only in objects in the trash.
 */
export async function fileFigures(from: Queryable, scope: FileScope): Promise<FileFigures> {
  const [condition, value] =
    'pools' in scope ? ['pool_id = any($1::bigint[])', scope.pools] : ['objecttype = $1', scope.objecttype]
  // The stored sums, minus the counts of files that have changed since, plus the current counts of these files: all from one
  // snapshot.
  const { rows } = await from.query<Row>(
    `with due as materialized (select distinct file_id from file_count_due),
     uses as materialized (select usage_id, min(age) as age from file_count_use_part where ${condition} group by 1),
     counted as (
       select u.age, k.original, k.extension, k.class, x.count, x.size
       from uses u join (
         select usage_id, kind_id, count, size from file_count_sum
         union all
         select c.usage_id, v.kind_id, -1, -v.size
         from due join file_counted c using (file_id) cross join unnest(c.kinds, c.sizes) as v(kind_id, size)
       ) x using (usage_id) join file_count_kind k on k.id = x.kind_id
     ), changed as (
       select file_id, min(case when o.deleted_at is not null then 3 when f.latest then 1 else 2 end) as age
       from due join file_use f using (file_id) join object o using (system_object_id) where ${condition} group by 1
     )
     select (array['latest', 'history', 'deleted'])[age] as age, original, extension, class,
       sum(count)::int as count, sum(size)::bigint as size
     from (
       select * from counted
       union all
       select c.age, v.name = 'original', v.extension, v.class, 1, v.size from changed c join file_version v using (file_id)
     ) x group by 1, 2, 3, 4 having sum(count) > 0 order by 1, 2, 3, 4`,
    [value],
    'pools' in scope ? 'file-figures-pools' : 'file-figures-type',
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
