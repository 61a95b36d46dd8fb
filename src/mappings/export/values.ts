import type { Column } from '../../datamodel/model.ts'
import { valueText } from '../../objects/service.ts'
import { parseDate } from '../../platform/values/dates.ts'
import type { FieldPath } from '../paths.ts'

type Wire = Readonly<Record<string, unknown>>

/** A text that is the same in all languages, or one for each. */
export type Text = string | Readonly<Record<string, string>>

/**
 * The values at a path in an object as it is answered, in their order: what the answer does not show is not there. Spans of time are
 * written with `to` between their ends.
 */
export function valuesAt(
  object: Wire,
  { root, nested, link, column }: FieldPath,
  languages: readonly string[],
  to = ' - ',
): readonly Text[] {
  if (!column) return typeof object._uuid === 'string' ? [object._uuid] : []
  let rows: readonly Wire[] = records([object[root.name]])
  for (const table of nested) rows = rows.flatMap((row) => records(row[table.wireKey]))
  if (link?.target) {
    const { name } = link.target
    rows = rows.flatMap((row) => records([row[link.name]])).flatMap((linked) => records([linked[name]]))
  }
  return rows.map((row) => textOf(column, row[column.name], languages, to)).filter((text) => text !== undefined)
}

function records(values: unknown): readonly Wire[] {
  if (!Array.isArray(values)) return []
  return values.filter((one): one is Wire => typeof one === 'object' && one !== null && !Array.isArray(one))
}

function textOf(column: Column, value: unknown, languages: readonly string[], to: string): Text | undefined {
  if (value === undefined || value === null) return undefined
  const text = column.type === 'daterange' ? rangeText(value as Range, to) : valueText(column, value, languages)
  if (typeof text === 'string') return text === '' ? undefined : text
  const said = Object.entries(text ?? {}).filter(([, one]) => one !== '')
  return said.length === 0 ? undefined : Object.fromEntries(said)
}

interface Range {
  readonly from?: string | null
  readonly to?: string | null
}

/** As imports read it. */
function rangeText({ from, to }: Range, between: string): string {
  if (from && from === to) return from
  return `${from ?? ''}${between}${to ?? ''}`.trim()
}

/** As tags for dates are written: `2020:05:17 10:00:00+02:00`; null where the tag needs a day, and there is none. */
export function tagDate(text: string, wholeDay: boolean): string | null {
  const parsed = parseDate(text)
  if (!parsed || !/^\d{4}\b/.test(parsed.text)) return null
  if (wholeDay && (parsed.width === 'year' || parsed.width === 'month')) return null
  const [day = '', time] = parsed.text.split('T')
  const seconds = parsed.width === 'minute' ? ':00' : ''
  return `${day.replaceAll('-', ':')}${time === undefined ? '' : ` ${time}${seconds}`}`
}
