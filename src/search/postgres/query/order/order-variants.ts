/** Orders beside the standard ones as SQL: by titles from the top of a hierarchy down, by periods, by digits. */
import type { PeriodUnit, SortField } from '../../../plan/plan.ts'
import { isLocalized, keySql } from '../../slots.ts'
import type { PostgresPlan } from '../access/postgres-plan.ts'
import { accessSql, readableSql, visibilityOfTypes } from '../access/visibility.ts'
import { documentSql, type Sql } from '../sql/of-document.ts'

type ByField = Extract<SortField, { by: 'field' }>

/** The highest number of ancestors that are followed. No real hierarchy is deeper. */
const highest = 100

/** Separates titles. It is less than anything that can follow in a key, so that objects below a title come right behind it. */
const separator = `'\\x00000000'::bytea`

/**
 * Titles of an object and its ancestors, from the top down, as far as the caller may read these; along the first parents. `from`,
 * `to`: the distance above the object at which they begin and end.
 */
function pathSql(start: string, languages: readonly string[], plan: PostgresPlan, from: number, to = highest): string {
  const keys = languages.map((language) => plan.slots.standardKey(language)).filter((slot) => slot !== undefined)
  if (keys.length === 0) return 'null::bytea'
  const key = keys.map((slot) => keySql(slot, 't')).join(', ')
  return `(select string_agg(coalesce(${key}, ''::bytea), ${separator} order by up.depth desc) from (
    with recursive up(id, depth) as (
      select ${start}, 0 union all
      select o.parents[1], up.depth + 1 from up join object o on o.system_object_id = up.id
      join search_document r on r.id = up.id and ${readableSql(plan, 'r')}
      where o.parents <> '{}' and up.depth < ${to}) select id, depth from up) up
    join search_document t on t.id = up.id and ${readableSql(plan, 't')} where up.depth >= ${from})`
}

export function ownPathSql({ languages }: { readonly languages: readonly string[] }, plan: PostgresPlan): Sql {
  const whole = pathSql('d.id', languages, plan, 0)
  const where = parentSeen(plan)
  return where === null ? whole : `case when ${where} then ${whole} else ${pathSql('d.id', languages, plan, 0, 0)} end`
}

export function parentSql({ languages, path }: Extract<SortField, { by: 'parent' }>, plan: PostgresPlan): Sql {
  const sql = pathSql('d.id', languages, plan, 1, path ? highest : 1)
  const where = parentSeen(plan)
  return where === null ? sql : `case when ${where} then ${sql} end`
}

/** The condition under which the caller sees the parents of the objects above; null: everywhere. */
function parentSeen({ fields, fieldVisibility }: PostgresPlan): string | null {
  const types = [...fields.types.values()].map(({ table }) => ({
    id: table.id,
    visibility: fieldVisibility.system(table, 'parent'),
  }))
  const node = visibilityOfTypes(types)
  return node ? accessSql(node, 'd') : null
}

/** The path of the first linked object, as far as the caller may read it. */
export function linkPathSql({ field, languages }: ByField, plan: PostgresPlan): Sql {
  const place = plan.slots.linked(field)
  if (place === undefined) return documentSql('null::bytea')
  const sql = pathSql(`${keySql(place, 'd')}::bigint`, languages, plan, 0)
  return `case when d.objecttype = ${field.column.table.root.id} then ${sql} end`
}

/** The period of a moment as a key. */
export function periodKeySql(key: string, unit: PeriodUnit): string {
  return `int8send(search_period(${key}, '${unit}') # (-9223372036854775808)::bigint)`
}

/** Keys of texts by their digits (document/digits.ts), in the first of the languages that has a text. */
export function digitsSql({ field, languages, digits }: ByField, { slots }: PostgresPlan): string {
  const own = isLocalized(field) ? languages : [undefined]
  const cases = own.flatMap((language) => {
    const usual = slots.sortKey(field, language)
    const place = slots.digitKey(field, language)
    if (usual === undefined || place === undefined) return []
    const [key, whole] = [keySql(place, 'd'), keySql(usual, 'd')]
    const part =
      digits === 'letters'
        ? `coalesce(substring(${key} from 2 + 10 * get_byte(${key}, 0)), ${whole})`
        : `case when get_byte(${key}, 0) >= ${Number(digits)} then substring(${key} from ${10 * Number(digits) - 8} for 10) end`
    return `when ${whole} is not null then ${part}`
  })
  return cases.length === 0 ? 'null::bytea' : `(case ${cases.join(' ')} end)`
}
