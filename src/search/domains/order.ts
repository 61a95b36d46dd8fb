/** `sort` of a search in records. */
import { saysSomething } from '../request/known.ts'
import { notAllowed } from '../request/names.ts'
import { choice, type Fields, fieldsAt, languageAt, listAt, optional, wrong } from '../request/read.ts'
import { preferredText, resolveField } from './fields.ts'
import type { Bind } from './model.ts'
import type { Source } from './source.ts'

interface OrderContext {
  readonly source: Source
  /** Whether records of other kinds are searched, too. */
  readonly together: boolean
  readonly bind: Bind
  /** The languages that the request asks for first. */
  readonly languages: readonly string[]
}

/** A key of an order. Behind all keys comes the id, so that pages do not overlap. */
export interface OrderKey {
  /** SQL. */
  readonly value: string
  /** Collation, direction and place of nulls, to be written behind the value. */
  readonly order: string
}

export function orderOf(sent: unknown, context: OrderContext): readonly OrderKey[] {
  const { source, together } = context
  const keys = listAt(sent ?? [], 'sort', 20).map((entry, index) =>
    key(fieldsAt(entry, `sort[${index}]`), `sort[${index}]`, context),
  )
  if (keys.length > 0 || together) return keys
  return [keyOf(source.order.field, source.order.descending, context.languages, context)]
}

function key(entry: Fields, place: string, context: OrderContext): OrderKey {
  for (const name of ['with_path', 'mode', 'number_groups', 'width']) {
    if (saysSomething(entry[name])) throw wrong(`${place}.${name}`, 'absent: it is for objects only')
  }
  if (optional(entry, 'numeric', 'boolean', place) !== undefined)
    throw wrong(`${place}.numeric`, 'absent: it is for objects only')
  const name = optional(entry, 'field', 'string', place) ?? ''
  const order = optional(entry, 'order', 'string', place)
  const language = languageAt(entry, place)
  const languages = language === undefined ? context.languages : [language, ...context.languages]
  const descending = order ? choice(order.toLowerCase(), ['asc', 'desc'], `${place}.order`) === 'desc' : false
  return keyOf(name, descending, languages, context)
}

/** In the order in which people sort texts, not by code points. */
function keyOf(
  name: string,
  descending: boolean,
  languages: readonly string[],
  { source, together, bind }: OrderContext,
): OrderKey {
  const { field, language } = resolveField(source, name)
  if (field.list) throw notAllowed(name, 'sort')
  const direction = descending ? 'desc' : 'asc'
  // It is never null, so an index has it in this order.
  if ((field.sql === source.id || field.ordered) && !together) return { value: field.sql, order: direction }
  const first = language === null ? languages : [language, ...languages]
  const value = field.kind === 'l10n' ? preferredText(field.sql, first, bind) : field.sql
  const collation = field.kind === 'l10n' || field.kind === 'text' ? 'collate "und-x-icu" ' : ''
  return { value, order: `${collation}${direction} nulls last` }
}
