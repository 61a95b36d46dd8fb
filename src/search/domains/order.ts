/** `sort` of a search in records. */
import { saysSomething } from '../request/known.ts'
import { notAllowed } from '../request/names.ts'
import { choice, type Fields, fieldsAt, languageAt, listAt, optional, wrong } from '../request/read.ts'
import { preferredText, resolveField } from './fields.ts'
import type { Bind } from './model.ts'
import type { Source } from './source.ts'

interface OrderContext {
  readonly source: Source
  readonly bind: Bind
  /** The languages that the request asks for first. */
  readonly languages: readonly string[]
}

/** The keys in SQL. The id is the last one, so that pages do not overlap. */
export function orderBy(sent: unknown, context: OrderContext): string {
  const { source } = context
  const keys = listAt(sent ?? [], 'sort', 20).map((entry, index) =>
    key(fieldsAt(entry, `sort[${index}]`), `sort[${index}]`, context),
  )
  const usual = source.order.map(({ field, descending }) => keySql(field, descending, context.languages, context))
  return [...(keys.length > 0 ? keys : usual), `${source.basetype}::text desc`, source.id].join(', ')
}

function key(entry: Fields, place: string, context: OrderContext): string {
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
  return keySql(name, descending, languages, context)
}

/** In the order in which people sort texts, not by code points. */
function keySql(
  name: string,
  descending: boolean,
  languages: readonly string[],
  { source, bind }: OrderContext,
): string {
  const { field, language } = resolveField(source, name)
  if (field.list) throw notAllowed(name, 'sort')
  // It is never null, so an index has it in this order.
  if (field.sql === source.id) return `${field.sql} ${descending ? 'desc' : 'asc'}`
  const first = language === null ? languages : [language, ...languages]
  const value = field.kind === 'l10n' ? preferredText(field.sql, first, bind) : field.sql
  const collation = field.kind === 'l10n' || field.kind === 'text' ? ' collate "und-x-icu"' : ''
  return `${value}${collation} ${descending ? 'desc' : 'asc'} nulls last`
}
