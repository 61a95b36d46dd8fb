/** The stored texts of hits. */
import type { Queryable } from '../../platform/postgres/db.ts'
import type { SearchField } from '../plan/fields.ts'

/** A column; for a localized one, together with a language. */
export interface Place {
  readonly field: SearchField
  readonly language: string | null
}

/** The number of characters of one text that are searched for matches. */
const longestText = 10_000
/** The highest number of values of one column of an object. */
const mostValues = 50
/** The total number of characters that are read. Later texts are not examined. */
const longestTexts = 500_000

export interface StoredText {
  readonly id: number
  /** Index of its place. */
  readonly place: number
  readonly text: string
}

/** Texts in the order of the ids and the places, then of the rows. Long texts are cut before they are sent. */
export async function readTexts(
  q: Queryable,
  ids: readonly number[],
  places: readonly Place[],
): Promise<readonly StoredText[]> {
  const { rows } = await q.query<StoredText>(
    `select id, place, text from (
       select w.id, p.place - 1 as place, t.text, sum(length(t.text)) over (order by w.n, p.place, t.n) as length, w.n, t.n as row
       from unnest($1::bigint[]) with ordinality w(id, n)
       join object o on o.system_object_id = w.id
       join object_version v on v.system_object_id = o.system_object_id and v.version = o.version
       join unnest($2::int[], $3::text[]) with ordinality p(objecttype, path, place) on p.objecttype = o.objecttype
       cross join lateral (
         select left(value #>> '{}', $4) as text, n
         from jsonb_path_query(v.content, p.path::jsonpath) with ordinality q(value, n) where n <= $5
       ) t) texts
     where length <= $6 order by n, place, row`,
    [
      ids,
      places.map(({ field }) => field.column.table.root.id),
      places.map(pathOf),
      longestText,
      mostValues,
      longestTexts,
    ],
    'search-highlighted-texts',
  )
  return rows
}

function pathOf({ field: { path, column }, language }: Place): string {
  const steps = [...path.map(({ key }) => `${JSON.stringify(key)}[*]`), JSON.stringify(column.key)]
  return `$.${[...steps, ...(language === null ? [] : [JSON.stringify(language)])].join('.')}`
}
