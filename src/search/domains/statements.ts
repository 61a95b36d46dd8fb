/** The statements of a search in records. */
import type { Parameters } from '../postgres/query/sql/sql.ts'
import { type Facet, facetColumns } from './facets.ts'
import type { OrderKey } from './order.ts'

/** The matching records of one kind. */
export interface Matching {
  readonly basetype: string
  readonly id: string
  /** `from … where …` */
  readonly sql: string
  readonly order: readonly OrderKey[]
  readonly facets: readonly Facet[]
}

/** A search in records of one kind or several. All kinds have the same keys of order and the same facets. */
export interface RecordPlan {
  readonly kinds: readonly [Matching, ...Matching[]]
  readonly parameters: Parameters
  readonly offset: number
  readonly limit: number
}

type Statement = [text: string, values: unknown[]]

/** `count` */
export function countStatement({ kinds, parameters }: RecordPlan): Statement {
  const counts = kinds.map(({ sql }) => `(select count(*) ${sql})`)
  return parameters.statement(`select ${counts.join(' + ')} as count`)
}

/** The page as rows `basetype, id`. Of each kind no more records are read than the page needs, by an index that has the order. */
export function pageStatement({ kinds, parameters, offset, limit }: RecordPlan): Statement {
  const [only, ...others] = kinds
  const place = `limit ${parameters.add(limit)} offset ${parameters.add(offset)}`
  if (others.length === 0) return parameters.statement(`${rowsOf(only, [])} order by ${orderOf(only)} ${place}`)
  const most = parameters.add(offset + limit)
  const each = kinds.map((one) => `(${rowsOf(one, keysOf(one))} order by ${orderOf(one)} limit ${most})`)
  return parameters.statement(
    `select basetype, id from (${each.join(' union all ')}) found order by ${orderOfFound(only)} ${place}`,
  )
}

/** One row: `count`, the `page` as pairs of basetype and id, and the facets; all from one walk through the records. */
export function wholeStatement(
  { kinds, parameters, offset, limit }: RecordPlan,
  { withPage }: { readonly withPage: boolean },
): Statement {
  const [first] = kinds
  const columns = (one: Matching) => [
    ...(withPage ? keysOf(one) : []),
    ...one.facets.map(({ value }, index) => `${value} as f${index}`),
  ]
  const page = `(select coalesce(jsonb_agg(jsonb_build_array(basetype, id)), '[]') from (select basetype, id from found
      order by ${orderOfFound(first)} limit ${parameters.add(limit)} offset ${parameters.add(offset)}) page) as page`
  const answers = [
    '(select count(*) from found) as count',
    ...(withPage ? [page] : []),
    ...facetColumns(first.facets, parameters),
  ]
  return parameters.statement(
    `with found as materialized (${kinds.map((one) => rowsOf(one, columns(one))).join(' union all ')})
     select ${answers.join(', ')}`,
  )
}

const rowsOf = ({ basetype, id, sql }: Matching, columns: readonly string[]): string =>
  `select ${[`'${basetype}'::text as basetype`, `${id} as id`, ...columns].join(', ')} ${sql}`

const keysOf = ({ order }: Matching): string[] => order.map(({ value }, index) => `${value} as k${index}`)

const orderOf = ({ id, order }: Matching): string => [...order.map((key) => `${key.value} ${key.order}`), id].join(', ')

const orderOfFound = ({ order }: Matching): string =>
  [...order.map((key, index) => `k${index} ${key.order}`), 'basetype collate "C" desc', 'id'].join(', ')
