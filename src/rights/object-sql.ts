/** Conditions of `rights` as SQL on `object`: agrees with `holds`, at the time of the database. */
import { numbersText, textsText } from '../platform/postgres/literals.ts'
import { inForceSql } from './grants.ts'
import type { OfObject, ReadExpression, TagFilter } from './model.ts'

export interface ObjectSqlOptions {
  /** Alias of `object`. */
  readonly alias: string
  /** Ids of the object types whose objects have grants of their own. */
  readonly withGrants: readonly number[]
  /** The right that grants on objects must give. */
  readonly right?: 'read' | 'delete'
  /** Adds a value as a parameter and returns its placeholder. */
  readonly parameter: (value: string | number, type: string) => string
}

/** The SQL may evaluate to null, which means that the condition does not hold. */
export function objectSql(expression: ReadExpression, options: ObjectSqlOptions): string {
  switch (expression.is) {
    case 'and':
    case 'or': {
      const parts = expression.of.map((each) => objectSql(each, options))
      return parts.length === 0 ? String(expression.is === 'and') : `(${parts.join(` ${expression.is} `)})`
    }
    case 'not':
      return `not coalesce(${objectSql(expression.of, options)}, false)`
    default:
      return ofObject(expression, options)
  }
}

function ofObject(leaf: OfObject, { alias: o, withGrants, right = 'read', parameter }: ObjectSqlOptions): string {
  const ids = (list: readonly number[], type: string): string => parameter(numbersText(list), `${type}[]`)
  const own = (): string => `${o}.objecttype = any(${ids(withGrants, 'int')})`
  switch (leaf.is) {
    case 'types':
      return `${o}.objecttype = any(${ids(leaf.ids, 'int')})`
    case 'pools':
      return `${o}.pool_id = any(${ids(leaf.ids, 'bigint')})`
    case 'withoutPool':
      return `${o}.pool_id is null`
    case 'tags':
      return tagsSql(leaf.filter, `${o}.tags`, (list) => ids(list, 'int'))
    case 'private':
      return `(${o}.private_acl and ${own()})`
    case 'owner':
      return `(${o}.owner_user = ${parameter(leaf.userId, 'bigint')} or ${o}.owner_group = any(${ids(leaf.groupIds, 'bigint')}))`
    case 'member':
      return `exists (select from collection_object member where member.object_id = ${o}.system_object_id
        and member.collection_id = any(${ids(leaf.collections, 'bigint')}))`
    case 'granted': {
      const who = parameter(textsText(leaf.who), 'text[]')
      return `(${o}.acl is not null and ${own()} and exists (${grantSql(right, o, who, masksSql(leaf.masks, o, parameter))}))`
    }
  }
}

function tagsSql({ all, any, not }: TagFilter, tags: string, ids: (list: readonly number[]) => string): string {
  const parts = [
    ...(all.length === 0 ? [] : [`${tags} @> ${ids(all)}`]),
    ...(any.length === 0 ? [] : [`${tags} && ${ids(any)}`]),
    ...(not.length === 0 ? [] : [`not ${tags} && ${ids(not)}`]),
  ]
  return parts.length === 0 ? 'true' : `(${parts.join(' and ')})`
}

/** A grant `a` on the object that gives one of `who` the right. */
function grantSql(right: 'read' | 'delete', o: string, who: string, masks: string): string {
  const principal = `case a->>'who' when 'contact' then 'c' || ${o}.pool_id
    when 'owner' then coalesce('u' || ${o}.owner_user, 'g' || ${o}.owner_group) else a->>'who' end`
  return `select from jsonb_array_elements(${o}.acl) as own(a),
      jsonb_to_record(coalesce(a->'tagfilter', '{}')) as f("all" int[], "any" int[], "not" int[])
    where a->'rights' ? '${right}' and ${principal} = any(${who}) and ${inForceSql('a')} and ${masks}
      and (a #> '{rights,${right},objecttype_ids}' is null or a #> '{rights,${right},objecttype_ids}' @> to_jsonb(${o}.objecttype))
      and (a #> '{rights,${right},pool_ids}' is null or a #> '{rights,${right},pool_ids}' @> to_jsonb(${o}.pool_id))
      and ${o}.tags @> coalesce(f."all", '{}') and (coalesce(f."any", '{}') = '{}' or ${o}.tags && f."any")
      and not ${o}.tags && coalesce(f."not", '{}')`
}

/** The limits of `read` and of `mask` in a grant both apply. */
function masksSql(
  masks: Extract<OfObject, { is: 'granted' }>['masks'],
  o: string,
  parameter: ObjectSqlOptions['parameter'],
): string {
  if (masks === 'any') return 'true'
  const limits = ['read', 'mask'].map((right) => `a #> array['rights', '${right}', 'mask_ids', ${o}.objecttype::text]`)
  const unlimited = limits.map((limit) => `${limit} is null`).join(' and ')
  if (masks === 'all') return unlimited
  if (masks === 'limited') return `not (${unlimited})`
  const mask = parameter(JSON.stringify(masks), 'jsonb')
  return `not (${unlimited}) and ${limits.map((limit) => `(${limit} is null or ${limit} @> ${mask})`).join(' and ')}`
}
