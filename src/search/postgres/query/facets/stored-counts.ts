/** Facets with more values than fit in memory: they are added up in the database, and their texts stay there. */
import { AppError } from '../../../../platform/errors.ts'
import type { Queryable } from '../../../../platform/postgres/db.ts'
import type { FacetCounts } from '../../../plan/plan.ts'
import { type CountedText, parseIntegers } from './facet-sets.ts'

export interface StoredCounts {
  readonly counts: FacetCounts
  /** Counted sets that no longer exist. */
  readonly gone: Int32Array
}

/**
 * The number of matches with each value. A text is identified by a set that contains it, and its position there: a million values
 * take twelve megabytes, whatever their length.
 */
export async function countStored(db: Queryable, counted: CountedText): Promise<StoredCounts> {
  const { rows } = await db.query<Record<'ids' | 'sets' | 'places' | 'counts' | 'gone', string | null>>(
    `with counted as materialized (select * from unnest($1::int[], $2::int[]) as c(set, count)),
     member as (
       select c.set, c.count, unnest(s.ids) as id, unnest(s.labels) as label,
         generate_subscripts(coalesce(s.ids::text[], s.labels), 1) as place
       from counted c join search_facet_set s on s.id = c.set
     ), summed as (
       select id, sum(count)::int as count, min(set::bigint << 20 | place) as at from member group by id, label
     )
     select array_to_string(array_agg(id), ',') as ids, array_to_string(array_agg(at >> 20), ',') as sets,
       array_to_string(array_agg(at & 1048575), ',') as places, array_to_string(array_agg(count), ',') as counts,
       (select array_to_string(array_agg(c.set), ',') from counted c
        where not exists (select from search_facet_set s where s.id = c.set)) as gone
     from summed`,
    [`{${counted.values ?? ''}}`, `{${counted.counts ?? ''}}`],
    'search-facet-stored',
  )
  const [row] = rows
  const counts = parseIntegers(row?.counts ?? null)
  return {
    counts: row?.ids ? storedIds(counts, row.ids) : storedTexts(counts, row ?? {}),
    gone: parseIntegers(row?.gone ?? null),
  }
}

function storedIds(counts: Int32Array, text: string): FacetCounts {
  const ids = Float64Array.from(text.split(','), Number)
  return { counts, bytes: counts.byteLength + ids.byteLength, value: (index) => ids[index] as number }
}

function storedTexts(counts: Int32Array, row: { sets?: string | null; places?: string | null }): FacetCounts {
  const sets = parseIntegers(row.sets ?? null)
  const places = parseIntegers(row.places ?? null)
  return {
    counts,
    bytes: 3 * counts.byteLength,
    value() {
      throw new Error('the values of a large facet are read')
    },
    async read(q: Queryable, indexes: readonly number[]) {
      const at = (numbers: Int32Array): number[] => indexes.map((index) => numbers[index] as number)
      const { rows } = await q.query<{ label: string | null }>(
        `select s.labels[x.place] as label from unnest($1::int[], $2::int[]) with ordinality as x(set, place, number)
         left join search_facet_set s on s.id = x.set order by x.number`,
        [at(sets), at(places)],
        'search-facet-labels',
      )
      return rows.map(({ label }) => {
        // Removed within a moment after the count: a repeated search finds another state.
        if (label === null) throw new AppError('ServiceUnavailable', { reason: 'the index has changed meanwhile' })
        return label
      })
    },
  }
}
